"""Damaged and odd files through the command line: each must give an answer, or one line that says why not.

    python scripts/fuzz.py [--files 5000] [--seconds 0] [--kinds csv,model] [--seed 0] [--csv results/fuzz.csv]
    python scripts/fuzz.py --only csv:17          # one file again; it is kept, and its commands are shown

A file is made from (seed, kind, number) alone. It goes through `describe`, `fit`, `predict` and
`disambiguate`, a store through `results` and `report`. A finding is an exception, another exit code than 0
and 2, more than one line for an error, a crash, `LIMIT` seconds without an end, or an answer that is none.
"""

from __future__ import annotations

import argparse
import csv
import functools
import gzip
import io
import json
import multiprocessing
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import scipy.io
import scipy.sparse as sp
import typer.main
from PIL import Image

from amongst import LWClassifier, load
from amongst.bench import Trial
from amongst.bench.plans import Request
from amongst.bench.store import Store
from amongst.bench.trial import run_trial
from amongst.cli import main as command
from amongst.data import load_image_folder
from amongst.errors import AmongstError
from amongst.files import read_archive, write_archive

LIMIT, SILENCE, MEMORY = 20, 120, 8 << 30
"""Seconds of computing for a file; of a process that says nothing at all; bytes of address space."""

WORDS = (
    "", " ", "NA", "nan", "None", "inf", "-inf", "1e309", "9.97e36", "1e-320", "-0", "0x1f", "1_000",
    "1,5", "1.5.", "=1+1", "a|b", "|", "a||b", "a|a", "['a', 'b']", "{'a': 0.5}", "a:0.3|b:0.7", "!a",
    "9" * 5000, "x" * 5000, "\x00", "\ufeff", "\u202e", "😀", "é", "e\u0301", '"', "'", '""', "\r", "\\",
    "2024-02-30", "True", "0", "1", "[/x]", "[bold]", "#REF!", "١٢", "1e5|b", "-", "--", "nan|a",
)  # fmt: skip
NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**64,
    1e308,
    1.8e308,
    9.97e36,
    1e-320,
    float("nan"),
)
FACTS: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**9,
    10**30,
    1e308,
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    {"x": 1},
)


typer.main.get_command = functools.cache(typer.main.get_command)  # made anew it takes the most time


class Slow(BaseException):
    """A file took longer than `LIMIT` seconds."""


def rows(rng: random.Random) -> pd.DataFrame:
    """A small sound table."""
    n = rng.randint(1, 12)
    x = np.random.default_rng(rng.getrandbits(32)).normal(size=(n, 2)).round(3)
    sets = [rng.choice(("a", "a|b", "b|c", "c")) for _ in range(n)]
    return pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "labels": sets})


def odd_rows(rng: random.Random) -> pd.DataFrame:
    """The table with odd cells, columns and names."""
    frame = rows(rng).astype(object)
    for _ in range(rng.choice((0, 0, 1, 1, 3))):
        frame.iat[rng.randrange(len(frame)), rng.randrange(frame.shape[1])] = rng.choice(
            WORDS + NUMBERS
        )
    if rng.random() < 0.15:
        frame[rng.choice(WORDS)] = rng.choice(WORDS + NUMBERS)
    if rng.random() < 0.1:
        frame.columns = [rng.choice([*frame.columns, *WORDS]) for _ in frame.columns]
    return frame


def make_csv(rng: random.Random, path: Path) -> None:
    """A CSV."""
    text = odd_rows(rng).to_csv(index=rng.random() < 0.2, sep=rng.choice(",,,,;\t"))
    path.write_bytes(
        damaged(rng, str(text).encode(rng.choice(("utf-8", "utf-8", "utf-16")), "replace"))
    )


def make_gz(rng: random.Random, path: Path) -> None:
    """A CSV, compressed; what is damaged is one or the other."""
    text = damaged(rng, str(odd_rows(rng).to_csv(index=False)).encode(), 0.3)
    path.write_bytes(damaged(rng, gzip.compress(text), 0.6))


