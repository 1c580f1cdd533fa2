"""Reviewed labels as they go back into a training: as certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates import CandidateSets
from amongst.data import Table
from amongst.data.frames import open_table
from amongst.errors import FileFormatError, InputError
from amongst.review.decisions import check_same_file, file_digest

Places = npt.NDArray[np.int64]
NEEDED = ("row", "label", "row_is", "file_sha256")


def row_keys(table: Table) -> list[str]:
    """What rows are called in decisions: the names of the index column, else their numbers."""
    if table.columns.index is None:
        return list(map(str, table.places))
    keys = pd.Series([str(name) for name in table.index])
    if keys.duplicated().any():
        row = int(keys.duplicated().argmax())
        problem = f"names several rows {keys[row]!r}; each row needs a name of its own."
        raise InputError(problem, code="twice", argument="index", got=table.columns.index)
    found: list[str] = keys.tolist()
    return found


def reviewed_sets(table: Table, file: Path, reviewed: Path) -> CandidateSets:
    """The candidate sets of a table, those of reviewed rows replaced by the label that was chosen.

    Parameters
    ----------
    table : what was read from `file`, with candidate sets.
    file : the file that was reviewed.
    reviewed : the CSV that a review exports.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.data import read_table
    >>> from amongst.review import Decisions
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing,labels\\n10,owl|kite\\n12,kite\\n")
    >>> kept = Decisions(file.with_name("birds.sqlite"), file_digest(file))
    >>> _ = kept.add("0", 0, "label", "owl", who="ann")
    >>> kept.export().to_csv(file.with_name("reviewed.csv"), index=False)
    >>> table = read_table(file, candidates="labels")
    >>> reviewed_sets(table, file, file.with_name("reviewed.csv")).to_lists()
    [['owl'], ['kite']]
    """
    assert table.candidates is not None
    frame = _read(reviewed)
    if not len(frame):
        return table.candidates
    by_name = frame["row_is"].iloc[0] == "name"
    if by_name and table.columns.index is None:
        problem = f"{reviewed} knows rows by their names; name the column that has them."
        raise InputError(problem, code="no-index", argument="index")
    if set(frame["file_sha256"]) != {file_digest(file)}:
        check_same_file(reviewed, by_name)
    if frame["row"].duplicated().any():
        row = frame["row"][frame["row"].duplicated()].iloc[0]
        problem = f"{reviewed} has row {row} more than once; keep one of the lines."
        raise InputError(problem, code="twice", argument="reviewed", got=str(row))
    keys = row_keys(table) if by_name else list(map(str, table.places))
    rows = _places(frame["row"], keys, reviewed, "row", "row")
    labels = [str(label) for label in table.candidates.classes.tolist()]
    codes = _places(frame["label"], labels, reviewed, "label", "class")
    sets = table.candidates
    weights = None if sets.weights is None else _replaced(sets.weights, rows, codes)
    return CandidateSets(_replaced(sets.members, rows, codes), sets.classes, weights)


def _read(reviewed: Path) -> pd.DataFrame:
    file = open_table(reviewed, header=True)
    missing = [name for name in NEEDED if name not in file.names]
    if missing:
        problem = f"{reviewed} has no column {missing[0]!r}; it is not what a review exports."
        raise FileFormatError(problem, code="no-column")
    return file.parse(file.names, ())  # type: ignore[union-attr]


def _places(column: pd.Series, known: list[str], reviewed: Path, name: str, noun: str) -> Places:
    """Where each cell stands in what is known."""
    place = {text: at for at, text in enumerate(known)}
    found = [place.get(str(cell), -1) for cell in column]
    if -1 in found:
        line = found.index(-1)
        got = str(column.iloc[line])
        problem = (
            f"{reviewed}: line {line + 2} has the {name} {got!r}, which is no {noun} of the file."
        )
        raise InputError(problem, code=f"no-{name}", argument="reviewed", got=got)
    return np.array(found, dtype=np.int64)


def _replaced(values: Any, rows: Places, codes: Places) -> Any:
    """The mask or the weights with 1 for the label that was chosen for a row, and 0 for its others."""
    changed = values.tolil() if sp.issparse(values) else values.copy()
    changed[rows] = 0
    changed[rows, codes] = 1
    return sp.csr_array(changed) if sp.issparse(values) else changed
