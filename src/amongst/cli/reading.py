"""A person's file, read as the options name its columns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from amongst.cli.narrowing import split

if TYPE_CHECKING:
    import pandas as pd

    from amongst.candidates import CandidateSets
    from amongst.datasets import Table

__all__ = ["Columns", "apart", "frame_of", "one_or_many", "sets_of"]

Names = list[str] | None
WRITTEN = {r"\n": "\n", r"\t": "\t"}
"""Separators as people write what cannot be seen."""


@dataclass(frozen=True)
class Columns:
    """Columns by their use, as options have them; None where nothing was named.

    >>> Columns(candidates=["species"]).separator
    '|'
    """

    candidates: Names = None
    truth: str | None = None
    features: Names = None
    ignore: Names = None
    index: str | None = None
    separator: str = "|"
    empty: str = "error"
    kind: str = "auto"

    @classmethod
    def of(cls, file: Path, candidates: Names = None, separator: str = "|", **others: Any) -> Self:
        """With the column that is plainly candidate labels, where none was named.

        Several columns may be one value, separated by commas, unless a column has just that name.
        """
        from amongst.datasets.guess import guess_candidates

        separator = WRITTEN.get(separator, separator)
        guessed = None if candidates else guess_candidates(file, separator)
        named = apart(file, candidates) or (None if guessed is None else [guessed])
        lists = {name: apart(file, others.get(name)) for name in ("features", "ignore")}
        return cls(candidates=named, separator=separator, **(others | lists))

    def read(self, file: Path) -> Table:
        """The file by these columns."""
        from amongst.datasets import read_table

        return read_table(file, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """Of `amongst.datasets.read_table`; values that can be hashed."""
        named = {"candidates": one_or_many(self.candidates), "ignore": self.ignore or ()}
        found = asdict(self) | named
        return {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}

    def told(self, file: Path) -> dict[str, Any]:
        """How the file was read, for files that are read with the model."""
        from amongst.datasets.guess import array_kind

        if self.kind != "auto" or not self.candidates:
            return asdict(self)
        return asdict(self) | {"kind": array_kind(file, self.candidates[0])}


def one_or_many(columns: Names) -> str | Names:
    """One column by its name, several as a list.

    >>> one_or_many(["labels"]), one_or_many(["anna", "ben"])
    ('labels', ['anna', 'ben'])
    """
    return columns[0] if columns and len(columns) == 1 else columns


def apart(file: Path, columns: Names) -> Names:
    """Columns of a file; a value that is none, but whose parts between commas are, is these parts."""
    from amongst.datasets.guess import column_names

    if not any("," in name for name in columns or ()):
        return columns
    known = set(column_names(file))
    parts = ((name, split([name])) for name in columns or ())
    meant = (p if name not in known and known.issuperset(p) else (name,) for name, p in parts)
    return [name for part in meant for name in part]


def sets_of(table: Table, file: Path) -> CandidateSets:
    """The candidate sets of a file, which must have some."""
    from amongst.datasets.guess import column_names
    from amongst.errors import InputError

    if table.candidates is None:
        raise InputError(
            f"{file.name} has no column that is plainly candidate labels; name it with "
            f"--candidates. Its columns: {', '.join(map(str, column_names(file)[:12]))}."
        )
    return table.candidates


def frame_of(table: Table) -> pd.DataFrame:
    """The features with their names."""
    import pandas as pd

    return pd.DataFrame(table.features, columns=list(table.feature_names))
