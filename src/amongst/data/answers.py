"""A table with a row for each answer: who said what of which item."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.data.columns import Columns, row_names
from amongst.errors import AmongstWarning, InputError, named, warn


def by_item(
    path: Path, frame: pd.DataFrame, columns: Columns
) -> tuple[pd.DataFrame, pd.DataFrame, npt.NDArray[np.int64]]:
    """The items, a row each in the order of the file; their answers, a column for each rater; and where
    in the file each item stands first.

    What differs between the answers to an item, such as the time that they took, is no feature and is
    left out. Of several answers of a rater to an item the last one counts.

    >>> frame = pd.DataFrame({"id": [1, 1, 2], "who": ["ann", "ben", "ann"], "said": ["owl", "kite", "owl"]})
    >>> columns = Columns(("said",), index="id", rater="who")
    >>> by_item(Path("birds.csv"), frame, columns)[1]
       ann   ben
    0  owl  kite
    1  owl   NaN
    """
    answer, rater = _named(columns)
    item, names = pd.factorize(row_names(frame, columns.index))
    for name, missing in {columns.index: item < 0, rater: frame[rater].isna()}.items():
        if missing.any():
            problem = f"{path}: the column {name!r} is empty in row {int(missing.argmax())}."
            raise InputError(problem, code="empty-cell", got=name, remedy="Fill it in.")
    first = np.unique(item, return_index=True)[1]
    items = frame.iloc[first]
    again = items.iloc[item].set_axis(frame.index)
    odd = [n for n in frame if n not in columns.taken and not frame[n].equals(again[n])]
    if odd and columns.features is None:
        shown = ", ".join(map(repr, odd))
        problem = (
            f"{path}: not the same in all rows of one {columns.index!r}, so left out: {shown}."
        )
        warn(AmongstWarning(problem, code="no-feature", got=odd[0]))
        items = items.drop(columns=odd)
    told = pd.DataFrame({"item": item, "rater": frame[rater], "answer": frame[answer]}).dropna()
    told = told.drop_duplicates(["item", "rater"], keep="last")
    wide = told.pivot(index="item", columns="rater", values="answer").reindex(range(len(names)))
    return items, wide.rename_axis(index=None, columns=None), first


def _named(columns: Columns) -> tuple[str, str]:
    """The columns of answers and of raters."""
    answers = columns.candidates or ()
    if len(answers) != 1 or columns.index is None or columns.rater is None:
        problem = "is for a file with a row for each answer, which needs two columns more."
        remedy = f"Name one of answers with {named('candidates')}, and one of what was rated with {named('index')}."
        raise InputError(problem, code="two-columns", argument="rater", remedy=remedy)
    return answers[0], columns.rater
