"""Files that are damaged, forged, or of others: one line each, whichever reader they would break."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from amongst import LWClassifier
from amongst.bench import Trial
from amongst.bench.record import Record
from amongst.bench.store import Store
from amongst.cli import main
from amongst.files import read_archive, write_archive

TABLE = "x,labels\n1,a|b\n2,b\n3,c\n"
DIGITS = "9" * 5000


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a model of it, and a store."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "rows.csv").write_text(TABLE)
    model = LWClassifier(model="linear", epochs=1, device="cpu")
    frame = pd.read_csv(folder / "rows.csv")
    told = {"candidates": ["labels"], "separator": "|"}
    model.fit(frame[["x"]], frame["labels"]).save(folder / "m.amongst", metadata=told)
    with Store(folder / "store.sqlite") as store:
        store.add(Record(Trial("digits", "q=0.1", "my[/x]", "mlp", 0), {"accuracy_last10": 0.5}))
        store.add_request({"plan": "demo"})
    return folder


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    """A copy of the folder."""
    return Path(shutil.copytree(sound, tmp_path / "home"))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[Any, list[str]]:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    return ended.value.code or 0, capsys.readouterr().err.splitlines()


def gz(home: Path) -> list[object]:
    """Blocks that zlib refuses, behind a sound header."""
    file, data = home / "rows.csv.gz", bytearray(gzip.compress(TABLE.encode() * 50))
    data[10:12] = b"\x07\xff"  # a block of a type that there is not
    file.write_bytes(data)
    return ["describe", file]


def parquet_notes(home: Path) -> list[object]:
    """What pandas wrote beside its columns names a type that there is not."""
    parquet = pytest.importorskip("pyarrow.parquet")
    file = home / "rows.parquet"
    pd.DataFrame({"x": [1.0], "labels": ["a"]}).to_parquet(file)
    table = parquet.read_table(file)
    notes = table.schema.metadata[b"pandas"].replace(b'"unicode"', b'"unicmde"')
    parquet.write_table(table.replace_schema_metadata({b"pandas": notes}), file)
    return ["describe", file]


def parquet_bytes(home: Path) -> list[object]:
    """Labels that are bytes."""
    file = home / "rows.parquet"
    pd.DataFrame({"x": [1.0], "labels": [b"\xff"]}).to_parquet(file)
    return ["describe", file, "--candidates", "labels", "--kind", "mask"]


def parquet_text(home: Path) -> list[object]:
    """Text that is no UTF-8."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parts = pyarrow.array([b"a|b", b"\xff"]).buffers()
    labels = pyarrow.Array.from_buffers(pyarrow.string(), 2, parts)
    parquet.write_table(pyarrow.table({"x": [1.0, 2.0], "labels": labels}), home / "t.parquet")
    return ["describe", home / "t.parquet"]


def foreign(kind: torch.dtype) -> Callable[[Path], list[object]]:
    """Tensors that NumPy has no type for, as a model."""

    def make(home: Path) -> list[object]:
        save_file({"w": torch.zeros(2, 2).to(kind)}, home / "m.amongst")
        return ["predict", home / "m.amongst", home / "rows.csv", "--out", home / "p.csv"]

    return make


def forged(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], list[object]]:
    """A model whose checksum is right, and whose facts are not."""

    def make(home: Path) -> list[object]:
        arrays, facts = read_archive(home / "m.amongst")
        write_archive(home / "m.amongst", arrays, change(facts) or facts)
        return ["predict", home / "m.amongst", home / "rows.csv", "--out", home / "p.csv"]

    return make


def wide(facts: dict[str, Any]) -> None:
    """A network that no memory holds, where the file has a few numbers."""
    facts["params"] |= {"model": "mlp"}
    facts["state"]["network"] = {"widths": [10**9]}


def deep(facts: dict[str, Any]) -> None:
    """Lists in lists, as many as JSON can write."""
    for _ in range(900):
        facts["state"] = [facts["state"]]


