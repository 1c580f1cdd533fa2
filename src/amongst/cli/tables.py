"""describe, fit, predict, disambiguate: a person's own files through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from amongst.cli.files import (
    STANDARD,
    Again,
    Embeddings,
    Features,
    File,
    Index,
    Labelled,
    Reviewed,
    as_file,
    check_target,
    grouped,
    harmless,
    is_table_name,
    labels_of,
    save_model,
    sets_of,
    tell_company,
    tell_truth,
    text_model,
    with_embeddings,
    write_table,
)
from amongst.cli.saying import interruptible, screen, tell
from amongst.cli.training import Training
from amongst.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from amongst.candidates import CandidateSets
    from amongst.data import Table


MOST_BARS = 30
"""Sizes of candidate sets that `describe` draws one by one."""

MOST_RATERS = 20
"""Raters that `describe` lists one by one."""

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `amongst fit`.")]
SafeCsv = Annotated[
    bool,
    typer.Option("--safe-csv", help="' before text that a spreadsheet would take for a formula."),
]
Out = Annotated[Path, typer.Option(help="File to write: .csv, .tsv or .parquet; - prints CSV.")]


@grouped
def describe(file: File, reading: Labelled) -> None:
    """Show what the candidate sets of a file look like."""
    file = as_file(file)
    table = reading.read(file)
    sets = sets_of(table, file)
    facts = sets.describe()
    seen = len(table.feature_names)
    what = counted(seen, "feature") if seen else counted(len(table), "photo")
    title = f"{file.name}: {what}"
    shown = RichTable(title=escape(title), show_header=False)
    for what, value in facts.rows():
        shown.add_row(what, escape(value))
    screen().print(shown)
    _draw_classes(sets)
    _draw_sizes(facts.size_histogram.tolist())
    if sets.answers is not None and reading.raters != "votes":
        _show_raters(sets.answers.fit(reading.raters, sets.n_classes).to_frame())
    if table.truth is not None:
        tell(f"true label amongst the candidates: {sets.contains(table.truth).mean():.1%}")


@grouped
def fit(
    file: File,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    reading: Labelled,
    training: Training,
    budget: Annotated[
        str | None,
        typer.Option(help="How long to try methods, such as 30s, 1min, 2h; 1min unless told."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(help="Parts of the rows to hold out in turn: 5, or none for a named method."),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(help="LW's leverage on non-candidates: a number, or auto, the default."),
    ] = None,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate; the method's own unless told.")
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="L2 regularisation; the method's own unless told.")
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(
            help="Share of rows whose true label may be none of their candidates, or auto to find it."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File to keep the run in; the same command goes on.")
    ] = None,
    embeddings: Embeddings = None,
    reviewed: Reviewed = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Of photos: a picture of some, and what was chosen; .png, .svg or .pdf."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Train a classifier on a file, or a folder of photos, and write it to --out.

    Unless a method is named, or a setting of a network, many methods are tried on held-out rows; of
    photos, LW trains the network fastnet.
    """
    from amongst.data import TableEncoder

    check_target("--out", out, (file, checkpoint, reviewed, embeddings))
    check_target("--picture", picture, (file, checkpoint, reviewed, out))
    training = training.for_photos() if file.is_dir() else training
    check_target("--checkpoint", checkpoint, (file,))
    training.check_device()
    settings: dict[str, Any] = {"beta": beta, "lr": lr, "weight_decay": weight_decay}
    settings["outside"] = outside
    settings["checkpoint"] = None if checkpoint is None else str(checkpoint)
    estimator = training.chosen(settings, budget, folds, verbose=not quiet)
    words, file = text_model(embeddings), as_file(file)
    table = reading.read(with_embeddings(file, None if words else embeddings))
    sets = sets_of(table, file, reviewed, reading.candidates)
    estimator.encodes = TableEncoder(text=words)
    if table.frame.ndim == 2:  # a table, not photos
        _check_features(table.frame)
    with interruptible(checkpoint):
        estimator.fit(table.frame, sets)
    save_model(estimator, out, table.told())
    for line in () if estimator.encoder_ is None else estimator.encoder_.notes_:
        tell(line)
    if hasattr(estimator, "leaderboard_"):
        _show_leaderboard(estimator)
        tell_company(sets)
    else:
        tell("How often it is wrong on new rows is not known: --folds 5 estimates it.")
    if sets.answers is not None and training.method != "crowd":
        tell("--method crowd learns how far to trust each rater, too.")
    inside = estimator.score(table.frame, sets)
    tell(
        f"{len(table):,} rows, {sets.n_classes} classes; "
        f"prediction amongst the candidates for {inside:.1%} of them."
    )
    if table.truth is not None:
        tell_truth(table, sets)
        tell(f"accuracy on these rows: {estimator.score(table.frame, table.truth):.1%}")
        right = (estimator.disambiguate(table.frame, sets)["label"] == table.truth).mean()
        tell(f"right candidate found: {right:.1%}")
    tell(f"model written to {out}")
    if picture is not None:
        from amongst.data.pictures import draw_rows

        draw_rows(table.frame, sets, estimator.disambiguate(table.frame, sets), picture)
        tell(f"picture written to {picture}")


