"""A person's files at the command line's door: the options that say how one is read, pipes to read
from, and targets that are safe to write to."""

from __future__ import annotations

import atexit
import inspect
import io
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from amongst.cli.saying import PIPES, tell
from amongst.errors import AmongstError, InputError, StoreError, named
from amongst.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from amongst.candidates import CandidateSets
    from amongst.data import Table

STANDARD = Path("-")
"""Standard input where a file is read, standard output where one is written."""
READABLE = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".npz", ".mat")
ROOM = 1 << 20
"""Bytes that must fit where something is to be written: the usual network alone takes them."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a formula begins with."""
WRITTEN = {r"\n": "\n", r"\t": "\t"}
"""Separators as people write what cannot be seen."""

Names = list[str] | None
EmptyRows = Literal["error", "drop", "full"]
KindName = Literal["auto", "annotators", "mask", "strings", "labels", "votes"]
RaterName = Literal["votes", "dawid-skene", "one-coin"]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet, NPZ or .mat file; - for a CSV from stdin; or a folder of photos.",
    ),
]
Candidates = Annotated[
    Names,
    typer.Option(
        "--candidates",
        "-c",
        help="Column of candidate labels such as 'cat|dog'; repeat it for several annotators. Of a "
        "folder of photos, the table that names them and their candidates; then its columns.",
    ),
]
Features = Annotated[
    Names,
    typer.Option(
        help="Feature columns, by commas or repeated. Of an NPZ or .mat file, the array of features."
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        "--index",
        "--id",
        help="Column that names the rows; of a Parquet file its index unless told.",
    ),
]
Embeddings = Annotated[
    Path | None,
    typer.Option(
        help="Parquet, NPZ or CSV of numbers, as many rows in the same order, such as embeddings of "
        "texts: features beside the columns of FILE. Leave the texts themselves out by --ignore. Or, "
        "when fitting, a model of sentence-transformers, such as all-MiniLM-L6-v2, for the texts."
    ),
]
Reviewed = Annotated[
    Path | None,
    typer.Option(help="CSV of `amongst review`: the labels in it are taken as certain."),
]


@dataclass(frozen=True)
class Again:
    """Options of a file that a model reads: what is named now, else what was named when fitting."""

    candidates: Candidates = None
    features: Features = None
    index: Index = None
    empty: Annotated[
        EmptyRows | None, typer.Option(help="Rows without a label; as when fitting unless told.")
    ] = None
    raters: Annotated[
        RaterName | None,
        typer.Option(help="How annotators' answers become weights; as when fitting unless told."),
    ] = None

    embeddings: Embeddings = None

    def given(self) -> dict[str, Any]:
        """Of `read_for`."""
        return {n: tuple(v) if isinstance(v, list) else v for n, v in asdict(self).items()}


@dataclass(frozen=True)
class Reading:
    """Options that say how a file is read."""

    candidates: Candidates = None
    features: Features = None
    ignore: Annotated[Names, typer.Option(help="Columns that are no features.")] = None
    index: Index = None
    separator: Annotated[str, typer.Option(help="Between the labels of a cell.")] = "|"
    empty: Annotated[
        EmptyRows,
        typer.Option(
            help="Rows without a label: an error; drop: left out; or full: any label may be right."
        ),
    ] = "error"
    kind: Annotated[
        KindName,
        typer.Option(
            help="What --candidates hold: answers of annotators, 0/1 for each class (mask), "
            "'cat|dog' (strings), 'cat:3|dog:1' or columns of weights (votes), or one label a cell; "
            "auto looks."
        ),
    ] = "auto"
    classes: Annotated[
        Names,
        typer.Option(help="All classes, by commas or repeated; found in the file unless told."),
    ] = None
    hierarchy: Annotated[
        Path | None,
        typer.Option(help="Table of parents and children: a parent stands for those below it."),
    ] = None
    raters: Annotated[
        RaterName,
        typer.Option(
            help="How annotators' answers become weights: each a vote, or by how far each is to be "
            "trusted: dawid-skene, or one-coin for few rows."
        ),
    ] = "votes"
    rater: Annotated[
        str | None,
        typer.Option(
            help="Column that says who answered, of a file with a row for each answer; --candidates "
            "are the answers, --index is what they are about."
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            help="Whether the first line of a CSV names the columns; looked at unless told."
        ),
    ] = None
    size: Annotated[
        int | None,
        typer.Option(help="Pixels a side that photos get; their own up to 64, else 64.", min=1),
    ] = None

    def read(self, file: Path) -> Table:
        """The table in a file, or the photos of a folder."""
        from amongst.data import read_table
        from amongst.data.images import read_photos

        options = self.options()
        size = options.pop("size", None)
        if not file.is_dir():
            if size is not None:
                raise InputError("--size is for a folder of photos; leave it out.")
            return read_table(file, **options)
        labels, columns = labels_of(file, options.pop("candidates", None))
        if columns:
            options["candidates"] = tuple(columns)
        return read_photos(file, labels, image=options.pop("index", None), size=size, **options)

    def options(self) -> dict[str, Any]:
        """Of `amongst.data.read_table`; values that can be hashed."""
        given = {n: tuple(v) if isinstance(v, list) else v for n, v in self.typed().items()}
        given |= {"separator": WRITTEN.get(self.separator, self.separator), "guess": True}
        given |= {"mixed": True, "outside": "some"}
        if self.classes:
            from amongst.candidates.cells import whole_numbers

            parts = [part.strip() for name in self.classes for part in name.split(",")]
            given["classes"] = tuple(whole_numbers([part for part in parts if part]))
        return {name: str(v) if isinstance(v, Path) else v for name, v in given.items()}

    def typed(self) -> dict[str, Any]:
        """The options that are not as they are by default, true labels behind candidates."""
        names = sorted(
            (f.name for f in fields(self)), key=lambda n: n not in ("candidates", "truth")
        )
        default = type(self)()
        found = {name: getattr(self, name) for name in names}
        return {n: value for n, value in found.items() if value != getattr(default, n)}