def make_parquet(rng: random.Random, path: Path) -> None:
    """Parquet, of columns of many types."""
    frame, buffer = odd_rows(rng), io.BytesIO()
    n = len(frame)
    odd: list[Callable[[], Any]] = [
        lambda: [b"a"] * n, lambda: [["a", "b"]] * n, lambda: [{"a": 1}] * n, lambda: [None] * n,
        lambda: pd.Series(["a"] * n, dtype="category"), lambda: pd.date_range("2024", periods=n),
        lambda: pd.array([True] * n), lambda: pd.to_timedelta(range(n)), lambda: [np.float16(1)] * n,
        lambda: [2**63 - 1] * n, lambda: pd.period_range("2024", periods=n), lambda: [[[1]]] * n,
    ]  # fmt: skip
    if rng.random() < 0.6:
        frame[rng.choice(("labels", "x", "z"))] = rng.choice(odd)()
    if rng.random() < 0.1:
        frame.index = pd.MultiIndex.from_product([["a"], range(n)])
    try:
        frame.to_parquet(buffer)
    except Exception:  # of such columns none can be written
        rows(rng).to_parquet(buffer)
    if rng.random() < 0.2:
        table = parquet.read_table(buffer)
        notes = {name: damaged(rng, text, 1) for name, text in table.schema.metadata.items()}
        buffer = io.BytesIO()
        parquet.write_table(table.replace_schema_metadata(notes), buffer)
        return void(path.write_bytes(buffer.getvalue()))
    path.write_bytes(damaged(rng, buffer.getvalue(), 0.6))


def odd_array(rng: random.Random) -> Any:
    """An array of some shape and kind."""
    shape = tuple(rng.choice((0, 1, 2, 3, 4)) for _ in range(rng.randint(0, 3)))
    kind = rng.choice(("f4", "f8", "f2", "i1", "i8", "u8", "?", "c16", "U3", "S2", "M8[s]"))
    made = np.zeros(shape, kind)
    if kind[0] in "fiu" and made.size and rng.random() < 0.7:
        with np.errstate(all="ignore"), suppress(OverflowError, ValueError):
            made.flat[rng.randrange(made.size)] = rng.choice(NUMBERS)
    return made


def arrays(rng: random.Random) -> dict[str, Any]:
    """Named arrays, most of which fit each other."""
    n = rng.randint(1, 8)
    found: dict[str, Any] = {"X": np.arange(2.0 * n).reshape(n, 2), "S": np.ones((n, 3), int)}
    found["S"][:, rng.randrange(3)] = 0
    for name in rng.sample(
        ["X", "S", "y", "partial_target", "target", "data", "0"], rng.randint(0, 3)
    ):
        found[name] = odd_array(rng) if rng.random() < 0.6 else found[rng.choice("XS")].T
    return found


def make_npz(rng: random.Random, path: Path) -> None:
    """NumPy's archive."""
    buffer = io.BytesIO()
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(buffer, **arrays(rng))
    path.write_bytes(damaged(rng, buffer.getvalue(), 0.6))


def make_mat(rng: random.Random, path: Path, *, sparse: bool = False) -> None:
    """MATLAB 5 in the layout of the field, dense or sparse."""
    n, buffer = rng.randint(1, 8), io.BytesIO()
    sets = np.ones((3, n))
    sets[rng.randrange(3)] = 0
    found: dict[str, Any] = {"data": np.arange(2.0 * n).reshape(n, 2), "partial_target": sets}
    if rng.random() < 0.3:
        found[rng.choice(("target", "data", "partial_target", "x"))] = odd_array(rng)
    if sparse:
        found = {k: sp.csc_matrix(v) if v.ndim == 2 and v.dtype == np.float64 else v
                 for k, v in found.items()}  # fmt: skip
    with suppress(TypeError, ValueError, NotImplementedError):  # kinds that MATLAB has not
        scipy.io.savemat(buffer, found, do_compression=rng.random() < 0.3)
    path.write_bytes(damaged(rng, buffer.getvalue() or b"MATLAB 5.0", 0.8))


def make_folder(rng: random.Random, path: Path) -> None:
    """Pictures in a folder, and the CSV that names them."""
    path.mkdir()
    names = [f"{i}.{rng.choice(('png', 'jpg', 'bmp', 'gif'))}" for i in range(rng.randint(1, 3))]
    for name in names:
        mode = rng.choice(
            ("RGB", "L", "P", "RGBA", "1", "CMYK") if name[-3:] == "jpg" else ("RGB", "L")
        )
        side, buffer = rng.choice((1, 4, 8)), io.BytesIO()
        Image.new("RGB", (side, 4)).convert(mode if mode in ("RGB", "L", "CMYK") else "L").save(
            buffer, {"jpg": "JPEG"}.get(name[-3:], name[-3:].upper())
        )
        (path / name).write_bytes(damaged(rng, buffer.getvalue(), 0.5))
    shown = [rng.choice([name, name, name, *WORDS, "../x.png", "/"]) for name in names]
    table = pd.DataFrame({"image": shown, "labels": [rng.choice(("a", "a|b")) for _ in names]})
    (path / "labels.csv").write_bytes(damaged(rng, str(table.to_csv(index=False)).encode(), 0.3))