def store(*changes: tuple[str, object]) -> Callable[[Path], list[object]]:
    """A store with cells that amongst does not write."""

    def make(home: Path) -> list[object]:
        with sqlite3.connect(home / "store.sqlite") as connection:
            connection.execute("PRAGMA writable_schema = ON")
            for statement, value in changes:
                connection.execute(statement, (value,))
        connection.close()
        return ["report", home / "store.sqlite"]

    return make


def port(home: Path) -> list[object]:
    """A study's URL with a port that is no number."""
    pytest.importorskip("optuna", reason="needs the extra: pip install 'amongst[search]'")
    url = "postgresql://me:secret@localhost:54x2/studies"
    return ["search", home / "rows.csv", "--study", url, "--trials", "1", "--method", "cc"]


REFUSED: dict[str, Callable[[Path], list[object]]] = {
    "gz": gz,
    "parquet, odd notes": parquet_notes,
    "parquet, bytes": parquet_bytes,
    "parquet, no text": parquet_text,
    "bf16": foreign(torch.bfloat16),
    "fp8": foreign(torch.float8_e4m3fn),
    "no facts": forged(lambda facts: {"kind": "estimator"}),
    "facts of another kind": forged(lambda facts: [1]),  # type: ignore[arg-type, return-value]
    "deep facts": forged(deep),
    "features": forged(lambda facts: facts.update(n_features_in=10**9)),
    "width": forged(lambda facts: facts["state"].update(in_shape=[10**9])),
    "layers": forged(wide),
    "notes": forged(lambda facts: facts.update(metadata=[1])),
    "notes of columns": forged(lambda facts: facts["metadata"].update(candidates=7)),
    "half a character": forged(lambda facts: facts["classes"].update(labels=["\ud800", "b", "c"])),
    "schema": store(("UPDATE sqlite_master SET name = CAST(? AS TEXT)", b"\xff")),
    "request": store(("UPDATE plans SET request = ?", "null")),
    "record": store(("UPDATE records SET metrics = ?", "[" * 3000 + "]" * 3000)),
    "seconds": store(("UPDATE records SET seconds = ?", float("inf"))),
    "port": port,
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_file_is_one_line(
    make: Callable[[Path], list[object]], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = run(capsys, *make(home))
    assert (code, len(lines)) == (2, 1), lines
    assert lines[0].startswith("amongst: ")
    assert "secret" not in lines[0]


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_labels_of_more_digits_than_python_counts_with_are_names(
    ending: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / f"digits.{ending}"
    if ending == "csv":
        file.write_text(f"x,labels\n1,{DIGITS}|1\n2,1\n")
    else:
        np.savez(file, X=np.zeros((2, 1)), labels=np.array([DIGITS, "1"]))
    assert run(capsys, "describe", file, "--candidates", "labels") == (0, [])


def test_a_method_may_be_called_as_markup_is(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["results", str(home / "store.sqlite")])
    assert not ended.value.code
    assert "MY[/X]" in capsys.readouterr().out


def test_the_fuzzer_finds_nothing_in_a_few_files(tmp_path: Path) -> None:
    """`make fuzz` looks at thousands."""
    script = Path(__file__).parents[2] / "scripts" / "fuzz.py"
    words = ["--files", "3", "--seconds", "2", "--csv", str(tmp_path / "found.csv")]
    done = subprocess.run(
        [sys.executable, str(script), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = pd.read_csv(tmp_path / "found.csv")
    assert len(counts) == 9
    assert (counts[["files", "commands"]] > 0).all(axis=None)
    assert json.loads(done.stdout.splitlines()[-1].partition(" in ")[0])["kind"] == "store"


def test_a_device_that_is_none_is_followed_by_one_that_is(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch overflowed on its number."""
    words = forged(lambda facts: facts["params"].update(device=10**30))(home)
    assert run(capsys, *words) == (0, [])
