"""Which column of a file holds the candidate labels, where it is plain."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import is_list_text
from amongst.datasets.arrays import feature_key, read_npz
from amongst.datasets.frames import (
    existing_file,
    read_csv_frame,
    read_parquet_frame,
    table_format,
)
from amongst.datasets.labels import Kind
from amongst.datasets.mat import read_mat

__all__ = ["ARRAYS", "LIKELY_NAMES", "array_kind", "column_names", "guess_candidates"]

LIKELY_NAMES = ("candidates", "candidate_labels", "candidate labels", "labels", "partial_target")
"""Names that people give to such a column."""

ARRAYS = ("mat", "npz")
"""Formats of `table_format` that hold arrays by name, not columns."""


def guess_candidates(path: str | Path, separator: str = "|") -> str | None:
    """The one column in which some cell is a list or has the separator, or one with a likely name.

    Of an NPZ or MATLAB file: the array with a likely name, or the only 0/1 matrix besides the
    features. None where it is not plain, and for a MATLAB file in the field's layout, which its
    reader knows.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing,seen\\n10,owl|kite\\n12,kite\\n")
    >>> guess_candidates(file)
    'seen'
    """
    file = existing_file(path)
    if table_format(file) in ARRAYS:
        return _guess_array(file)
    frame = _frame(file)
    joined = [name for name in frame.columns if _has(frame[name], separator)]
    if len(joined) == 1:
        return str(joined[0])
    return next((name for name in LIKELY_NAMES if name in frame.columns), None)


def column_names(path: str | Path) -> list[str]:
    """What `candidates=` and `truth=` can name: a table's columns, or the arrays of a file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "own.npz"
    >>> np.savez(file, X=np.eye(2), Y=np.eye(2))
    >>> column_names(file), guess_candidates(file)
    (['X', 'Y'], 'Y')
    """
    file = existing_file(path)
    found = _arrays(file) if table_format(file) in ARRAYS else _frame(file)
    return [str(name) for name in found]


def array_kind(path: str | Path, name: str) -> Kind:
    """What an array of candidates is, so that other files with few rows are read alike: columns of
    annotators, or what looking at it says. Columns of a table have names, and need no such memory.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "own.npz"
    >>> np.savez(file, X=np.eye(2), votes=[[0, 1], [2, 0]], mask=[[0, 1], [1, 0]])
    >>> array_kind(file, "votes"), array_kind(file, "mask")
    ('annotators', 'auto')
    """
    file = existing_file(path)
    arrays = _arrays(file) if table_format(file) == "npz" else {}
    if name not in arrays or arrays[name].ndim != 2 or arrays[name].shape[1] < 2:
        return "auto"
    return "auto" if _is_mask(arrays[name], len(arrays[name])) else "annotators"


def _guess_array(file: Path) -> str | None:
    arrays = _arrays(file)
    if table_format(file) == "mat" and "partial_target" in arrays:
        return None
    likely = [name for name in LIKELY_NAMES if name in arrays]
    features = feature_key(arrays, likely)
    n = (*arrays[features].shape, -1)[0] if features is not None else -1
    free = [name for name in arrays if name != features and _is_mask(arrays[name], n)]
    return likely[0] if likely else free[0] if len(free) == 1 else None


def _arrays(file: Path) -> dict[str, Any]:
    return read_npz(file) if table_format(file) == "npz" else read_mat(file)


def _is_mask(array: Any, n: int) -> bool:
    """Whether an array is a 0/1 matrix of several classes with a side of n."""
    if array.ndim != 2 or n not in array.shape or min(array.shape) < 2:
        return False
    values = array.data if sp.issparse(array) else array
    return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())


def _frame(file: Path) -> pd.DataFrame:
    if table_format(file) == "parquet":
        return read_parquet_frame(file)
    return read_csv_frame(file, text=(), answers=())


def _has(column: pd.Series, separator: str, rows: int = 1000) -> bool:
    """Whether some of the first cells is a list, or a string with the separator."""
    for cell in islice(column, rows):
        if isinstance(cell, list | tuple | np.ndarray):
            return True
        if isinstance(cell, str) and (separator in cell or _is_list(cell)):
            return True
    return False


def _is_list(cell: str) -> bool:
    """In brackets; round ones are as often a remark."""
    return is_list_text(cell) and not cell.lstrip().startswith("(")