def make_model(rng: random.Random, path: Path) -> None:
    """A model: its bytes damaged, or its facts and arrays forged, with a checksum that is right."""
    sound = SOUND / f"{rng.choice(('table', 'names'))}.amongst"
    if rng.random() < 0.4:
        return void(path.write_bytes(damaged(rng, sound.read_bytes(), 1)))
    held, facts = read_archive(sound)
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.3 and held:
            held.pop(name := rng.choice(sorted(held)))
            if rng.random() < 0.7 and (new := odd_array(rng)).dtype.kind in "fiu?":
                held[name] = new
        else:
            forge(rng, facts)
    try:
        write_archive(path, held, facts)
    except Exception:  # facts that no JSON can hold
        path.write_bytes(sound.read_bytes()[:-1])


def void(_: Any) -> None:
    """Nothing."""


def forge(rng: random.Random, facts: Any) -> None:
    """Change one leaf, or one branch, of JSON."""
    while isinstance(facts, dict | list) and facts:
        key = rng.choice(sorted(facts)) if isinstance(facts, dict) else rng.randrange(len(facts))
        below = facts[key]
        if not isinstance(below, dict | list) or not below or rng.random() < 0.3:
            deep: Any = []
            for _ in range(rng.choice((1, 50, 400))):
                deep = [deep]
            if rng.random() < 0.2:
                facts.pop(key)
            else:
                facts[key] = rng.choice([*FACTS, deep])
            return
        facts = below