def predict(
    model: Model,
    file: File,
    out: Out,
    features: Features = None,
    index: Index = None,
    embeddings: Embeddings = None,
    safe_csv: SafeCsv = False,
) -> None:
    """Predict the class of every row of a file: label, confidence, probabilities."""
    import pandas as pd

    check_target("--out", out, (model, file), table=True)
    estimator = load_model(model)
    named = None if features is None else tuple(features)
    options = {"features": named, "index": index, "embeddings": embeddings}
    table, X = read_for(estimator, file, **options, labelled=False)
    answer = pd.DataFrame({"label": estimator.predict(X)})
    if hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        answer["confidence"] = proba.max(axis=1)
        columns = [f"p({label})" for label in estimator.classes_]
        answer = answer.join(pd.DataFrame(proba, columns=columns))
    write_answer(answer, table, out, safe_csv)


@grouped
def disambiguate(
    model: Model,
    file: File,
    out: Out,
    again: Again,
    reviewed: Reviewed = None,
    safe_csv: SafeCsv = False,
) -> None:
    """Find the most likely candidate of every row: label, confidence, runner-up."""
    check_target("--out", out, (model, file, reviewed), table=True)
    estimator, file = load_model(model), as_file(file)
    table, X = read_for(estimator, file, **again.given())
    sets = sets_of(table, file, reviewed, again.candidates)
    write_answer(estimator.disambiguate(X, sets), table, out, safe_csv)


def load_model(path: Path) -> Any:
    """The model in a file; one that was fitted on a GPU answers on a machine without one, too."""
    from amongst.errors import FileFormatError, InputError, reading
    from amongst.estimators import load
    from amongst.train import as_device

    try:
        estimator: Any = load(path)
    except FileFormatError as error:
        if not is_table_name(path):
            raise
        problem = f"{path} is no model; the model comes first, the file after."
        raise FileFormatError(problem, code="no-model") from error
    try:
        as_device(getattr(estimator, "device", "cpu"))
    except InputError:
        estimator.set_params(device="auto")
    with reading(path, "a model whose labels can be written"):
        "".join(map(str, estimator.classes_)).encode()  # half a character is in no file
    return estimator


def read_for(estimator: Any, file: Path, **named: Any) -> tuple[Table, Any]:
    """The file as the model was fitted, and its features: with names for a model that has names."""
    from amongst.data.images import read_photos_like
    from amongst.data.tables import Fitted, read_like

    if file.is_dir():
        options = {n: named[n] for n in ("empty", "raters") if named.get(n) is not None}
        labels = None
        if named.get("labelled", True):
            labels, columns = labels_of(file, named.get("candidates"))
            options |= {"image": named.get("index")}
            options |= {"candidates": tuple(columns)} if columns else {}
        photos = read_photos_like(file, labels, estimator.metadata_, **options)
        return photos, photos.frame
    encoder = estimator.encoder_
    names = getattr(estimator, "feature_names_in_", None) if encoder is None else encoder.used_
    fitted = Fitted(
        names=None if names is None else tuple(names),
        n_features=estimator.n_features_in_ if encoder is None else len(encoder.used_),
        classes=tuple(estimator.classes_.tolist()),
        told=estimator.metadata_,
        mixed=encoder is not None,
    )
    file = with_embeddings(as_file(file), named.pop("embeddings", None))
    table = read_like(file, fitted, **named)
    return table, table.features if names is None else table.frame


