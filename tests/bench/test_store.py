"""The store: what goes in comes out, twice is once, and every failure says what to do."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import amongst
from amongst.bench import Record, Store, Trial, read_records
from amongst.bench import store as store_module
from amongst.errors import DataNotFoundError, FileFormatError, InputError, StoreError

names = st.text(min_size=1, max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
scalars = st.one_of(st.booleans(), st.integers(-5, 5), finite, st.text(max_size=8))
trials = st.builds(
    Trial,
    dataset=names,
    condition=names,
    method=names,
    model=names,
    seed=st.integers(0, 9),
    fold=st.none() | st.integers(0, 9),
    settings=st.dictionaries(names, scalars, max_size=4),
    data_digest=st.text("0123456789abcdef", max_size=8),
)
records = st.builds(
    Record,
    trial=trials,
    metrics=st.dictionaries(names, finite, max_size=3),
    curves=st.dictionaries(names, st.lists(finite, max_size=5).map(tuple), max_size=3),
    seconds=st.floats(0, 1e6),
    versions=st.dictionaries(names, names, max_size=2),
    error=st.text(max_size=5),
)


def one(seed: int = 0, **settings: float) -> Record:
    trial = Trial("digits", "q=0.1", "rc", "mlp", seed, settings=settings)
    return Record(trial, {"accuracy_final": 0.5 + seed / 100}, {"loss": (1.0, 0.1)})


@settings(max_examples=50, deadline=None)
@given(st.lists(records, max_size=5))
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, found: list) -> None:
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    with Store(path) as store:
        store.add_all(found)
        kept = {record.key: record for record in reversed(found)}
        assert {record.key: record for record in store.records()} == kept
        assert store.keys() == set(kept)


@settings(max_examples=30, deadline=None)
@given(trials, trials)
def test_keys_are_equal_exactly_when_trials_are(a: Trial, b: Trial) -> None:
    assert (a.key == b.key) == (a == b)
    assert Trial(**a.to_dict()).key == a.key


def test_the_key_holds_the_data_and_not_the_place() -> None:
    trial = one().trial
    assert trial.with_data("aa").key != trial.with_data("bb").key
    assert set(trial.to_dict()) == {
        "dataset", "condition", "method", "model", "seed", "fold", "settings", "data_digest",
    }  # fmt: skip


def test_a_key_does_not_change_by_accident() -> None:
    """A changed key would make every stored result invisible: bump KEY_VERSION on purpose only."""
    trial = Trial("mnist", "q=0.1", "lw-sigmoid", "mlp", 3, None, {"lr": 0.05, "beta": 2.0}, "ab")
    assert trial.key == Trial("mnist", "q=0.1", "lw-sigmoid", "mlp", 3, None,
                              {"beta": 2, "lr": 0.05}, "ab").key  # fmt: skip
    assert trial.key.startswith("473295dc91cb31da")


def test_settings_must_be_plain() -> None:
    with pytest.raises(InputError, match=r"settings\['lr'\]"):
        Trial("a", "b", "c", "d", 0, settings={"lr": float("nan")})
    with pytest.raises(InputError, match=r"settings\['widths'\]"):
        Trial("a", "b", "c", "d", 0, settings={"widths": (3, 4)})  # type: ignore[dict-item]


def test_adding_twice_keeps_the_first(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        assert store.add(one())
        assert not store.add(Record(one().trial, {"accuracy_final": 0.9}))
        assert store.records()[0].metrics["accuracy_final"] == 0.5
        assert one().trial in store
        assert store.remove([one().key]) == 1
        assert len(store) == 0


def test_records_are_filtered_and_a_wrong_filter_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.add_all(one(seed) for seed in range(4))
        assert [r.trial.seed for r in store.records(seed=[1, 3], method="rc")] == [1, 3]
        assert store.records(dataset="mnist") == []
        assert store.records(curves=False)[0].curves == {}
        with pytest.raises(InputError, match="did you mean 'dataset'"):
            store.records(datset="mnist")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_an_export_is_the_store(tmp_path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    folded = Record(Trial("NA", "real", "ipal", "-", 0, fold=3, settings={"k": 5, "on": True}))
    failed = Record(one(9).trial, error="the loss became nan")
    with Store(tmp_path / "s.sqlite") as store:
        store.add_all([one(0, lr=0.1), one(1, lr=1e-6), folded, failed])
        store.export(tmp_path / f"out{suffix}", curves=True)
        assert read_records(tmp_path / f"out{suffix}") == store.records()
        assert read_records(tmp_path / f"out{suffix}", seed=1) == store.records(seed=1)
    assert read_records(tmp_path / "s.sqlite") == read_records(tmp_path / f"out{suffix}")
    assert not list(tmp_path.glob("*.part"))


def test_an_export_is_read_with_exact_numbers_by_every_pandas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of them miss the last bit of a number: they are to read texts."""
    read, asked = pd.read_csv, []

    def spy(path: Path, *, dtype: type, **how: object) -> pd.DataFrame:
        asked.append(dtype)
        return read(path, dtype=dtype, **how)

    monkeypatch.setattr(pd, "read_csv", spy)
    with Store(tmp_path / "s.sqlite") as store:
        store.add_all(one(seed, lr=seed / 7) for seed in range(40))
        store.export(tmp_path / "out.csv")
        assert read_records(tmp_path / "out.csv") == store.records(curves=False)
    assert asked == [str]


