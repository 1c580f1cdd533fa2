"""One's own data: the one place that reads a table, and one like that which a model was fitted on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.marks import Hierarchy
from amongst.candidates.raters import RaterLaw
from amongst.data.answers import by_item
from amongst.data.arrays import PARTIAL_TARGET, TARGET, ArrayFile, parts_of_arrays
from amongst.data.columns import (
    Columns,
    EmptyRows,
    Kind,
    LabelOptions,
    Outside,
    apart,
    check_inside,
    column_candidates,
    feature_columns,
    is_plain,
    names_of,
    no_column,
    numeric,
    row_names,
    true_labels,
)
from amongst.data.frames import ColumnFile, open_table
from amongst.errors import AmongstWarning, FileFormatError, InputError, named, warn
from amongst.wording import counted

Names = tuple[str, ...] | None

NOTES: Mapping[str, type] = (
    dict.fromkeys(("candidates", "features", "ignore"), list)
    | dict.fromkeys(("truth", "index", "separator", "empty", "kind", "raters", "rater"), str)
    | {"hierarchy": dict, "header": bool}
)
"""What a model keeps of how its file was read."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A person's own data.

    Attributes
    ----------
    features : (n, d) float32 or float64, finite; objects of a table that is `mixed`.
    feature_names : d names.
    candidates : the candidate sets of the rows, or None where the file has none.
    truth : (n,) true labels, or None; for evaluation only.
    index : (n,) names of the rows: the index column, or else the index that pandas kept in a
        Parquet file, or 0 … n−1.
    columns : which columns were what, those that were found included.
    found : the columns that nobody named, each with the reason: ``"guess"``, or ``"layout"`` of a
        MATLAB file as the field has them.
    mixed : the feature columns as the file has them, where some are not plain numbers; else None.
    rows : (n,) numbers of the rows in the file; None for all of them.
    others : the columns of the file that are neither features nor candidates; None of arrays.

    Examples
    --------
    >>> Table(np.eye(2), ("wing", "weight"), None, None, np.arange(2))
    Table(n=2, d=2, candidates=None)
    """

    features: npt.NDArray[Any]
    feature_names: tuple[str, ...]
    candidates: CandidateSets | None
    truth: npt.NDArray[Any] | None
    index: npt.NDArray[Any]
    columns: Columns = field(default_factory=Columns)
    found: Mapping[str, str] = field(default_factory=dict)
    mixed: pd.DataFrame | None = None
    rows: npt.NDArray[np.int64] | None = None
    others: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        n, d = self.features.shape
        truth = "" if self.truth is None else ", with true labels"
        return f"Table(n={n}, d={d}, candidates={self.candidates}{truth})"

    @property
    def frame(self) -> pd.DataFrame:
        """The features with their names."""
        if self.mixed is not None:
            return self.mixed
        return pd.DataFrame(self.features, columns=list(self.feature_names))

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """The number of each row in the file, shape (n,).

        >>> Table(np.eye(2), ("wing", "weight"), None, None, np.arange(2)).places.tolist()
        [0, 1]
        """
        return np.arange(len(self)) if self.rows is None else self.rows

    @property
    def metric(self) -> Literal["accuracy", "covering"]:
        """What predictions are judged by: true labels where there are some, else candidates.

        >>> Table(np.eye(2), ("wing", "weight"), None, None, np.arange(2)).metric
        'covering'
        """
        return "covering" if self.truth is None else "accuracy"

    def told(self) -> dict[str, Any]:
        """How it was read, JSON-ready, for files that are read with a model of it (`read_like`)."""
        of_layout = {name for name, why in self.found.items() if why == "layout"}
        told: dict[str, Any] = {name: getattr(self.columns, name) for name in NOTES}
        told["candidates"] = [name for name in told["candidates"] or () if name not in of_layout]
        told["truth"] = None if told["truth"] in of_layout else told["truth"]
        return {
            n: None if told[n] in (None, (), []) else kind(told[n]) for n, kind in NOTES.items()
        }


class TableOptions(LabelOptions, total=False):
    """What `read_table` and the loaders of one format accept; see `read_table`."""

    candidates: str | Sequence[str] | None
    truth: str | None
    features: str | Sequence[str] | None
    ignore: str | Sequence[str]
    index: str | None
    outside: Outside
    guess: bool
    header: bool | None


def read_table(
    path: str | Path,
    *,
    candidates: str | Sequence[str] | None = None,
    truth: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: str | Sequence[str] = (),
    index: str | None = None,
    separator: str = "|",
    kind: Kind = "auto",
    classes: Iterable[Hashable] | None = None,
    empty: EmptyRows = "error",
    outside: Outside = "error",
    guess: bool = False,
    hierarchy: Hierarchy | str | Path | None = None,
    raters: RaterLaw = "votes",
    rater: str | None = None,
    header: bool | None = None,
    mixed: bool = False,
) -> Table:
    """Read features and candidate labels from a CSV, TSV, Parquet, NPZ or MATLAB file.

    Parameters
    ----------
    path : file; its ending says the format (``.csv``, ``.tsv``, either with ``.gz``,
        ``.parquet``, ``.npz``, ``.mat``).
    candidates : the column with the candidate labels, such as ``"cat|dog"`` or ``["cat", "dog"]``
        (in Parquet also lists); or several columns, one for each annotator, whose cells are read
        likewise, or 0/1 (True/False) columns, one for each class, or columns of weights. In NPZ and MATLAB files the name
        of an array: a 0/1 matrix n×K or K×n, or one column for each annotator. None: the file has
        none (a MATLAB file's ``partial_target`` is taken where it is there, and its ``target``).
    truth : the column with the true labels, if they are known (for evaluation); in NPZ and MATLAB
        files an array of one label a row, or a 0/1 matrix.
    features : the feature columns; all that are not named otherwise if None, but for a first
        column without a name that counts the rows: an index, left out with a warning. In NPZ and
        MATLAB files the name of one array; ``data``, ``X`` and the like are found if None.
    ignore : columns that are no features; of a MATLAB file also ``partial_target`` and ``target``.
    index : the column that names the rows. None: the index of the data frame that was written as a
        Parquet file, of several levels with commas between them; 0 … n−1 in other files.
    separator : between the labels of a cell.
    kind : what `candidates` holds, if looking at it is not enough, as for `as_candidates`.
    classes : the class labels; found in the data if None.
    empty : an empty cell is an ``"error"``, or means no information: ``"full"``; or ``"drop"``, its row
        is left out.
    outside : a true label that is not among its candidates is an ``"error"``, or ``"keep"``; or
        ``"some"``: an error where it is so in most rows.
    guess : as the command line does, take the one column that is plainly candidates, where none
        are named, and let commas stand between names.
    hierarchy : the children of each parent, as for `as_candidates`; or a table of two columns, parent
        and child, as a file.
    raters : how the answers of annotators become weights, as for `as_candidates`.
    rater : the column that says who answered, of a file with a row for each answer: `candidates` are
        the answers, `index` is what they are about, and all other columns say the same of it in each
        of its rows. The table has a row for each such thing.
    header : whether the first line of a CSV file names the columns; without one they are called 1,
        2, …. None: it does, and one that looks like data is an error.
    mixed : whether columns may hold anything, as a `TableEncoder` takes them; else numbers alone.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing,weight,labels\\n10,1.5,owl|kite\\n12,1.1,kite\\n")
    >>> table = read_table(file, candidates="labels")
    >>> table
    Table(n=2, d=2, candidates=CandidateSets(n=2, K=2, mean size 1.50))
    >>> table.feature_names, table.metric
    (('wing', 'weight'), 'covering')
    """
    options = dict(locals())
    file, guess = open_table(options.pop("path"), header), options.pop("guess")
    return read_as(file, columns_of(**options), guess)


def columns_of(**options: Any) -> Columns:
    """`Columns` by the options of `read_table`."""
    names = {n: names_of(n, options.get(n)) for n in ("candidates", "features", "ignore")}
    given = options | names | {"ignore": names["ignore"] or ()}
    if given.get("classes") is not None:
        given["classes"] = tuple(given["classes"])
    if isinstance(given.get("hierarchy"), str | Path):
        given["hierarchy"] = read_hierarchy(given["hierarchy"])
    return Columns(**given)


def read_as(file: ColumnFile | ArrayFile, columns: Columns, guess: bool = False) -> Table:
    """The table in an open file, by these columns; see `read_table`."""
    found: dict[str, str] = {}
    if guess:
        columns = replace(
            columns,
            candidates=apart(columns.candidates, file.names),
            features=apart(columns.features, file.names),
            ignore=apart(columns.ignore, file.names) or (),
        )
        guessed = None if columns.candidates else file.guess(columns.separator)
        if guessed is not None:
            columns, found = replace(columns, candidates=(guessed,)), {guessed: "guess"}
    law = columns.raters
    if columns.empty == "drop":
        columns = replace(columns, raters="votes")
    if isinstance(file, ArrayFile):
        table = Table(*parts_of_arrays(file, columns, found))
    else:
        table = _of_columns(file, columns, found)
    if columns.empty == "drop":
        table = _labelled_rows(table, law)
    sets, truth = table.candidates, table.truth
    if sets is None or truth is None or columns.outside == "keep":
        return table
    if columns.outside == "error" or sets.contains(truth).mean() <= 0.5:
        name = table.columns.truth or ""
        check_inside(sets, truth, str(file.path), name if name in table.found else "")
    return table


def _labelled_rows(table: Table, law: RaterLaw) -> Table:
    """The rows that have a label, and their raters' weights; a warning says how many have none."""
    sets, columns = table.candidates, replace(table.columns, raters=law)
    if sets is None:
        return replace(table, columns=columns)
    rows = np.flatnonzero(sets.sizes)
    if not len(rows):
        problem = "has no label in any row."
        raise InputError(problem, code="no-labels", argument="candidates", got=columns.candidates)
    if out := len(sets) - len(rows):
        problem = f"{counted(out, 'row')} of {len(sets):,} without a label left out."
        warn(AmongstWarning(problem, code="rows-left-out"))
    return replace(
        table,
        features=table.features[rows],
        candidates=as_candidates(sets[rows], raters=law),
        truth=None if table.truth is None else table.truth[rows],
        index=table.index[rows],
        columns=columns,
        mixed=None if table.mixed is None else table.mixed.iloc[rows].reset_index(drop=True),
        rows=table.places[rows],
        others=None if table.others is None else table.others.iloc[rows].reset_index(drop=True),
    )


def read_hierarchy(path: str | Path) -> dict[str, list[str]]:
    """The children of each parent, from a table with the columns `parent` and `child`, or whose first
    column are parents and whose second are children.
    """
    file = open_table(path, header=True)
    if isinstance(file, ArrayFile) or len(file.names) != 2:
        problem = "must be a table of two columns, parent and child."
        raise InputError(problem, code="two-columns", argument="hierarchy", got=str(path))
    frame = file.parse(file.names, ())
    lower = {str(name).strip().lower(): name for name in frame.columns}
    order = [lower.get("parent", frame.columns[0]), lower.get("child", frame.columns[1])]
    found: dict[str, list[str]] = {}
    for parent, child in frame[order].dropna().astype(str).itertuples(index=False):
        found.setdefault(parent.strip(), []).append(child.strip())
    return found


def load_csv(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a CSV or TSV file with a header line; options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("size,anna,ben\\n1.0,owl,kite\\n2.0,owl,\\n")
    >>> load_csv(file, candidates=["anna", "ben"]).candidates.to_lists()
    [['kite', 'owl'], ['owl']]
    """
    return read_table(_ending(path, ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"), **options)


def load_parquet(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a Parquet file (needs pyarrow); options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.parquet"
    >>> pd.DataFrame({"size": [1.0, 2.0], "labels": [["owl", "kite"], ["owl"]]}).to_parquet(file)
    >>> load_parquet(file, candidates="labels").candidates.to_lists()
    [['kite', 'owl'], ['owl']]
    """
    return read_table(_ending(path, ".parquet", ".pq"), **options)


def load_npz(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a NumPy `.npz` archive; options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.npz"
    >>> np.savez(file, X=np.eye(2), S=np.array([[1, 1], [0, 1]]))
    >>> load_npz(file, candidates="S").candidates.to_lists()
    [[0, 1], [1]]
    """
    return read_table(_ending(path, ".npz"), **options)


def load_mat(
    path: str | Path,
    *,
    data: str = "data",
    candidates: str | None = PARTIAL_TARGET,
    truth: str | None = TARGET,
    outside: Outside = "error",
) -> Table:
    """Read a MATLAB file in the layout of the field: `data`, `partial_target`, `target`.

    Version 5 or 7.3, dense or sparse; the label matrices K×n or n×K, 0/1. Classes are 0 … K−1.

    Parameters
    ----------
    path : file.
    data, candidates, truth : keys; None for candidates or truth that are not known.
    outside : a true label that is not among its candidates is an ``"error"``, or ``"keep"``.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.mat"
    >>> mask = np.array([[1, 0, 1], [1, 1, 0]])
    >>> scipy.io.savemat(file, {"data": np.ones((3, 4)), "partial_target": mask})
    >>> load_mat(file, truth=None).candidates.to_lists()
    [[0, 1], [1], [0]]
    """
    file = open_table(_ending(path, ".mat"))
    sets, ignore = (None, (PARTIAL_TARGET,)) if candidates is None else ((candidates,), ())
    columns = Columns(sets, truth, (data,), ignore, kind="mask", outside=outside)
    try:
        return read_as(file, columns)
    except InputError as error:
        if error.code == "truth-outside":
            raise
        raise as_file_error(error) from error


def as_file_error(error: InputError) -> FileFormatError:
    """What is wrong with a file of a fixed layout is wrong with the file, not with an argument."""
    error.remedy = ""
    return FileFormatError(str(error), code=error.code, at=error.at, got=error.got)


def _of_columns(file: ColumnFile, columns: Columns, found: dict[str, str]) -> Table:
    votes = columns.candidates or ()
    answers = votes if len(votes) > 1 or columns.rater else ()
    names = {columns.truth or "", columns.index or "", columns.rater or ""}
    labels = {*votes, *names} - {*answers}
    text = set(file.codes() if columns.mixed else ())
    text |= set() if columns.features is None else {*file.names} - {*columns.features}
    frame = file.parse(labels, {*answers, *text} - labels)
    if not len(frame):
        raise FileFormatError(f"{file.path} has column names but no rows.", code="no-rows")
    columns.check(file.path, tuple(frame.columns), frame.index.names)
    given, rows = frame[list(votes)], None
    if columns.rater:
        frame, given, rows = by_item(file.path, frame, columns)
    sets = column_candidates(given, columns) if votes else None
    raw = frame[list(feature_columns(file.path, frame, columns, sets))]
    mixed = columns.mixed and not all(is_plain(raw[n]) and np.isfinite(raw[n]).all() for n in raw)
    named_one = bool(votes) or columns.features is not None
    features = raw.to_numpy(object) if mixed else numeric(file.path, raw, labelled=named_one)
    truth = None if columns.truth is None else true_labels(frame[columns.truth], sets)
    index = row_names(frame, columns.index)
    kept = raw.reset_index(drop=True) if mixed else None
    others = frame.drop(columns=[*raw.columns, *votes], errors="ignore").reset_index(drop=True)
    own = tuple(raw.columns)
    return Table(features, own, sets, truth, index, columns, found, kept, rows, others)


def _ending(path: str | Path, *endings: str) -> Path:
    if not str(path).lower().endswith(endings):
        problem = f"must end in {' or '.join(endings)}."
        raise InputError(problem, code="ending", argument="path", got=str(path))
    return Path(path)


@dataclass(frozen=True)
class Fitted:
    """What a model knows of the data that it was fitted on.

    Attributes
    ----------
    names : of its features; None if they had none.
    n_features : how many they are.
    classes : its labels.
    told : how the file was read, by `Table.told`; empty for a model that was fitted in Python.
    mixed : whether its columns may hold anything; else numbers alone.
    """

    names: Names
    n_features: int
    classes: tuple[Any, ...]
    told: Mapping[str, Any]
    mixed: bool = False

    def __post_init__(self) -> None:
        for name, kind in NOTES.items():
            value = self.told.get(name)
            parts = value if isinstance(value, list) else []
            sound = value is None or isinstance(value, kind)
            if not sound or not all(isinstance(part, str) for part in parts):
                problem = f"the model says of its file that {name} were {value!r}: it is damaged."
                raise FileFormatError(problem, code="unreadable", argument=name, got=value)

    @property
    def of_array(self) -> bool:
        """Whether it was fitted on a file of arrays, whose columns have no names of their own."""
        return self.names == tuple(f"x{at}" for at in range(len(self.names or ())))


def read_like(
    path: str | Path,
    fitted: Fitted,
    *,
    candidates: Names = None,
    features: Names = None,
    index: str | None = None,
    empty: EmptyRows | None = None,
    raters: RaterLaw | None = None,
    labelled: bool = True,
) -> Table:
    """A file with the features that a model was fitted on.

    Parameters
    ----------
    candidates, features, index, empty, raters : as a person names them now; None for what was named when
        fitting, or is plainly it.
    labelled : whether candidate labels are wanted; true labels never are.
    """
    told = fitted.told
    header = told.get("header", None if fitted.names is None else True)
    file = open_table(path, header)
    features, guessed = apart(features, file.names), file.guess()
    if not labelled:
        candidates = None
    elif not (candidates := apart(candidates, file.names)):
        candidates = tuple(told.get("candidates") or [guessed] * bool(guessed)) or None
    known, rater = told.get("index"), told.get("rater")
    columns = Columns(
        candidates,
        index=index or (known if known in file.names else None),
        separator=told.get("separator") or "|",
        empty=empty or told.get("empty") or "error",
        hierarchy=told.get("hierarchy"),
        raters=raters or told.get("raters") or "votes",
        rater=rater if candidates and rater in file.names else None,
        header=header,
        mixed=fitted.mixed,
    )
    try:
        if isinstance(file, ArrayFile):
            columns = _arrays_like(columns, fitted, features, labelled)
        else:
            columns = _columns_like(file, columns, fitted, features, guessed)
        return _in_order(read_as(file, columns), fitted, file)
    except InputError as error:
        error.audience = "fitted"
        raise


def _arrays_like(columns: Columns, fitted: Fitted, features: Names, labelled: bool) -> Columns:
    """The array that was named now or when fitting, or the only one that had no other use then."""
    told = fitted.told
    unread = (TARGET,) if labelled else (PARTIAL_TARGET, TARGET)
    taken = (*(told.get("candidates") or ()), told.get("truth"), *(told.get("ignore") or ()))
    ignore = (*unread, *(name for name in taken if name is not None))
    features = features or tuple(told.get("features") or ()) or None
    return replace(columns, features=features, ignore=ignore, kind=told.get("kind") or "auto")


def _columns_like(
    file: ColumnFile, columns: Columns, fitted: Fitted, features: Names, guessed: str | None
) -> Columns:
    """Several columns are classes where these have their names, else annotators: a file with few
    rows may hold the answers 0 and 1 only."""
    features, several = _features(file, fitted, features), len(columns.candidates or ()) > 1
    kind: Kind = fitted.told.get("kind") or "auto"
    if kind == "auto" and several and not {*columns.candidates} <= {*map(str, fitted.classes)}:  # type: ignore[misc]
        kind = "annotators"
    return replace(
        columns,
        features=features,
        ignore=(guessed,) if guessed and features is None else (),
        kind=kind,
        classes=fitted.classes if columns.candidates else None,
    )


def _features(file: ColumnFile, fitted: Fitted, features: Names) -> Names:
    """The columns that the model knows by name, or those that are named now where it knows none."""
    if fitted.of_array and not features and "x0" not in file.names:
        raise InputError(
            f"{file.path} does not have the columns x0, x1, …: the model was fitted on an array, "
            f"whose {counted(fitted.n_features, 'column')} had no names.",
            code="no-names",
            remedy=f"Name as many, in their order, with {named('features')}.",
        )
    if fitted.names is not None and features and not fitted.of_array:
        raise InputError(
            "is not needed: the model was fitted on columns with names, and takes those. Leave it "
            "out.",
            code="not-needed",
            argument="features",
            got=features[0],
        )
    for name in features or fitted.names or ():
        if name not in file.names:
            raise no_column(file.path, file.names, "features" if features else "", name)
    return features or fitted.names


def _in_order(table: Table, fitted: Fitted, file: ColumnFile | ArrayFile) -> Table:
    """With the names of the model; where one side has no names, columns are taken in their order."""
    d = table.features.shape[1]
    if d != fitted.n_features:
        raise InputError(
            f"{file.path} has {counted(d, 'feature')}, and the model was fitted on "
            f"{fitted.n_features}.",
            code="other-features",
            remedy=f"Choose them with {named('features')}.",
        )
    if fitted.names is None or table.feature_names == fitted.names:
        return table
    if isinstance(file, ArrayFile):
        problem = f"the columns of {file.path} have no names; they are taken in the model's order."
        warn(AmongstWarning(problem, code="no-names"))
    return replace(table, feature_names=fitted.names)
