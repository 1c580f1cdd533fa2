"""Which column of a file holds the candidate labels, where it is plain."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from amongst.datasets.arrays import read_npz
from amongst.datasets.frames import existing_file, read_csv_frame, read_parquet_frame

__all__ = ["LIKELY_NAMES", "guess_candidates"]

LIKELY_NAMES = ("candidates", "candidate_labels", "candidate labels", "labels", "partial_target")
"""Names that people give to such a column."""


def guess_candidates(
    path: str | Path, separator: str = "|", names: Sequence[str] = LIKELY_NAMES
) -> str | None:
    """The one column in which some cell has the separator, or one with a likely name; else None.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing,seen\\n10,owl|kite\\n12,kite\\n")
    >>> guess_candidates(file)
    'seen'
    """
    file = existing_file(path)
    if file.suffix == ".mat":
        return None  # its reader knows the usual keys
    if file.suffix == ".npz":
        return next((name for name in names if name in read_npz(file)), None)
    frame = _frame(file)
    joined = [name for name in frame.columns if _has(frame[name], separator)]
    if len(joined) == 1:
        return str(joined[0])
    return next((name for name in names if name in frame.columns), None)


def _frame(file: Path) -> pd.DataFrame:
    if file.suffix == ".parquet":
        return read_parquet_frame(file)
    return read_csv_frame(file, text=(), answers=())


def _has(column: pd.Series, separator: str, rows: int = 1000) -> bool:
    """Whether some of the first cells is a list, or a string with the separator."""
    for cell in islice(column, rows):
        if isinstance(cell, list | tuple | np.ndarray):
            return True
        if isinstance(cell, str) and separator in cell:
            return True
    return False