def _show_leaderboard(estimator: Any) -> None:
    """What was tried, what each is good for, and why that one answers."""
    shown = RichTable("method", "share", "error, %", "surprise", "s", "", title="held-out rows")
    board = estimator.leaderboard_
    for line in board[board["rows"] > 0].itertuples():
        error = f"{100 * line.error:.1f} ± {196 * line.error_se:.1f}"
        numbers = f"{line.share:.0%}", error, f"{line.risk:.3f}", f"{line.seconds:.1f}"
        shown.add_row(*map(escape, (line.method, *numbers, line.note)))
    screen().print(shown)
    for note, others in board[board["rows"] == 0].groupby("note", sort=False):
        tell(f"{', '.join(others['method'])}: {note}")
    tell(estimator.chosen_)


def _show_raters(found: pd.DataFrame) -> None:
    """How far each rater is to be trusted, the least first; of very many the ends."""
    found = found.sort_values("reliability", kind="stable")
    half = MOST_RATERS // 2
    parts = [found] if len(found) <= MOST_RATERS else [found[:half], found[-half:]]
    shown = RichTable("rater", "answers", "right", title="how far each rater is to be trusted")
    for part in parts:
        for rater, answers, right in part.itertuples(index=False):
            shown.add_row(escape(str(rater)), f"{answers:,}", f"{right:.1%}")
        if part is not parts[-1]:
            shown.add_section()
    screen().print(shown)


def _check_features(frame: pd.DataFrame) -> None:
    """A warning where no row differs from another, so that all get one class."""
    from amongst.errors import AmongstWarning, warn

    few = frame.iloc[[0, len(frame) // 2, -1]]  # where they differ there is no need to read on
    alike = all((rows.astype(str).nunique() <= 1).all() for rows in (few, frame))
    if len(frame) > 1 and len(frame.columns) and alike:
        problem = "the features are the same in every row, so that every row gets the same class."
        warn(AmongstWarning(problem, code="one-row"))


def write_answer(answer: pd.DataFrame, table: Table, out: Path, safe: bool = False) -> None:
    """A table of answers, the names of its rows first."""
    name = table.columns.index
    answer.insert(0, "row" if name is None or name in answer else name, table.index)
    write_table(harmless(answer) if safe else answer, out)
    if out != STANDARD:
        tell(f"{len(answer):,} row{'s' * (len(answer) != 1)} written to {out}")


def _draw_classes(sets: CandidateSets) -> None:
    """In how many rows each class is a candidate, the most frequent first; and names that look alike."""
    from amongst.candidates.description import SEPARATED, look_alikes

    rows = sets.to_mask().sum(axis=0)
    screen().print("rows by candidate", style="bold")
    order = rows.argsort(kind="stable")[::-1]
    for at in order[:MOST_BARS].tolist():
        bar = "█" * round(40 * rows[at] / max(rows.max(), 1))
        screen().print(
            f"{bar:<40} {rows[at]:>6,} {sets.classes[at]}", highlight=False, markup=False
        )
    if len(order) > MOST_BARS:
        tell(f"… and {len(order) - MOST_BARS:,} classes more")
    for name, other in look_alikes(sets)[:MOST_RATERS]:
        several = other in (part.strip() for part in SEPARATED.split(name))
        doubt = "several labels: is --separator right" if several else f"{other!r}: are they one"
        tell(f"{name!r} looks like {doubt}? It counts as a class of its own.")


def _draw_sizes(histogram: list[int]) -> None:
    """A bar for each size that occurs; sizes side by side share one where there are very many."""
    screen().print("candidates per row", style="bold")
    sizes = [size for size, count in enumerate(histogram) if count]
    width = 1 if len(sizes) <= MOST_BARS else -(-sizes[-1] // MOST_BARS)
    bars = {bar: sum(histogram[bar : bar + width]) for bar in range(1, sizes[-1] + 1, width)}
    largest, gap = max(bars.values()), False
    for bar, count in bars.items():
        if count:
            name = f"{bar:>4}" if width == 1 else f"{bar:>4}–{bar + width - 1:<4}"
            screen().print(f"{name} {'█' * round(40 * count / largest):<40} {count:,}")
        elif not gap:
            screen().print("   …")
        gap = not count