def make_store(rng: random.Random, path: Path) -> None:
    """A result store: its bytes damaged, or its cells and schema."""
    sound = (SOUND / "store.sqlite").read_bytes()
    if rng.random() < 0.5:
        return void(path.write_bytes(damaged(rng, sound, 1)))
    path.write_bytes(sound)
    with suppress(sqlite3.Error), sqlite3.connect(path) as store:
        store.execute("PRAGMA writable_schema=ON")
        tables = [
            name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        name = rng.choice([*tables, "sqlite_master"])
        column = rng.choice([row[1] for row in store.execute(f"PRAGMA table_info({name})")])
        value = rng.choice(
            [*WORDS, None, b"\xff\xfe", -1, 10**18, "[" * 3000, '{"a": 1}', "[]", "null"]
        )
        store.execute(f"UPDATE {name} SET {column} = ?", (value,))
    store.close()


def damaged(rng: random.Random, data: bytes, chance: float = 0.2) -> bytes:
    """Some bytes changed, taken out, doubled or cut off, with some chance."""
    found = bytearray(data)
    while found and rng.random() < chance:
        a = rng.randrange(len(found))
        b = min(len(found), a + rng.choice((1, 1, 1, 2, 4, 8, 64, 1000)))
        way = rng.randrange(6)
        if way == 0:
            found[a] ^= 1 << rng.randrange(8)
        elif way == 1:
            found[a:b] = rng.choice((b"\x00", b"\xff", b"\x7f", b"\n")) * (b - a)
        elif way == 2:
            del found[a:b]
        elif way == 3:
            found[a:a] = found[a:b]
        elif way == 4:
            found[a:b] = rng.randbytes(b - a)
        else:
            del found[a:]
        chance *= 0.6
    return bytes(found)


def through_table(path: Path, rng: random.Random) -> Iterator[list[str]]:
    """What is done with a table: where it cannot be described, one more command."""
    own = rng.choice(
        ([], [], ["--empty", "full"], ["--kind", "auto", "--no-header"], ["--truth", "y"])
    )
    out = path.with_name("out.csv")
    fit = ["fit", str(path), "--out", str(path.with_name("out.amongst")), "--epochs", "1", *own]
    model = str(
        SOUND / ("table.amongst" if path.suffix in (".csv", ".gz", ".parquet") else "array.amongst")
    )
    later = [
        [*fit, "--model", "linear", "--device", "cpu", "--quiet"],
        ["predict", model, str(path), "--out", str(out)],
        ["disambiguate", model, str(path), "--out", str(out)],
    ]
    yield ["describe", str(path), *own]
    yield from later


def through_model(path: Path, rng: random.Random) -> Iterator[list[str]]:
    """What is done with a model."""
    for name in ("predict", "disambiguate"):
        yield [name, str(path), str(SOUND / "table.csv"), "--out", str(path.with_name("out.csv"))]


def through_store(path: Path, rng: random.Random) -> Iterator[list[str]]:
    """What is done with a store."""
    yield ["results", str(path)]
    yield ["report", str(path), "--html", str(path.with_name("out.html"))]


def open_folder(path: Path) -> None:
    """Images have no command of the four: they are read in Python."""
    with suppress(AmongstError):
        load_image_folder(path, path / "labels.csv", candidates="labels").to_array()


Kind = tuple[str, Callable[[random.Random, Path], None], Callable[..., Iterator[list[str]]] | None]
KINDS: dict[str, Kind] = {
    "csv": (".csv", make_csv, through_table),
    "gz": (".csv.gz", make_gz, through_table),
    "parquet": (".parquet", make_parquet, through_table),
    "npz": (".npz", make_npz, through_table),
    "matlab": (".mat", make_mat, through_table),
    "sparse": (".mat", lambda rng, path: make_mat(rng, path, sparse=True), through_table),
    "images": ("", make_folder, None),
    "model": (".amongst", make_model, through_model),
    "store": (".sqlite", make_store, through_store),
}
SOUND = Path(tempfile.gettempdir()) / "none"
"""The folder of sound files that others are made of, or go with."""


def make_sound(folder: Path) -> None:
    """A table, models of it, and a store."""
    global SOUND
    SOUND = folder
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 0.0, 2.0], "labels": ["a|b", "b", "c"]})
    frame.to_csv(folder / "table.csv", index=False)
    X, y = frame[["x", "y"]], frame["labels"]
    told = {"candidates": ["labels"], "separator": "|", "kind": "auto", "empty": "error"}
    model = LWClassifier(model="linear", epochs=1, device="cpu", random_state=0)
    model.fit(X, y).save(folder / "table.amongst", metadata=told)
    LWClassifier(epochs=1, widths=(4,), device="cpu").fit(X, y).save(folder / "names.amongst")
    sets = [{0, 1}, {1}, {2}]
    model.fit(X.to_numpy(), sets).save(folder / "array.amongst")
    settings: dict[str, Any] = {"epochs": 1, "widths": "4", "validation": 0.1}
    with Store(folder / "store.sqlite") as store:
        store.add_request(Request("demo").to_dict())
        store.add(run_trial(Trial("digits", "q=0.1", "cc", "mlp", 0, settings=settings)))


def tried(arguments: list[str]) -> tuple[str, bool]:
    """What is wrong with how a command ended, "" where nothing is; and whether it has an answer."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            command(arguments)
    except SystemExit as ended:
        code = ended.code or 0
    except Slow:
        return f"no end within {LIMIT} s", False
    except BaseException:
        return traceback.format_exc(), False
    lines = [line for line in err.getvalue().splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith("amongst: warning:")]
    if code == 0:
        return checked(arguments), True
    if code != 2 or "Traceback" in err.getvalue():
        return f"exit code {code}: {errors}", False
    if len(errors) != 1 or not errors[0].startswith("amongst: "):
        return f"{len(errors)} lines for an error: {errors}", False
    return "", False


def checked(arguments: list[str]) -> str:
    """What is wrong with the answer in a file."""
    if arguments[0] not in ("predict", "disambiguate"):
        return ""
    found = pd.read_csv(arguments[-1], keep_default_na=False)
    confidence = pd.to_numeric(found["confidence"], errors="coerce")
    if not confidence.between(0, 1 + 1e-6).all():
        return f"confidences {sorted(set(found['confidence']))[:5]}"
    known = {str(label) for label in load(arguments[1]).classes_}
    strange = set(found["label"].astype(str)) - known
    return f"labels {sorted(strange)[:5]} that are no class" if strange else ""


def work(kind: str, number: int, seed: int, folder: Path) -> dict[str, Any]:
    """Make one file, use it, and say how that went."""
    rng = random.Random(f"{seed}/{kind}/{number}")
    ending, make, through = KINDS[kind]
    path = folder / f"{kind}-{number}{ending}"
    found: dict[str, Any] = {"number": number, "commands": 0, "answered": 0, "findings": []}
    limit(LIMIT)
    try:
        make(rng, path)
        if through is None:
            open_folder(path)
            found["commands"] = found["answered"] = 1
            return found
        for arguments in through(path, rng):
            wrong, answered = tried(arguments)
            found["commands"] += 1
            found["answered"] += answered
            if wrong:
                found["findings"].append((arguments[0], wrong))
            if not answered and rng.random() < 0.9:
                break  # what cannot be read is not read by another command, either
    except (Exception, Slow):
        found["findings"].append(("python", traceback.format_exc()))
    finally:
        limit(0)
    return found


def limit(seconds: float) -> None:
    """`Slow` is raised after so many seconds of computing from now; 0 for never."""

    def late(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def serve(kind: str, numbers: range, seed: int, pipe: Connection) -> None:
    """In a process of its own: one file after another, a message before and after each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for number in numbers:
        pipe.send(number)
        with tempfile.TemporaryDirectory(dir=SOUND) as folder:
            pipe.send(work(kind, number, seed, Path(folder)))