@dataclass(frozen=True)
class Labelled(Reading):
    """Options that say how a file is read, true labels included."""

    truth: Annotated[
        str | None, typer.Option(help="Column of true labels, only to report accuracy.")
    ] = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command with arguments that are dataclasses; to the command line, these are their fields."""
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: p.annotation for name, p in own.parameters.items() if is_dataclass(p.annotation)
    }
    listed = []
    for name, parameter in own.parameters.items():
        given = _options(groups[name]) if name in groups else [parameter]
        listed += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in given]

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: kind(**{f.name: given.pop(f.name) for f in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__signature__ = own.replace(parameters=listed)  # type: ignore[attr-defined]
    return run


def _options(kind: Any) -> list[Parameter]:
    hints, keyword = get_type_hints(kind, include_extras=True), Parameter.KEYWORD_ONLY
    return [
        Parameter(f.name, keyword, default=f.default, annotation=hints[f.name])
        for f in fields(kind)
    ]


def sets_of(
    table: Table, file: Path, reviewed: Path | None = None, candidates: Names = None
) -> CandidateSets:
    """The candidate sets of a file, which must have some, and what a review decided on them."""
    if table.candidates is None:
        names = ", ".join(map(str, [*table.columns.taken, *table.feature_names][:12]))
        raise InputError(
            f"{file.name} has no column that is plainly candidate labels.",
            code="no-candidates",
            argument="",
            remedy=f"Name it with {named('candidates')}. Its columns: {names}.",
        )
    if reviewed is None:
        return table.candidates
    from amongst.review import reviewed_sets

    return reviewed_sets(table, file_of_labels(file, candidates), reviewed)


def tell_truth(table: Table, sets: CandidateSets) -> None:
    """In how many rows the true label is no candidate, as of real raters; nothing where it always is."""
    outside = 0 if table.truth is None else int((~sets.contains(table.truth)).sum())
    if outside:
        rows = counted(outside, "row")
        tell(f"the true label is no candidate in {rows}, {outside / len(sets):.1%}")


def tell_company(sets: CandidateSets) -> None:
    """Which labels come together far more than by chance; nothing where none do."""
    from amongst.trust import not_by_chance

    found = not_by_chance(sets)
    if found is not None:
        tell(
            f"Wrong labels are not there by chance: {found}. So more answers may be wrong than "
            "estimated, and the model may be too sure."
        )


def labels_of(folder: Path, candidates: Any) -> tuple[Path, Names]:
    """Of a folder, the table that ``--candidates`` names first, and the columns that it names then."""
    first, *columns = list(candidates or ()) or [""]
    if not Path(first).is_file():
        raise InputError(
            f"{folder} is a folder. Give a file. Of a folder of photos, name the table of their "
            "labels first: --candidates labels.csv.",
            code="no-table",
        )
    return Path(first), columns or None


def file_of_labels(file: Path, candidates: Names) -> Path:
    """The file that has the labels: of a folder of photos, their table."""
    return labels_of(file, candidates)[0] if file.is_dir() else file


def is_table_name(path: Path) -> bool:
    """Whether a file is called as tables are."""
    return path.suffix.lower() in READABLE


def as_file(path: Path) -> Path:
    """The path; of a pipe, or of standard input ("-"), a file that has all of it and is gone when
    the command ends."""
    if path == STANDARD:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("- is standard input, and nothing is piped into it; name a file.")
        return _kept(sys.stdin.buffer, path, "stdin.csv")
    if path.is_file() or path.is_dir() or not path.exists():
        return path
    with path.open("rb") as source:
        return _kept(source, path, path.name if is_table_name(path) else f"{path.name}.csv")


def _kept(source: Any, path: Path, name: str) -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    kept = Path(folder.name) / name
    PIPES[str(kept)] = str(path)
    with kept.open("wb") as target:
        shutil.copyfileobj(source, target)
    return kept


def text_model(embeddings: Path | None) -> str | None:
    """The model of sentence-transformers that is named in place of a file of embeddings."""
    if embeddings is None or embeddings.is_file() or is_table_name(embeddings):
        return None
    return embeddings.as_posix()


def with_embeddings(file: Path, embeddings: Path | None) -> Path:
    """A file of the columns of a table, and of the numbers that another has for its rows."""
    if embeddings is None:
        return file
    import pandas as pd

    from amongst.data import read_table
    from amongst.data.frames import ColumnFile, open_table

    table, found = open_table(file, None), read_table(embeddings).features
    if not isinstance(table, ColumnFile):
        raise InputError(
            "goes with a table; an NPZ or .mat file has features.", argument="embeddings"
        )
    frame = table.parse(table.names, ()).reset_index(drop=True)
    if len(frame) != len(found):
        problem = f"has {len(found):,} rows, and {file.name} has {len(frame):,}."
        raise InputError(problem, code="other-rows", argument="embeddings", got=str(embeddings))
    names = [f"embedding {number}" for number in range(found.shape[1])]
    joined = frame.join(pd.DataFrame(found, columns=names))
    text = io.BytesIO(joined.to_csv(index=False).encode())
    return _kept(text, file, f"{file.name.partition('.')[0]}.csv")


def check_target(
    option: str, path: Path | None, inputs: tuple[Path | None, ...] = (), *, table: bool = False
) -> None:
    """Mistakes in where to write are said before anything is computed; of a table also an ending that
    none can be written as, and - is standard output."""
    if path is None or (table and path == STANDARD):
        return
    if path == STANDARD:
        raise InputError(f"{option} - would mix with what is printed; name a file.")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file.")
    for source in inputs:
        if source is not None and _same(path, source):
            raise InputError(f"{option} {path} is also read from; name another file.")
    _check_folder(option, path)
    if table and _writer(path) is _to_parquet:
        _import_pyarrow()
    if table and _writer(path) is None:
        raise InputError(
            f"{option} {path} has an unknown ending; it must be .csv, .tsv, .txt or .parquet, or - "
            "for standard output."
        )


def check_folder_target(option: str, path: Path) -> None:
    """As `check_target`, of a folder that may still have to be made."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{option} {path} is a file; name a folder.")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write as the ending says; ``-`` is standard output."""
    from amongst.files import write_atomically

    if path == STANDARD:
        typer.echo(_to_csv(frame), nl=False)  # bytes, whatever the terminal's encoding is
        return
    writer = _writer(path)
    assert writer is not None
    write_atomically(path, writer(frame))


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with ' before each text that a spreadsheet would take for a formula."""

    def quoted(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell

    texts = {name: frame[name].map(quoted) for name in frame.select_dtypes(exclude="number")}
    return frame.assign(**texts).rename(columns=quoted)


def save_model(estimator: Any, out: Path, metadata: Any) -> None:
    """Save to `out`; where that fails to the first place that takes it, which the error names."""
    try:
        estimator.save(out, metadata=metadata)
    except StoreError as error:
        for folder in (Path.cwd(), Path.home(), Path(tempfile.gettempdir())):
            kept = folder / f"{out.stem}-{secrets.token_hex(4)}{out.suffix}"
            with suppress(AmongstError):
                estimator.save(kept, metadata=metadata)
                remedy = f"The trained model is kept in {kept}."
                error = StoreError(error.problem, code="kept-elsewhere", remedy=remedy)
                break
        raise error


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _check_folder(option: str, path: Path) -> None:
    if path.exists() and not path.is_file():
        return  # a pipe
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        shown = path.parent if not path.parent.is_dir() else folder
        raise InputError(f"{option} {path}: the folder {shown} does not exist; make it first.")
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(ROOM))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"{option} {path}: the folder {folder} cannot be written to ({reason})."
        ) from error


def _writer(path: Path) -> Callable[[pd.DataFrame], bytes] | None:
    if path.exists() and not path.is_file():
        return _to_csv
    writers: dict[str, Callable[[pd.DataFrame], bytes]] = {
        ".csv": _to_csv,
        ".txt": _to_csv,
        ".tsv": partial(_to_csv, separator="\t"),
        ".parquet": _to_parquet,
        ".pq": _to_parquet,
    }
    return writers.get(path.suffix.lower())


def _to_csv(frame: pd.DataFrame, separator: str = ",") -> bytes:
    return str(frame.to_csv(index=False, sep=separator)).encode()


def _to_parquet(frame: pd.DataFrame) -> bytes:
    pyarrow = _import_pyarrow()
    target = io.BytesIO()
    try:
        frame.to_parquet(target, index=False)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise InputError(f"these labels do not fit into Parquet ({error}); use .csv.") from error
    return target.getvalue()


def _import_pyarrow() -> ModuleType:
    from amongst.optional import optional_import

    return optional_import("pyarrow", extra="data", purpose="writing Parquet files")
