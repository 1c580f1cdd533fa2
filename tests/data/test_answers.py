"""A file with a row for each answer is the file with a column for each rater, written in another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from amongst.data import read_table
from amongst.data.images import read_photos, read_photos_like
from amongst.errors import AmongstWarning, InputError

RNG = np.random.default_rng(0)
ITEMS = pd.DataFrame({"id": [f"i{i}" for i in range(30)], "wing": RNG.random(30).round(3)})
TOLD = {
    (item, f"r{rater}"): RNG.choice(["owl", "kite", "emu"])
    for item in ITEMS["id"]
    for rater in RNG.permutation(12)[: RNG.integers(1, 5)]
}
WIDE = ITEMS.join(pd.Series(TOLD).unstack(), on="id")
LONG = pd.DataFrame([(*at, said) for at, said in TOLD.items()], columns=["id", "who", "said"])
LONG = LONG.merge(ITEMS, on="id").sample(frac=1, random_state=0)
NAMED: dict[str, Any] = {"candidates": "said", "rater": "who", "index": "id"}


def test_a_row_for_each_answer_or_a_column_for_each_rater(tmp_path: Path) -> None:
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    LONG.to_csv(tmp_path / "long.csv", index=False)
    LONG.to_parquet(tmp_path / "long.parquet")
    wide = read_table(tmp_path / "wide.csv", candidates="r*", index="id", guess=True)
    assert wide.candidates is not None
    assert wide.columns.candidates == tuple(WIDE.columns[2:])
    for name in ("long.csv", "long.parquet"):
        found = read_table(tmp_path / name, **NAMED)
        assert found.index.tolist() == LONG["id"].drop_duplicates().tolist()
        order = [wide.index.tolist().index(item) for item in found.index]
        assert found.candidates == wide.candidates[np.array(order)]
        assert found.candidates is not None
        assert found.candidates.answers is not None
        assert wide.candidates.answers is not None
        assert found.candidates.answers.raters == wide.candidates.answers.raters
        np.testing.assert_array_equal(
            found.candidates.answers.codes, wide.candidates.answers.codes[order]
        )
        np.testing.assert_array_equal(found.features, wide.features[order])
        assert found.feature_names == ("wing",)
        assert {n: found.told()[n] for n in ("candidates", "rater", "index")} == {
            **NAMED,
            "candidates": ["said"],
        }


def test_what_differs_between_answers_is_no_feature(tmp_path: Path) -> None:
    LONG.assign(seconds=np.arange(len(LONG)), empty=np.nan, kind=1.5).to_csv(tmp_path / "own.csv")
    with pytest.warns(AmongstWarning) as told:
        found = read_table(tmp_path / "own.csv", **NAMED, ignore=["empty"])
    assert [(w.message.code, w.message.got) for w in told] == [("no-feature", "Unnamed: 0")]  # type: ignore[union-attr]
    assert found.feature_names == ("wing", "kind")


def test_the_last_answer_of_a_rater_counts_and_a_missing_one_does_not(tmp_path: Path) -> None:
    text = "id,who,said,x\n1,a,owl,1\n1,b,NA,1\n1,a,kite,1\n2,b,emu,2\n3,a,,3\n"
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    found = read_table(tmp_path / "own.csv", **NAMED, empty="full").candidates
    assert found is not None
    assert found.to_lists() == [["kite"], ["emu"], ["emu", "kite"]]
    assert found.answers is not None
    assert found.answers.codes.tolist() == [[1, -1], [-1, 0], [-1, -1]]


def test_answers_of_0_and_1_are_labels(tmp_path: Path) -> None:
    """As columns, they would be taken for a 0/1 matrix."""
    text = "id,who,said,x\n1,a,1,1\n1,b,0,1\n2,a,1,2\n2,b,1,2\n"
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    found = read_table(tmp_path / "own.csv", **NAMED).candidates
    assert found is not None
    assert found.to_lists() == [[0, 1], [1]]


@pytest.mark.parametrize(
    ("change", "code", "argument"),
    [
        ({"index": None}, "two-columns", "rater"),
        ({"candidates": ["said", "wing"]}, "two-columns", "rater"),
        ({"candidates": None}, "two-columns", "rater"),
        ({"rater": "whom"}, "no-column", "rater"),
    ],
)
def test_what_is_missing_is_said(
    tmp_path: Path, change: dict[str, Any], code: str, argument: str
) -> None:
    LONG.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "own.csv", **NAMED | change)
    assert (caught.value.code, caught.value.argument) == (code, argument)


def test_a_row_for_each_answer_about_a_photo(tmp_path: Path) -> None:
    for name, _ in TOLD:
        Image.new("RGB", (9, 9)).save(tmp_path / f"{name}.png")
    LONG.assign(id=LONG["id"] + ".png").to_csv(tmp_path / "labels.csv", index=False)
    named = {name: NAMED[name] for name in ("candidates", "rater")}
    first = read_photos(tmp_path, tmp_path / "labels.csv", **named)
    again = read_photos_like(tmp_path, tmp_path / "labels.csv", first.told())
    for found in (first, again):
        assert found.index.tolist() == [f"{name}.png" for name in LONG["id"].drop_duplicates()]
        assert found.candidates == first.candidates


@pytest.mark.parametrize("column", ["id", "who"])
def test_an_empty_cell_is_said(tmp_path: Path, column: str) -> None:
    part = LONG.reset_index(drop=True)
    part.loc[3, column] = None
    part.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "own.csv", **NAMED)
    assert (caught.value.code, caught.value.got) == ("empty-cell", column)