def spread(kind: str, files: int, seed: int, until: float) -> Iterator[dict[str, Any]]:
    """What each file gave, processes that crash or hang included; none begins after `until`."""
    number, forks = 0, multiprocessing.get_context("fork")
    while number < files and time.monotonic() < until:
        here, there = forks.Pipe(duplex=False)
        last = min(files, number + 500)
        process = forks.Process(target=serve, args=(kind, range(number, last), seed, there))
        process.start()
        there.close()
        try:
            while number < last and time.monotonic() < until:
                if not here.poll(SILENCE):
                    raise EOFError
                if isinstance(said := here.recv(), dict):
                    yield said
                    number += 1
        except EOFError:
            process.kill()
            process.join()
            what = f"the process crashed or hung (exit code {process.exitcode})"
            yield {"number": number, "commands": 1, "answered": 0, "findings": [("process", what)]}
            number += 1
        process.kill()
        process.join()


def signature(wrong: str) -> str:
    """What findings of one cause have in common."""
    lines = [line.strip() for line in wrong.strip().splitlines()]
    places = [line for line in lines if line.startswith("File ") and "/amongst/" in line]
    return f"{places[-1].rpartition('/')[2] if places else ''} {lines[-1]}"[:200]


def run(kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """A kind's files; findings are printed, one for each cause."""
    began, seen = time.monotonic(), Counter[str]()
    counts = {
        "kind": kind,
        "seed": options.seed,
        "files": 0,
        "commands": 0,
        "answered": 0,
        "findings": 0,
    }
    until = began + (options.seconds or 1e9)
    for one in spread(kind, options.files, options.seed, until):
        counts["files"] += 1
        counts["commands"] += one["commands"]
        counts["answered"] += one["answered"]
        for name, wrong in one["findings"]:
            counts["findings"] += 1
            cause = f"{name}: {signature(wrong)}"
            seen[cause] += 1
            if seen[cause] == 1:
                print(f"FOUND {kind}:{one['number']} (seed {options.seed}) {cause}", flush=True)
    print(f"{json.dumps(counts)} in {time.monotonic() - began:.0f} s", flush=True)
    for cause, times in seen.most_common():
        print(f"  {times} × {cause}")
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Run it; the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=200, help="of each kind")
    parser.add_argument(
        "--seconds", type=float, default=0, help="of each kind at most; 0 for no bound"
    )
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="KIND:NUMBER, one file again")
    parser.add_argument("--csv", type=Path, help="file for the counts")
    options = parser.parse_args(arguments)
    shared = "/dev/shm" if Path("/dev/shm").is_dir() else None  # no disk to wait for
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        make_sound(Path(folder))
        if options.only:
            kind, _, number = options.only.partition(":")
            keep = Path(tempfile.mkdtemp(prefix="fuzz-"))
            found = work(kind, int(number), options.seed, keep)
            print(keep, *(f"\n{name}: {wrong}" for name, wrong in found["findings"]))
            return len(found["findings"])
        print(f"seed {options.seed}, {options.files} files of each kind", flush=True)
        counted = [run(kind, options) for kind in options.kinds.split(",")]
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(counted[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(counted)
    return sum(one["findings"] for one in counted)


if __name__ == "__main__":
    sys.exit(bool(main()))
