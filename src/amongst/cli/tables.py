"""describe, fit, predict, disambiguate: a person's own files through the command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from amongst.cli.files import (
    STANDARD,
    as_file,
    check_table_target,
    check_target,
    write_table,
)
from amongst.cli.fitted import features_for, known_candidates, load_model, read_for
from amongst.cli.reading import Columns, apart, frame_of, one_or_many, sets_of
from amongst.cli.saying import interruptible, tell
from amongst.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from amongst.candidates import CandidateSets
    from amongst.datasets import Table
    from amongst.estimators import PartialLabelClassifier

__all__ = ["describe", "disambiguate", "fit", "predict"]

console = Console()

MOST_BARS = 30
"""Sizes of candidate sets that `describe` draws one by one."""


class EmptyRows(StrEnum):
    """What a row without labels means."""

    error = "error"
    full = "full"


class KindName(StrEnum):
    """What the columns of candidates hold."""

    auto = "auto"
    annotators = "annotators"
    mask = "mask"
    strings = "strings"
    labels = "labels"


class MethodName(StrEnum):
    """Neural methods by their names."""

    lw = "lw"
    rc = "rc"
    cc = "cc"
    proden = "proden"
    clpl = "clpl"
    average = "average"


File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="CSV, Parquet, NPZ or .mat file; - for a CSV from stdin."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `amongst fit`.")]
Out = Annotated[Path, typer.Option(help="File to write: .csv, .tsv or .parquet; - prints CSV.")]
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidates",
        "-c",
        help="Column of candidate labels such as 'cat|dog'; repeat it for several annotators.",
    ),
]
Truth = Annotated[str | None, typer.Option(help="Column of true labels, only to report accuracy.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Feature columns, by commas or repeated. Of an NPZ or .mat file, the array of features."
    ),
]
Ignore = Annotated[list[str] | None, typer.Option(help="Columns that are no features.")]
Index = Annotated[
    str | None,
    typer.Option(help="Column that names the rows; of a Parquet file its index unless told."),
]
Separator = Annotated[str, typer.Option(help="Between the labels of a cell.")]
Empty = Annotated[
    EmptyRows, typer.Option(help="Rows without a label: an error, or full: any may be right.")
]
KindOption = Annotated[
    KindName,
    typer.Option(
        "--kind",
        help="What --candidates hold: answers of annotators, 0/1 for each class (mask), 'cat|dog' "
        "(strings), or one label a cell; auto looks.",
    ),
]
MethodOption = Annotated[MethodName, typer.Option(help="What to train with.", case_sensitive=False)]
Psi = Annotated[
    str | None,
    typer.Option(help="Binary loss of lw, average and clpl, e.g. sigmoid; their own unless told."),
]
Network = Annotated[str, typer.Option(help="mlp or linear.")]
Epochs = Annotated[int, typer.Option(help="Passes over the rows.")]
BatchSize = Annotated[
    int | None, typer.Option(help="Rows a step; 256 unless told, fewer on few rows.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]


def describe(
    file: File,
    candidates: Candidates = None,
    truth: Truth = None,
    features: Features = None,
    ignore: Ignore = None,
    separator: Separator = "|",
    empty: Empty = EmptyRows.error,
    kind: KindOption = KindName.auto,
) -> None:
    """Show what the candidate sets of a file look like."""
    file = as_file(file)
    cells = {"empty": empty.value, "kind": kind.value}
    others = {"truth": truth, "features": features, "ignore": ignore} | cells
    columns = Columns.of(file, candidates, separator, **others)
    table = columns.read(file)
    sets = sets_of(table, file)
    facts = sets.describe()
    title = f"{file.name}: {counted(table.features.shape[1], 'feature')}"
    shown = RichTable(title=escape(title), show_header=False)
    for what, value in facts.rows():
        shown.add_row(what, escape(value))
    console.print(shown)
    _draw_sizes(facts.size_histogram.tolist())
    if table.truth is not None:
        tell(f"true label amongst the candidates: {sets.contains(table.truth).mean():.1%}")


def fit(
    file: File,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    candidates: Candidates = None,
    truth: Truth = None,
    features: Features = None,
    ignore: Ignore = None,
    index: Index = None,
    separator: Separator = "|",
    empty: Empty = EmptyRows.error,
    kind: KindOption = KindName.auto,
    method: MethodOption = MethodName.lw,
    psi: Psi = None,
    beta: Annotated[
        str | None,
        typer.Option(help="LW's leverage on non-candidates: a number, or auto, the default."),
    ] = None,
    model: Network = "mlp",
    epochs: Epochs = 100,
    batch_size: BatchSize = None,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate; the method's own unless told.")
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="L2 regularisation; the method's own unless told.")
    ] = None,
    device: Device = "auto",
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File to keep the run in; the same command goes on.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Train a classifier on a file and write it to --out."""
    check_target("--out", out, (file, checkpoint))
    if checkpoint is not None:
        check_target("--checkpoint", checkpoint, (file,))
    check_device(device)
    own = own_params(method, psi=psi, beta=None if beta is None else _leverage(beta))
    file = as_file(file)
    others = {"truth": truth, "features": features, "ignore": ignore, "index": index}
    cells = {"empty": empty.value, "kind": kind.value}
    columns = Columns.of(file, candidates, separator, **(others | cells))
    table = columns.read(file)
    sets = sets_of(table, file)
    params: dict[str, Any] = own | {
        "model": model,
        "epochs": epochs,
        "batch_size": "auto" if batch_size is None else batch_size,
        "lr": lr,
        "weight_decay": weight_decay,
        "device": device,
        "random_state": seed,
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "verbose": not quiet,
    }
    with interruptible(checkpoint):
        estimator = estimator_of(method)(**params).fit(frame_of(table), sets)
    estimator.save(out, metadata=columns.told(file))
    _report(estimator, table, sets, out)


