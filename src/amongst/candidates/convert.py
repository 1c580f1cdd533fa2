"""Whatever people keep candidate labels in becomes `CandidateSets` here, once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, Never, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import (
    AS_ANNOTATORS,
    Cells,
    Note,
    alike,
    check_separator,
    class_array,
    different_cells,
    distinct,
    is_collection,
    is_list_text,
    microseconds,
    not_in_classes,
    plain_labels,
    read_cell,
    suspect_classes,
    suspect_mask,
    suspect_separator,
    suspect_votes,
    unmasked,
    whole,
    whole_numbers,
    wrong,
    zeros_and_ones,
)
from amongst.candidates.container import CandidateSets
from amongst.candidates.marks import (
    Hierarchy,
    expanded,
    leaves,
    read_note,
    with_marks,
    without_excluded,
)
from amongst.candidates.masks import (
    Known,
    from_mask,
    from_weights,
    has_fractions,
    kind_of_table,
)
from amongst.candidates.raters import Answers, RaterLaw, as_rated
from amongst.checks import check_choice, check_sparse, on_host
from amongst.errors import named

Kind = Literal["auto", "mask", "sets", "labels", "strings", "annotators", "votes"]
Empty = Literal["error", "full", "keep"]


def as_candidates(
    y: Any,
    classes: Iterable[Hashable] | None = None,
    *,
    kind: Kind = "auto",
    separator: str = "|",
    empty: Empty = "error",
    hierarchy: Hierarchy | None = None,
    raters: RaterLaw = "votes",
) -> CandidateSets:
    """Turn candidate labels in any common form into `CandidateSets`.

    Parameters
    ----------
    y : one of
        * a 0/1 or bool matrix n×K, dense or scipy sparse, or such a DataFrame (``kind="mask"``);
        * a list of sets, lists or tuples of labels, ragged or not (``"sets"``). Lists stay sets
          of labels even where they are rows of zeros and ones, as ``mask.tolist()`` is: if labels
          repeat within such rows, a warning says to give ``np.asarray(y)``;
        * ordinary labels, one a row: singleton sets (``"labels"``);
        * strings such as ``"cat|dog"``, or lists as text, ``'["cat", "dog"]'`` (``"strings"``);
        * a 2-d array or DataFrame of labels, one column for each annotator: the row's set is the
          union, each answer a vote for its labels, and who said what is kept in `answers`. Missing
          answers (None, NaN) are skipped, and strings are read as above (``"annotators"``); a single
          column is read as the 1-d array that it holds;
        * weights (``"votes"``): dicts such as ``{"cat": 0.7, "dog": 0.3}``, also as text, records of
          ``label`` and ``confidence``, strings such as ``"cat:3|dog:1"``, where ``"!cat"`` is any
          class but cat, or a matrix n×K of counts or probabilities. A matrix that holds fractions is
          one. In strings ``:3`` and ``!`` are plain where `classes` are named; where they are
          likely, they are read so with a warning. ``kind="strings"`` takes labels as they stand;
        * `CandidateSets`, which pass through.
    classes : the K class labels in the order of the columns; found in `y` if None
        (sorted where they can be). A date of NumPy or pandas is the same label as Python's.
    kind : which of these `y` is; ``"auto"`` looks at it. A 2-d array of zeros and ones is read as
        a mask: say ``kind="annotators"`` if the numbers are labels.
    separator : between the labels of a string.
    empty : an empty set is an ``"error"``, or means no information: ``"full"``; or ``"keep"``, for rows
        that are to be dropped: no estimator takes them.
    hierarchy : the children of each parent, ``{"mammal": ["cat", "dog"]}``, who may be parents, too: a
        parent's name stands for the classes below it, which share its weight.
    raters : how the answers of annotators become weights: each a vote (``"votes"``), or by how far
        each annotator is to be trusted, which the answers tell (``"dawid-skene"``, or ``"one-coin"``
        for few rows): then the weights are the posterior; see `Answers.fit`.

    Returns
    -------
    CandidateSets

    Examples
    --------
    >>> as_candidates(["cat:3|dog:1", "!cat"], kind="votes").to_dicts()
    [{'cat': 0.75, 'dog': 0.25}, {'dog': 1.0}]
    >>> as_candidates([{0, 2}, {1}, {0, 1, 2}]).mask.astype(int)
    array([[1, 0, 1],
           [0, 1, 0],
           [1, 1, 1]])
    >>> votes = [["owl", "owl", "kite"], ["kite", None, "kite"]]
    >>> as_candidates(votes, kind="annotators").to_lists()
    [['kite', 'owl'], ['kite']]
    >>> as_candidates([["a"], []])
    Traceback (most recent call last):
    amongst.errors.InputError: y[1] is an empty candidate set; every row needs at least one label. Drop the row, or pass empty='full' if any label may be right.
    """
    how = _How(_classes(classes), kind, separator, empty, hierarchy, raters)
    if isinstance(y, CandidateSets):
        return how.finished(y if how.known is None else y.over(how.known))
    if sp.issparse(y):
        check_sparse("y", y)
        weighted = kind == "votes" or (kind == "auto" and has_fractions(y.data))
        return how.finished((from_weights if weighted else from_mask)(sp.csr_array(y), how.known))
    y = _on_hand(y)
    if kind not in ("mask", "annotators", "votes"):
        y = _one_column(y, kind)
    if kind == "auto":
        how = replace(how, kind=_guess(y), guessed=True)
    if how.kind == "mask":
        sets = from_mask(y, how.known)
    elif how.kind == "votes" and _is_table(y) and not _holds_text(y):
        sets = from_weights(y, how.known)
    elif how.kind == "labels" and hierarchy is None:
        sets = _from_labels(y, how)
    else:
        sets = _from_cells(_table(y, how.kind), how, _names(y))
    return how.suspected(sets)


def from_columns(
    frame: pd.DataFrame,
    classes: Iterable[Hashable] | None = None,
    *,
    kind: Kind = "auto",
    separator: str = "|",
    empty: Empty = "error",
    hierarchy: Hierarchy | None = None,
    raters: RaterLaw = "votes",
) -> CandidateSets:
    """As `as_candidates`, of columns of a file: there, labels that are all whole numbers are numbers,
    so that ``"1|2"`` and a true label ``1`` meet.

    >>> from_columns(pd.DataFrame({"labels": ["3|1", "1"]})).to_lists()
    [[1, 3], [1]]
    """
    several = frame.shape[1] > 1
    if kind == "mask" or (kind == "auto" and several and zeros_and_ones(frame) is not None):
        return as_candidates(frame, classes, kind=kind, empty=empty, raters=raters)
    how = _How(_classes(classes), kind, separator, empty, hierarchy, raters, in_file=True)
    weights = _weight_columns(frame, kind) if several else None
    if weights is not None:
        return how.finished(from_weights(weights, how.known))
    found = kind if kind in ("labels", "votes") else "annotators" if several else "strings"
    how = replace(how, kind=found, guessed=kind == "auto")
    return how.suspected(_from_cells(frame.to_numpy(dtype=object), how, _names(frame)))


@dataclass(frozen=True)
class _How:
    """How cells are read, and what becomes of empty sets and of answers."""

    known: Known
    kind: str
    separator: str
    empty: str
    hierarchy: Hierarchy | None
    raters: RaterLaw
    guessed: bool = False
    in_file: bool = False

    def __post_init__(self) -> None:
        for name, options in (("kind", Kind), ("empty", Empty), ("raters", RaterLaw)):
            check_choice(name, getattr(self, name), get_args(options))
        check_separator(self.separator)
        if self.hierarchy is not None:
            leaves(self.hierarchy, self.listed)

    @property
    def listed(self) -> list[Any] | None:
        return None if self.known is None else self.known.tolist()

    def suspected(self, sets: CandidateSets) -> CandidateSets:
        """Finished, and classes that nobody named looked at."""
        if self.known is None:
            suspect_classes(sets.classes)
        return self.finished(sets)

    def finished(self, sets: CandidateSets) -> CandidateSets:
        """With empty sets full or refused, and with answers weighed."""
        rows = np.flatnonzero(sets.sizes == 0)
        if len(rows) and self.empty != "keep":
            sets = _filled(sets, rows) if self.empty == "full" else self._refused(rows)
        return sets if self.raters == "votes" else as_rated(sets, self.raters)

    def _refused(self, rows: npt.NDArray[np.int64]) -> Never:
        more = f" ({len(rows)} rows are empty)" if len(rows) > 1 else ""
        problem = f"is an empty candidate set; every row needs at least one label{more}."
        full = [f"pass {named('empty', 'full')} if any label may be right"]
        if self.guessed and self.kind == "mask":
            full += [f"{AS_ANNOTATORS} if the columns are annotators, who answered 0 or 1"]
        drop = f"pass {named('empty', 'drop')} to leave such rows out"
        remedy = {"python": ("drop the row", *full), "command": (drop, *full)}
        raise wrong("empty-set", problem, remedy, int(rows[0]))


def _classes(given: Iterable[Hashable] | None) -> Known:
    return None if given is None else distinct(list(given))


def _filled(sets: CandidateSets, rows: npt.NDArray[np.int64]) -> CandidateSets:
    """These rows with all classes."""
    if not sets.n_classes:
        problem = "has no label in any row, and so no classes. Give some rows a label."
        raise wrong("no-classes", problem)
    mask = sets.to_mask()
    mask[rows] = True
    weights = None if sets.weights is None else sets.prior.copy()
    if weights is not None:
        weights[rows] = 1 / sets.n_classes
    return CandidateSets(mask, sets.classes, weights, sets.answers)


def _weight_columns(frame: pd.DataFrame, kind: str) -> pd.DataFrame | None:
    """Columns of numbers, a class each: said to be votes, or some between 0 and 1 and none beyond."""
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    if numbers.isna().to_numpy().any() and not (frame.isna() == numbers.isna()).to_numpy().all():
        return None
    parts = numbers.to_numpy()[numbers.notna().to_numpy()]
    shares = bool(((parts >= 0) & (parts <= 1)).all() and ((parts > 0) & (parts < 1)).any())
    return numbers if kind == "votes" or (kind == "auto" and shares) else None


def _on_hand(y: Any) -> Any:
    """On the host, of NumPy, pandas or Python, with None where an entry is missing."""
    y = unmasked(on_host(y))
    if hasattr(y, "to_pandas") and hasattr(y, "columns"):
        y = y.to_pandas()  # a table of Arrow or polars, whose columns may be the classes
    if hasattr(y, "__array__") and not isinstance(y, np.ndarray | pd.DataFrame | pd.Series):
        y = np.asarray(y)  # a tensor would give its numbers as tensors, of which no two are equal
    return y


def _is_table(y: Any) -> bool:
    return isinstance(y, pd.DataFrame | np.ndarray) and y.ndim == 2


def _holds_text(y: Any) -> bool:
    values = np.asarray(y)
    return values.dtype.kind not in "biuf" and any(isinstance(v, str) for v in values.flat)


def _names(y: Any) -> list[Any]:
    """Of the columns; of an array their numbers."""
    return (
        list(y.columns)
        if isinstance(y, pd.DataFrame)
        else [*range(y.shape[1])]
        if _is_table(y)
        else []
    )


def _one_column(y: Any, kind: str) -> Any:
    """A frame or array of one column as that column; several cannot be of such a kind."""
    if _is_table(y) and y.shape[1] == 1:
        return y.iloc[:, 0] if isinstance(y, pd.DataFrame) else y[:, 0]
    if _is_table(y) and kind != "auto":
        problem = f"has {y.shape[1]} columns, but {named('kind', kind)} needs one."
        remedy = "take one of them", AS_ANNOTATORS, f"pass {named('kind', 'mask')}"
        raise wrong("several-columns", problem, remedy)
    return y


def is_annotators(y: Any) -> bool:
    """Whether `as_candidates` reads this as a column for each annotator, if nobody says what it is."""
    return _is_table(y) and y.shape[1] > 1 and _guess(y) == "annotators"


def _guess(y: Any) -> str:
    """Which kind of thing `y` is."""
    if _is_table(y):
        found = kind_of_table(y)
        if found == "counts":
            problem = (
                f"has whole numbers in {y.shape[1]} columns, and those of a row are equal no more often than "
                "by chance: they look like votes for as many classes, not like the answers of annotators."
            )
            remedies = f"pass {named('kind', 'votes')}", f"{named('kind', 'annotators')}"
            raise wrong("perhaps-counts", problem, remedies)
        return found
    remedy = "Give one entry for each row: a list of sets, a 0/1 matrix, or labels."
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise wrong("shape", f"has {y.ndim} dimensions.", remedy)
    if isinstance(y, str | Mapping | Set) or not hasattr(y, "__len__"):
        raise wrong("no-rows", f"is {y!r} of type {type(y).__name__}.", remedy)
    items = list(y)
    if any(isinstance(item, Mapping) or _holds(item, Mapping) for item in items):
        return "votes"
    if any(map(is_collection, items)):
        return "sets"
    return "strings" if any(isinstance(item, str) for item in items) else "labels"


def _from_labels(y: Any, how: _How) -> CandidateSets:
    """One label a row: a short way where NumPy has a type for whole numbers or strings."""
    values = _flat(unmasked(y))
    if values.dtype.kind in "mM":
        values = np.fromiter(plain_labels(values), dtype=object, count=len(values))
    if values.dtype.kind in "fO":
        return _from_cells(values.astype(object)[:, None], replace(how, guessed=False), [])
    classes = np.unique(values) if how.known is None else how.known
    parts = np.ones(len(values), bool), _encode(values.tolist(), classes), range(len(values) + 1)
    members = sp.csr_array(parts, shape=(len(values), len(classes)))
    return CandidateSets(members.toarray(), classes)


def _flat(labels: Any) -> npt.NDArray[Any]:
    """Labels in one dimension; whole numbers beyond 64 bits stay whole."""
    try:
        array = np.asarray(labels)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 and array.shape[1:] != (1,):
        problem = f"holds several labels in a row, but {named('kind', 'labels')} means one."
        raise wrong("several-labels", problem, f"Pass {named('kind', 'sets')}.")
    if array.dtype.kind == "f" and isinstance(labels, list | tuple):
        array = np.array(labels, dtype=object)
    return array.reshape(-1)


def _table(y: Any, kind: str) -> npt.NDArray[Any]:
    """The entries as a table of objects: a column for each annotator, else one."""
    if kind != "annotators" and not _is_table(y):
        rows = list(y)
        return np.fromiter(rows, dtype=object, count=len(rows))[:, None]
    if isinstance(y, pd.DataFrame):
        table: npt.NDArray[Any] = y.to_numpy(dtype=object)
        return table
    y = microseconds(y) if isinstance(y, np.ndarray) else y
    listed = [list(row) if is_collection(row) else [row] for row in y]
    table = np.full((len(listed), max(map(len, listed), default=0)), None, dtype=object)
    for index, row in enumerate(listed):
        table[index, : len(row)] = row
    return table


def _from_cells(table: npt.NDArray[Any], how: _How, names: list[Any]) -> CandidateSets:
    """For each row of a table the labels of its cells; each different cell is read once."""
    cells, several = different_cells(table), table.shape[1] > 1
    notes = _notes(table, cells, how)
    if how.hierarchy:
        notes = expanded(notes, how.hierarchy, how.listed)
    if several or how.kind == "annotators":
        notes = _relabelled(notes, lambda rows: [list(map(whole, row)) for row in rows])
    if how.in_file or how.kind in ("strings", "votes"):
        notes = _relabelled(notes, lambda rows: _of_one_type(rows, how.known, how.in_file))
    stated = {label for note in notes for label in (*note.labels, *note.excluded)}
    classes = class_array(_ordered(stated)) if how.known is None else how.known
    if any(note.excluded for note in notes):
        notes = without_excluded(notes, classes.tolist(), cells.first.tolist())
    members = _members([note.labels for note in notes], cells.first, classes)
    mask = (cells.of_rows.astype(bool) @ members).toarray()
    if not several and all(note.weights is None for note in notes):
        return CandidateSets(mask, classes)
    shares = list(chain.from_iterable(note.shares() for note in notes))
    parts = np.array(shares, dtype=np.float64), members.indices, members.indptr
    weights = cells.of_rows @ sp.csr_array(parts, shape=members.shape)
    answers = _answers(cells, members, names) if several else None
    return CandidateSets(mask, classes, weights.toarray(), answers)


def _notes(table: npt.NDArray[Any], cells: Cells, how: _How) -> list[Note]:
    """What the different cells say, with warnings of what is likely meant otherwise."""
    several = table.shape[1] > 1
    notes = [_note(cell, row, how) for cell, row in cells]
    labels = [note.labels for note in notes]
    if how.known is None and how.kind in ("strings", "annotators"):
        suspect_separator(labels, how.separator)
    if how.guessed and several:
        suspect_votes(table, labels)
    if how.guessed and how.kind == "sets":
        suspect_mask(labels)
    marked = how.guessed and how.kind == "strings"
    if not (marked or how.kind in ("annotators", "votes")):
        return notes
    texts = (text for found in labels for text in found if isinstance(text, str))
    if not any(":" in text or "!" in text for text in texts):
        return notes
    names = {*map(str, (*(how.listed or ()), *(how.hierarchy or ())))}
    first, surely = cells.first.tolist(), how.known is not None
    return with_marks(notes, names, first, said=how.kind == "votes", surely=surely)


def _note(cell: Any, row: int, how: _How) -> Note:
    is_text = isinstance(cell, str)
    if how.kind == "strings" and not (how.in_file or is_text):
        problem = f"is {cell!r}, no string, while others are: mixed types."
        raise wrong("mixed-types", problem, "Make all of them strings.", row, cell)
    if how.kind == "labels":
        cell = cell.strip() or None if how.in_file and is_text else cell
        cell = None if cell is None else [cell]
    if is_list_text(cell) or isinstance(cell, Mapping) or _holds(cell, (Mapping, list)):
        return read_note(cell, how.separator, row)
    return Note(read_cell(cell, how.separator, row))


def _holds(cell: Any, kinds: Any) -> bool:
    return isinstance(cell, list | tuple) and any(isinstance(item, kinds) for item in cell)


def _relabelled(
    notes: list[Note], change: Callable[[list[list[Any]]], list[list[Any]]]
) -> list[Note]:
    """The notes with all labels changed together, so that they stay of one type."""
    changed = iter(change([part for note in notes for part in (note.labels, note.excluded)]))
    return [replace(note, labels=next(changed), excluded=next(changed)) for note in notes]


def _answers(cells: Cells, members: sp.csr_array, names: list[Any]) -> Answers:
    """Who said what, where a cell holds one label."""
    bounds = members.indptr
    code = np.full(len(cells.different) + 1, -1)
    alone = np.flatnonzero(np.diff(bounds) == 1)
    code[alone] = members.indices[bounds[alone]]
    width = cells.codes.shape[1]
    return Answers(code[cells.codes], tuple(names or range(width)))


def _of_one_type(labels: list[list[Any]], known: Known, in_file: bool) -> list[list[Any]]:
    """Numbers where all can be; of a file, text where the classes are text, though all of these may
    be numbers."""
    if not in_file:
        texts = all(isinstance(label, str) for label in chain.from_iterable(labels))
        return labels if texts else alike(labels)
    if known is None:
        return alike(labels)
    if len(known) and all(isinstance(label, str) for label in known.tolist()):
        return [list(map(str, found)) for found in labels]
    return [[whole_numbers([label])[0] for label in found] for found in labels]


def _members(
    labels: list[list[Any]], rows: npt.NDArray[np.int64], classes: npt.NDArray[Any]
) -> sp.csr_array:
    """Lists of labels as a sparse mask; `rows` are for messages."""
    flat, sizes = list(chain.from_iterable(labels)), [len(found) for found in labels]
    columns = _encode(flat, classes, np.repeat(rows, sizes))
    parts = np.ones(len(flat), dtype=bool), columns, np.cumsum([0, *sizes])
    return sp.csr_array(parts, shape=(len(labels), len(classes)))


def _encode(
    labels: list[Any], classes: npt.NDArray[Any], row_of: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.int64]:
    column = {label: code for code, label in enumerate(classes.tolist())}
    try:
        return np.array([column[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        unknown = error.args[0]
    at = labels.index(unknown)
    raise not_in_classes(at if row_of is None else int(row_of[at]), unknown, classes)


def _ordered(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
