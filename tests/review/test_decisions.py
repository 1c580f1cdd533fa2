"""The log of decisions: nothing is lost, nothing is overwritten in silence."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from amongst import as_candidates
from amongst.data import Table, read_table
from amongst.data.columns import Columns
from amongst.errors import AmongstWarning, FileFormatError, InputError, StoreError
from amongst.review import Decisions, file_digest, reviewed_sets


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.sqlite"


def test_the_standing_decision_is_that_of_a_stack(path: Path) -> None:
    """Against a list that is pushed to and popped from, over 300 random actions on three rows."""
    kept, stacks, counts = Decisions(path, "d"), {r: [] for r in "abc"}, dict.fromkeys("abc", 0)
    chosen = random.Random(0)
    for step in range(300):
        row, action = chosen.choice("abc"), chosen.choice(["label", "skip", "undo"])
        label = str(step) if action == "label" else None
        kept.add(row, counts[row], action, label, "ann")
        counts[row] += 1
        if action != "undo":
            stacks[row].append((action, label))
        elif stacks[row]:
            stacks[row].pop()
    again = Decisions(path)
    for store in (kept, again):
        found = {row: (d.action, d.label) for row, d in store.standing().items()}
        assert found == {row: stack[-1] for row, stack in stacks.items() if stack}
        assert {row: len(store.history(row)) for row in "abc"} == counts


def test_a_second_decision_on_what_was_seen_is_refused(path: Path) -> None:
    first, second = Decisions(path, "d"), Decisions(path, "d")
    first.add("7", 0, "label", "owl", "ann")
    for store in (first, second):
        with pytest.raises(StoreError) as caught:
            store.add("7", 0, "label", "kite", "ben")
        assert caught.value.code == "conflict"
    assert [d.label for d in second.history("7")] == ["owl"]
    second.add("7", 1, "label", "kite", "ben")
    assert first.standing()["7"].label == "kite"


def test_of_many_connections_in_the_same_moment_one_writes(path: Path) -> None:
    stores, ready = [Decisions(path, "d") for _ in range(6)], Barrier(6)

    def decide(place: int) -> str:
        ready.wait()
        try:
            return str(stores[place].add("7", 0, "label", str(place), "ann").label)
        except StoreError as error:
            return error.code

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(decide, range(6)))
    assert found.count("conflict") == 5
    assert [d.label for d in stores[0].history("7")] == [x for x in found if x != "conflict"]


def test_a_changed_file_is_noticed(path: Path) -> None:
    Decisions(path, "old").add("0", 0, "label", "owl", "ann")
    with pytest.raises(InputError) as caught:
        Decisions(path, "new")
    assert caught.value.code == "changed-file"
    assert Decisions(path, "old").export()["label"].tolist() == ["owl"]
    with pytest.raises(InputError) as caught:
        Decisions(path, "old", by_name=True)
    assert caught.value.code == "other-rows"


def test_names_of_rows_outlive_a_changed_file(path: Path) -> None:
    Decisions(path, "old", by_name=True).add("bird 1", 0, "label", "owl", "ann")
    with pytest.warns(AmongstWarning) as caught:
        kept = Decisions(path, "new", by_name=True)
    assert caught[0].message.code == "changed-file"  # type: ignore[union-attr]
    assert kept.export()[["row", "label", "file_sha256"]].values.tolist() == [
        ["bird 1", "owl", "new"]
    ]


def test_a_file_that_holds_no_decisions_is_named(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Decisions(path)
    assert caught.value.code == "no-store"
    path.write_bytes(b"this is no database, " * 100)
    with pytest.raises(FileFormatError) as damaged:
        Decisions(path, "d")
    assert damaged.value.code == "damaged"


def export(folder: Path, file: Path, rows: dict[str, str], by_name: bool = False) -> Path:
    kept = Decisions(folder / f"{len(list(folder.iterdir()))}.sqlite", file_digest(file), by_name)
    for row, label in rows.items():
        kept.add(row, 0, "label", label, "ann")
    kept.export().to_csv(folder / "reviewed.csv", index=False)
    return folder / "reviewed.csv"


def birds(folder: Path) -> Path:
    file = folder / "birds.csv"
    file.write_text("id,wing,labels\nb7,1,1|2\nb8,2,2|3\nb9,3,1|3\n")
    return file


@pytest.mark.parametrize("by_name", [False, True])
def test_reviewed_labels_are_certain_also_outside_their_sets(tmp_path: Path, by_name: bool) -> None:
    file = birds(tmp_path)
    table = read_table(
        file,
        candidates="labels",
        index="id" if by_name else None,
        ignore="id" if not by_name else (),
    )
    rows = {"b7": "3", "b9": "1"} if by_name else {"0": "3", "2": "1"}
    found = reviewed_sets(table, file, export(tmp_path, file, rows, by_name))
    assert found.to_lists() == [[3], [2, 3], [1]]
    assert table.candidates is not None
    assert table.candidates.to_lists() == [[1, 2], [2, 3], [1, 3]]


def test_sparse_sets_stay_sparse_and_say_the_same(tmp_path: Path) -> None:
    file = birds(tmp_path)
    reviewed = export(tmp_path, file, {"1": "1", "2": "3"})
    dense = as_candidates([[1, 2], [2, 3], [1, 3]])
    tables = [
        Table(np.eye(3), ("a", "b", "c"), sets, None, np.arange(3), Columns(candidates=("labels",)))
        for sets in (dense, as_candidates(dense.to_sparse(), classes=[1, 2, 3]))
    ]
    found = [reviewed_sets(table, file, reviewed) for table in tables]
    assert found[1].is_sparse
    assert found[0] == found[1]
    assert found[0].to_lists() == [[1, 2], [1], [3]]


def test_votes_of_rows_that_nobody_reviewed_still_count(tmp_path: Path) -> None:
    file = tmp_path / "birds.csv"
    file.write_text("wing,labels\n1,owl:3|kite:1\n2,kite:1|wren:4\n")
    table = read_table(file, candidates="labels", kind="votes")
    found = reviewed_sets(table, file, export(tmp_path, file, {"1": "owl"}))
    assert found.prior.tolist() == [[0.25, 0.75, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["9,owl"], "no-row"),
        (["0,emu"], "no-label"),
        (["0,owl", "0,kite"], "twice"),
    ],
)
def test_a_line_that_fits_no_row_is_named(tmp_path: Path, lines: list[str], code: str) -> None:
    file = tmp_path / "birds.csv"
    file.write_text("wing,labels\n1,owl|kite\n2,kite\n")
    reviewed = tmp_path / "reviewed.csv"
    told = [f"{line},number,{file_digest(file)}" for line in lines]
    reviewed.write_text("\n".join(["row,label,row_is,file_sha256", *told]))
    with pytest.raises(InputError) as caught:
        reviewed_sets(read_table(file, candidates="labels"), file, reviewed)
    assert (caught.value.code, caught.value.argument) == (code, "reviewed")


def test_numbers_of_rows_of_a_changed_file_are_refused_names_are_not(tmp_path: Path) -> None:
    file = birds(tmp_path)
    by_number = export(tmp_path, file, {"0": "1"}).rename(tmp_path / "numbers.csv")
    by_name = export(tmp_path, file, {"b9": "1"}, by_name=True)
    file.write_text("id,wing,labels\nb9,3,1|3\nb7,1,1|2\nb8,2,2|3\n")
    table = read_table(file, candidates="labels", index="id")
    with pytest.raises(InputError) as caught:
        reviewed_sets(table, file, by_number)
    assert caught.value.code == "changed-file"
    with pytest.warns(AmongstWarning):
        assert reviewed_sets(table, file, by_name).to_lists()[0] == [1]