def predict(
    model: Model,
    file: File,
    out: Out,
    features: Features = None,
    index: Index = None,
) -> None:
    """Predict the class of every row of a file: label, confidence, probabilities."""
    import pandas as pd

    estimator, file = _opened(model, file, out)
    table = read_for(estimator, file, None, features, index, labelled=False)
    X = features_for(estimator, table)
    answer = pd.DataFrame({"label": estimator.predict(X)})
    if hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        answer["confidence"] = proba.max(axis=1)
        columns = [f"p({label})" for label in estimator.classes_]
        answer = answer.join(pd.DataFrame(proba, columns=columns))
    _write(answer, table, out)


def disambiguate(
    model: Model,
    file: File,
    out: Out,
    candidates: Candidates = None,
    features: Features = None,
    index: Index = None,
    empty: Annotated[
        EmptyRows | None, typer.Option(help="Rows without a label; as when fitting unless told.")
    ] = None,
) -> None:
    """Find the most likely candidate of every row: label, confidence, runner-up."""
    estimator, file = _opened(model, file, out)
    columns = apart(file, candidates) or known_candidates(estimator, file)
    table = read_for(estimator, file, one_or_many(columns), features, index, empty)
    answer = estimator.disambiguate(features_for(estimator, table), sets_of(table, file))
    _write(answer, table, out)


def _opened(model: Path, file: Path, out: Path) -> tuple[PartialLabelClassifier, Path]:
    """The estimator in a file and the table for it; a place to write that is taken is refused."""
    check_table_target("--out", out, (model, file))
    return load_model(model), as_file(file)


def estimator_of(method: MethodName) -> Any:
    """The class of the estimator by the name of its method."""
    from amongst.estimators import ESTIMATORS, NeuralClassifier

    return next(
        estimator
        for estimator in ESTIMATORS.values()
        if issubclass(estimator, NeuralClassifier) and estimator.method.name == method
    )


def own_params(method: MethodName, **given: Any) -> dict[str, Any]:
    """What was asked for of the method's own parameters; an error where it has none of the name."""
    from amongst.errors import InputError

    asked = {name: value for name, value in given.items() if value is not None}
    known = estimator_of(method)().get_params()
    for name in asked:
        if name not in known:
            raise InputError(f"--method {method.value} has no --{name}; leave it out.")
    return asked


def _leverage(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def check_device(device: str) -> None:
    """A kind of device that people have; whether it is here is found out later."""
    from amongst.errors import InputError

    if device.partition(":")[0] not in ("auto", "cpu", "cuda", "mps", "xpu"):
        raise InputError(f"--device {device} is unknown; choose auto, cpu or cuda.")


def _write(answer: pd.DataFrame, table: Table, out: Path) -> None:
    answer.insert(0, "row", table.index)
    write_table(answer, out)
    if out != STANDARD:
        tell(f"{counted(len(answer), 'row')} written to {out}")


def _report(
    estimator: PartialLabelClassifier, table: Table, sets: CandidateSets, out: Path
) -> None:
    frame = frame_of(table)
    tell(
        f"{len(table):,} rows, {sets.n_classes} classes; "
        f"prediction amongst the candidates for {estimator.score(frame, sets):.1%} of them."
    )
    if table.truth is not None:
        tell(f"accuracy on these rows: {estimator.score(frame, table.truth):.1%}")
        right = (estimator.disambiguate(frame, sets)["label"] == table.truth).mean()
        tell(f"right candidate found: {right:.1%}")
    tell(f"model written to {out}")


def _draw_sizes(histogram: list[int]) -> None:
    """A bar for each size that occurs; sizes side by side share one where there are very many."""
    console.print("candidates per row", style="bold")
    sizes = [size for size, count in enumerate(histogram) if count]
    width = 1 if len(sizes) <= MOST_BARS else -(-sizes[-1] // MOST_BARS)
    bars = {bar: sum(histogram[bar : bar + width]) for bar in range(1, sizes[-1] + 1, width)}
    largest, gap = max(bars.values()), False
    for bar, count in bars.items():
        if count:
            name = f"{bar:>4}" if width == 1 else f"{bar:>4}–{bar + width - 1:<4}"
            console.print(f"{name} {'█' * round(40 * count / largest):<40} {count:,}")
        elif not gap:
            console.print("   …")
        gap = not count