def test_an_export_of_another_kind_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(InputError, match=r"\.parquet or"):
        store.export(tmp_path / "out.xlsx")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="not an export"):
        read_records(tmp_path / "other.csv")
    with pytest.raises(DataNotFoundError, match="no file"):
        read_records(tmp_path / "none.csv")


def test_requests_are_remembered_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        for _ in range(2):
            store.add_request({"plan": "demo", "seeds": 2})
        assert store.requests() == [{"plan": "demo", "seeds": 2}]


def test_two_may_make_one_store_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pragma = tmp_path / "s.sqlite", store_module._pragma

    def overtaken(connection: sqlite3.Connection, name: str) -> int:
        value = pragma(connection, name)
        monkeypatch.setattr(store_module, "_pragma", pragma)
        Store(path).close()
        return value

    monkeypatch.setattr(store_module, "_pragma", overtaken)
    with Store(path) as store:
        assert store.add(one())


def test_a_store_that_another_is_making_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself does not wait to switch to a log."""
    path = tmp_path / "s.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, other.rollback)
    release.start()
    with Store(path) as store:
        assert store.add(one())
    release.join()
    other.close()


def test_an_older_file_is_migrated_with_its_records(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(one())
    old = sqlite3.connect(path)
    old.executescript("DROP TABLE claims; DROP TABLE plans; PRAGMA user_version = 1;")
    old.close()
    with Store(path, readonly=True) as store:
        assert (store.records(), store.requests()) == ([one()], [])
    with Store(path) as store:
        assert store.records() == [one()]
        assert store.claim([one(1).key]) == [one(1).key]


def test_a_newer_file_without_newer_records_names_no_release_that_is_here(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(replace(one(), versions={"amongst": amongst.__version__}))
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(FileFormatError, match="a newer release: pip install --upgrade amongst"):
        Store(path, readonly=True)


def test_a_newer_file_is_refused_with_the_version_to_install(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(Record(one().trial, versions={"amongst": "9.1.0"}))
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    for readonly in (False, True):
        with pytest.raises(FileFormatError, match=r"version 99.*pip install 'amongst>=9\.1\.0'"):
            Store(path, readonly=readonly)


def test_another_sqlite_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match="not a result store"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "middle"])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add_all(one(seed, lr=float(lr)) for seed in range(10) for lr in range(20))
    content = path.read_bytes()
    broken = (
        b"not a database at all" * 50
        if damage == "text"
        else content[:4096] + b"\xff" * (len(content) - 4096)
    )
    path.write_bytes(broken)
    with pytest.raises(FileFormatError, match="damaged"), Store(path) as store:
        store.records()
    assert path.read_bytes() == broken


def test_a_damaged_page_is_found_before_the_first_change(tmp_path: Path) -> None:
    """The last of many pages: nothing that opening reads, but for the check of all."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add_all(one(seed, lr=float(lr)) for seed in range(10) for lr in range(20))
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA journal_mode = DELETE")
    plain.close()
    broken = path.read_bytes()[:-4096] + b"\xff" * 4096
    path.write_bytes(broken)
    with pytest.raises(FileFormatError, match="damaged"):
        Store(path)
    assert path.read_bytes() == broken


def test_a_change_that_fails_midway_is_undone(tmp_path: Path) -> None:
    def keys() -> Iterator[str]:
        yield one(0).key
        raise KeyboardInterrupt

    with Store(tmp_path / "s.sqlite") as store:
        store.add(one(0))
        with pytest.raises(KeyboardInterrupt):
            store.remove(keys())
        assert store.keys() == {one(0).key}
        assert store.add(one(1))


def test_a_filter_is_a_value_or_a_list_of_values(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.add_all(one(seed) for seed in range(3))
        assert [r.trial.seed for r in store.records(seed=[2, 0])] == [0, 2]
        with pytest.raises(InputError, match=r"seed=\[0\.5\] must be a value, or a list of values"):
            store.records(seed=[0.5])


def test_a_finished_trial_is_in_nobodys_hands(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as a, Store(tmp_path / "s.sqlite") as b:
        assert a.claim([one(0).key]) == [one(0).key]
        a.add(one(0))
        assert b.others() == []
        a.remove([one(0).key])
        assert b.claim([one(0).key]) == [one(0).key]


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    """SQLite's own limit on pages gives the same SQLITE_FULL as a full disk."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(one())
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        big = Record(one(1).trial, error="x" * 100_000)
        with pytest.raises(StoreError, match=r"disk is full.*intact"):
            store.add(big)
        assert store.records() == [one()]
        store._connection.execute("PRAGMA max_page_count = 1000000")
        assert store.add(big)


def test_a_store_that_is_locked_is_not_read_behind_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in SQLite's write-ahead mode, in which readers need not wait."""
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.05)
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(one())
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"another process has kept it locked.*run the same"):
        Store(path, readonly=True)
    writer.execute("ROLLBACK")
    writer.close()
    assert len(read_records(path)) == 1


