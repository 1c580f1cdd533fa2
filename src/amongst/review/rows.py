"""The rows of a review: what is shown of each, in which order, and their pictures, made small: only of
files that a table names, and only below one folder."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.data.images import file_below, upright
from amongst.errors import InputError, reading
from amongst.optional import optional_import

SHOWN = {"open": None, "skipped": "skip", "decided": "label"}
"""Rows by the decision that counts for them."""
MOST_FEATURES = 60
"""Of a row with more, so many are shown."""
SIDE = 1000
"""Pixels of the longer side of a picture that is shown."""


class Pictures:
    """The picture of each row, as a page shows it, of `side` pixels at most; `names` of files are
    relative to the folder."""

    def __init__(self, folder: Path, names: Sequence[str], side: int = SIDE) -> None:
        self.folder, self.names, self.side = folder.resolve(), names, side
        self.thumbnail = lru_cache(maxsize=64)(self._thumbnail)

    def path(self, row: int) -> Path | None:
        """The file of a row; None where it is no file below the folder."""
        return file_below(self.folder, self.names[row])

    def _thumbnail(self, row: int) -> tuple[str, bytes]:
        """The type and the bytes of a picture whose longer side is `side` at most."""
        image = optional_import("PIL.Image", extra="review", purpose="showing pictures")
        path = self.path(row)
        if path is None:
            problem = f"row {row} names {self.names[row]!r}, which is no file below {self.folder}."
            raise InputError(problem, code="no-file", at=row)
        with reading(path.name, "an image"), image.open(path) as opened:
            size = self.side, self.side
            opened.draft("RGB", size)  # a JPEG is decoded at a part of its size
            opened.thumbnail(size)
            shown = upright(opened)
            lossless = max(shown.size) <= SIDE // 4 or "A" in shown.getbands()
            target = io.BytesIO()
            shown = shown.convert("RGBA" if lossless else "RGB")
            shown.save(target, "PNG" if lossless else "JPEG")
        return f"image/{'png' if lossless else 'jpeg'}", target.getvalue()


@dataclass(frozen=True)
class Wanted:
    """Which rows to look at.

    >>> Wanted(label="owl", high=0.6).show
    'open'
    """

    show: str = "open"
    label: str = ""
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file, with what a model makes of them.

    Attributes
    ----------
    keys : (n,) names.
    sets : their candidate sets.
    shares : (n, K) probability of each class amongst the candidates; 0 outside.
    order : the rows, the one to ask for first at the front.
    features, texts : (n, …) columns that are shown, numbers apart from what is read.
    pictures : of the rows, or None.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> shares = np.array([[1.0, 0.0], [0.6, 0.4]])
    >>> rows = Rows(["a", "b"], as_candidates(["owl", "owl|wren"]), shares, np.array([1, 0]))
    >>> rows.first(Wanted(), {}), rows.first(Wanted(), {"b": "label"})
    (1, 0)
    >>> rows.told(1)["candidates"]
    [{'label': 'owl', 'share': 0.6}, {'label': 'wren', 'share': 0.4}]
    """

    keys: Sequence[str]
    sets: CandidateSets
    shares: npt.NDArray[np.floating[Any]]
    order: npt.NDArray[np.int64]
    features: pd.DataFrame | None = None
    texts: pd.DataFrame | None = None
    pictures: Pictures | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each row by its name."""
        return {key: row for row, key in enumerate(self.keys)}

    @cached_property
    def classes(self) -> list[str]:
        """The labels as text."""
        return [str(label) for label in self.sets.classes.tolist()]

    @cached_property
    def winners(self) -> npt.NDArray[Any]:
        """The likeliest candidate of each row, as text."""
        found: npt.NDArray[Any] = np.array(self.classes, dtype=object)[self.shares.argmax(axis=1)]
        return found

    @cached_property
    def confidence(self) -> npt.NDArray[np.floating[Any]]:
        """Probability of each row's likeliest candidate."""
        found: npt.NDArray[np.floating[Any]] = self.shares.max(axis=1)
        return found

    def first(
        self, wanted: Wanted, actions: Mapping[str, str], after: int | None = None
    ) -> int | None:
        """The first row in order that is wanted, or the first one behind the row `after`, which comes
        last then; `actions` says what was decided on which row."""
        fits = (self.confidence >= wanted.low) & (self.confidence <= wanted.high)
        if wanted.label:
            fits &= self.winners == wanted.label
        start = 0 if after is None else int(np.flatnonzero(self.order == after)[0]) + 1
        order = np.roll(self.order, -start)
        for row in order[fits[order]].tolist():
            if actions.get(self.keys[row]) == SHOWN[wanted.show]:
                return int(row)
        return None

    def has_picture(self, row: int) -> bool:
        """Whether there is a file of the row's picture."""
        return self.pictures is not None and self.pictures.path(row) is not None

    def told(self, row: int) -> dict[str, Any]:
        """What is shown of a row, JSON-ready; candidates from the likeliest down."""
        shares, width = self.shares[row], 0 if self.features is None else self.features.shape[1]
        inside = np.flatnonzero(self.sets[[row]].mask[0])
        inside = inside[np.argsort(-shares[inside], kind="stable")]
        return {
            "row": row,
            "key": self.keys[row],
            "candidates": [
                {"label": self.classes[code], "share": float(shares[code])} for code in inside
            ],
            "texts": _cells(self.texts, row),
            "features": _cells(self.features, row),
            "more_features": max(0, width - MOST_FEATURES),
            "picture": None if self.pictures is None else self.has_picture(row),
        }


def _cells(frame: pd.DataFrame | None, row: int) -> list[tuple[str, str]]:
    if frame is None:
        return []
    cells = frame.iloc[row, :MOST_FEATURES]
    return [(str(name), _text(cell)) for name, cell in cells.items() if cell is not None]


def _text(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell)
