"""A person's file, read as the options name its columns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

    from amongst.candidates import CandidateSets
    from amongst.datasets import Table

__all__ = ["Columns", "frame_of", "one_or_many", "sets_of"]

Names = list[str] | None


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

    @classmethod
    def of(cls, file: Path, candidates: Names = None, separator: str = "|", **others: Any) -> Self:
        """With the column that is plainly candidate labels, where none was named."""
        from amongst.datasets.guess import guess_candidates

        guessed = None if candidates else guess_candidates(file, separator)
        named = candidates or (None if guessed is None else [guessed])
        return cls(candidates=named, separator=separator, **others)

    def read(self, file: Path) -> Table:
        """The file by these columns."""
        from amongst.datasets import read_table

        return read_table(
            file,
            candidates=one_or_many(self.candidates),
            truth=self.truth,
            features=self.features,
            ignore=self.ignore or (),
            index=self.index,
            separator=self.separator,
        )

    def told(self, file: Path) -> dict[str, Any]:
        """How the file was read, for files that are read with the model."""
        from amongst.datasets.guess import array_kind

        kind = array_kind(file, self.candidates[0]) if self.candidates else "auto"
        return asdict(self) | {"kind": kind}


def one_or_many(columns: Names) -> str | Names:
    """One column by its name, several as a list.

    >>> one_or_many(["labels"]), one_or_many(["anna", "ben"])
    ('labels', ['anna', 'ben'])
    """
    return columns[0] if columns and len(columns) == 1 else columns


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