def test_records_that_cannot_be_reached_are_not_left_out() -> None:
    """A store copied in the middle of a run, into a folder where nothing can be written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "run.sqlite") as store:
            store.add(one())
            for ending in ("", "-wal"):
                shutil.copy(folder / f"run.sqlite{ending}", folder / f"old.sqlite{ending}")
        (folder / "old.sqlite").chmod(0o644)
        folder.chmod(0o555)
        read = _as_nobody(folder)[-1]
        folder.chmod(0o755)
        assert len(read_records(folder / "old.sqlite")) == 1
    assert read.startswith("StoreError: cannot read all of")
    assert "old.sqlite-wal beside it" in read


def test_a_read_only_folder_is_named() -> None:
    """In a process of its own, which gives up root's right to write anywhere."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "old.sqlite") as store:
            store.add(one())
        (folder / "old.sqlite").chmod(0o644)
        folder.chmod(0o555)
        new, old, read = _as_nobody(folder)
        folder.chmod(0o755)
    for answer in (new, old):
        assert answer.startswith("StoreError: cannot")
        assert "cannot be written" in answer
    assert read == "1 record"


def _as_nobody(folder: Path) -> list[str]:
    """What a new store, an old one, and an old one to read say in this folder."""
    source, target = os.pipe()
    if (pid := os.fork()) == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        answers = []
        for name, readonly in (("new", False), ("old", False), ("old", True)):
            try:
                with Store(folder / f"{name}.sqlite", readonly=readonly) as store:
                    answers.append(f"{len(store.records())} record")
                    if not readonly:
                        store.add(one(1))
            except Exception as error:
                answers.append(f"{type(error).__name__}: {error}")
        os.write(target, "\n".join(a for a in answers).encode())
        os._exit(0)
    os.close(target)
    os.waitpid(pid, 0)
    return os.read(source, 10_000).decode().split("\n")


def test_a_folder_that_cannot_be_made_and_a_store_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        Store(tmp_path / "file" / "s.sqlite")
    with pytest.raises(StoreError, match="no result store at"):
        Store(tmp_path / "none.sqlite", readonly=True)
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_was_removed_while_in_use_says_so(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(one())
        assert store.is_here
        for file in tmp_path.iterdir():
            file.unlink()
        if replaced:
            Store(path).close()
        with pytest.raises(StoreError, match="removed or replaced"):
            store.add(one(1))
    assert path.exists() == replaced


def test_a_read_only_store_refuses_to_write(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(one())
    with Store(path, readonly=True) as store, pytest.raises(StoreError, match="written"):
        store.add(one(1))


def test_claims_are_exclusive_and_die_with_their_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, keys = tmp_path / "s.sqlite", [one(seed).key for seed in range(4)]
    with Store(path) as a, Store(path) as b:
        assert a.claim(keys, limit=3) == keys[:3]
        assert b.claim(keys) == keys[3:]
        a.add(one(0))
        assert b.claim(keys) == []
        assert len(b.others()) == 1
        a.release()
        assert b.claim(keys) == keys[1:3]
        monkeypatch.setattr(store_module, "STALE_SECONDS", -1.0)
        assert a.claim(keys) == keys[1:]
    with Store(path) as late:
        assert late.claim(keys) == keys[1:]


def test_a_dead_process_holds_no_claim(tmp_path: Path) -> None:
    path, key = tmp_path / "s.sqlite", one().key
    pid = os.fork()
    if pid == 0:
        Store(path).claim([key])
        os._exit(0)
    os.waitpid(pid, 0)
    with Store(path) as store:
        assert store.claim([key]) == [key]


def test_on_windows_no_signal_asks_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, kill(pid, 0) is Ctrl-C; a runner that says nothing is dead all the same."""
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr(os, "kill", lambda *_: pytest.fail("Ctrl-C was sent"))
        here, now = socket.gethostname(), time.time()
        assert store_module._is_alive(here, 1, now)
        assert not store_module._is_alive(here, 1, now - 2 * store_module.STALE_SECONDS)


def test_many_threads_with_a_store_each_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()

    def work(part: int) -> None:
        with Store(path) as store:
            for seed in range(10):
                store.add(one(seed, part=part))
                store.add(one(seed))

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path) as store:
        assert len(store) == 50
