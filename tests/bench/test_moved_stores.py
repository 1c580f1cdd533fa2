"""Stores that come from elsewhere: other methods, another release, a disk that lost a byte."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from amongst.bench import Store
from amongst.bench import record as record_module
from amongst.bench.execute import LocalExecutor
from amongst.bench.plans import Request, make_plan
from amongst.bench.record import Record
from amongst.bench.report import read_report
from amongst.bench.runner import run_plan
from amongst.cli.app import app
from amongst.errors import AmongstWarning, FileFormatError
from lw2021.evidence import pack, read_evidence

CC = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=2, search="grid", search_seeds=1)


def kept(path: Path, *requests: dict[str, Any]) -> Path:
    """A store with CC's trials and these requests."""
    with Store(path) as store:
        for request in requests:
            store.add_request(request)
        for i, trial in enumerate(make_plan(CC).trials):
            metrics = {"accuracy_last10": 0.9, "covering_val_last10": 0.5 + i / 100}
            store.add(Record(trial, metrics, {"loss": (1.0, 0.5)}))
    return path


@pytest.mark.parametrize(
    "other",
    [
        CC.to_dict() | {"plan": "compare", "datasets": ["digits"], "methods": ["mine"]},
        CC.to_dict() | {"colour": "red"},
        CC.to_dict() | {"plan": "table9"},
    ],
    ids=["method", "option", "plan"],
)
def test_a_request_that_is_unknown_here_costs_its_own_table_alone(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    path = kept(tmp_path / "s.sqlite", other, CC.to_dict())
    with pytest.warns(AmongstWarning, match="cannot be laid out by this version"):
        report = read_report(path)
    assert [table.plan.request for table in report.tables] == [CC]
    with pytest.warns(AmongstWarning, match="cannot be laid out"):
        pack([path], tmp_path / "evidence")
    assert len(read_evidence(tmp_path / "evidence").requests) == 2


@pytest.mark.filterwarnings("ignore:a request of this store")
def test_without_any_known_request_the_records_are_shown_as_they_are(tmp_path: Path) -> None:
    path = kept(tmp_path / "s.sqlite", CC.to_dict() | {"colour": "red"})
    result = CliRunner().invoke(app, ["report", str(path)])
    assert result.exit_code == 0, result.output
    assert "90.00" in result.output


def test_results_under_other_keys_are_refused_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_module, "KEY_VERSION", 2)
    path = tmp_path / "s.sqlite"
    record = Record(make_plan(CC).trials[0], versions={"amongst": "9.1.0"})
    with Store(path) as store:
        store.add(record)
    before = path.read_bytes()
    monkeypatch.setattr(record_module, "KEY_VERSION", 1)
    for readonly in (False, True):
        with pytest.raises(FileFormatError, match=r"amongst==9\.1\.0") as refused:
            Store(path, readonly=readonly)
        assert refused.value.code == "other-keys"
    assert path.read_bytes() == before


def test_evidence_under_other_keys_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    pack([kept(tmp_path / "s.sqlite", CC.to_dict())], tmp_path / "evidence")
    monkeypatch.setattr(record_module, "KEY_VERSION", 2)
    with pytest.raises(FileFormatError) as refused:
        read_evidence(tmp_path / "evidence")
    assert refused.value.code == "other-trials"


def damage(path: Path, change: str) -> str:
    """Change a row of the store as a bad disk might; the key of that row."""
    connection = sqlite3.connect(path)
    (key,) = connection.execute("SELECT key FROM records LIMIT 1").fetchone()
    connection.execute(f"UPDATE records SET {change} WHERE key = ?", (key,))
    connection.commit()
    connection.close()
    return str(key)


@pytest.mark.parametrize(
    "change",
    ["""metrics = '{"accuracy'""", "metrics = '3'", "curves = x'00'", "settings = replace(settings, '0.01', '0.03')",
     "seed = 7", "condition = 'q=0.9'"],
)  # fmt: skip
def test_a_damaged_record_is_named_with_the_way_out(tmp_path: Path, change: str) -> None:
    path = kept(tmp_path / "s.sqlite", CC.to_dict())
    key = damage(path, change)
    with Store(path) as store, pytest.raises(FileFormatError, match=key[:12]) as error:
        store.records()
    namespace: dict[str, Any] = {"amongst": pytest.importorskip("amongst")}
    remedy = str(error.value).partition("forget it: ")[2]
    assert eval(remedy, namespace) == 1
    with Store(path, readonly=True) as store:
        assert key not in {record.key for record in store.records()}


def test_a_search_on_a_damaged_record_ends(tmp_path: Path) -> None:
    """Its key was done and its trial was missing: the runner waited for it for ever."""
    path = kept(tmp_path / "s.sqlite")
    damage(path, "seed = 7")
    with Store(path) as store, pytest.raises(FileFormatError, match="not those of its key"):
        run_plan(make_plan(CC), store, LocalExecutor(workers=1))


def test_a_damaged_request_is_named(tmp_path: Path) -> None:
    path = kept(tmp_path / "s.sqlite", CC.to_dict())
    connection = sqlite3.connect(path)
    connection.execute("UPDATE plans SET request = ?", (json.dumps(CC.to_dict())[:-1],))
    connection.commit()
    connection.close()
    with Store(path, readonly=True) as store, pytest.raises(FileFormatError, match="no JSON"):
        store.requests()
