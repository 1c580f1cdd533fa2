"""What a request needs of this machine and of its data, asked before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from amongst.bench.conditions import REAL
from amongst.bench.execute import Options
from amongst.bench.plans import Cell, Plan
from amongst.bench.request import Request
from amongst.bench.sources import Files, open_dataset
from amongst.datasets import entry, is_here
from amongst.engine import as_device
from amongst.errors import InputError
from amongst.models import IMAGES, are_images

__all__ = ["check_data", "check_precision", "check_store", "device_type", "to_download", "unread"]

GPU_ONLY = ("bf16", "tf32")


@dataclass(frozen=True)
class Holding:
    """What data have: rows, their shape, true labels, candidate sets, a test part of their own."""

    rows: int
    shape: tuple[int, ...]
    truth: bool
    sets: bool
    split: bool


def device_type(options: Options) -> str:
    """``"cpu"``, ``"cuda"``, …; a GPU that is named need not be here, but on a cluster.

    >>> device_type(Options(device="cuda:1")), device_type(Options(device="cpu"))
    ('cuda', 'cpu')
    """
    if options.device.startswith("cuda"):
        return "cuda"
    return "cpu" if options.engine == "ray" else as_device(options.device).type


def check_precision(request: Request, options: Options) -> None:
    """Refuse what a CPU would compute in single precision, and a store keep under another name.

    >>> check_precision(Request("table1", precision="bf16"), Options(device="cpu"))
    Traceback (most recent call last):
    amongst.errors.InputError: precision='bf16' needs a GPU, and this would run on a CPU ...
    """
    if request.precision in GPU_ONLY and device_type(options) != "cuda":
        raise InputError(
            f"precision={request.precision!r} needs a GPU, and this would run on a CPU "
            f"(device={options.device!r}). Use precision='float32', or device='cuda' where there "
            "is one."
        )


def check_store(path: Path) -> None:
    """A folder is refused before any work is done."""
    if path.is_dir():
        raise InputError(f"--store {path} is a folder; name a file.")


def check_data(plan: Plan, files: Files | None = None) -> None:
    """Refuse folds, conditions, networks and a criterion that the data cannot serve.

    >>> from amongst.bench.plans import make_plan
    >>> check_data(make_plan(Request("compare", datasets=("digits",), folds=3)))
    Traceback (most recent call last):
    amongst.errors.InputError: condition='real' needs candidate sets, and 'digits' has none. ...
    """
    oracle = plan.request.criterion == "oracle"
    found = {name: _holding(name, files, oracle) for name in plan.datasets}
    for name, holding in found.items():
        _check_folds(plan.request.folds, name, holding)
        if oracle and not holding.truth:
            own = name in (files or {})
            remedy = "It needs --truth, their column; or use" if own else "Use"
            raise InputError(
                f"criterion='oracle' chooses by true labels, and {name!r} has none. {remedy} "
                "criterion='covering'."
            )
    for cell in plan.cells:
        slot = cell.slot
        _check_search_seeds(cell, plan.request)
        _check_condition(slot.condition, slot.dataset, found[slot.dataset])
        _check_model(slot.model, slot.dataset, found[slot.dataset])


def to_download(plan: Plan, files: Files | None = None) -> list[str]:
    """Data that are not here, and that a run would download first.

    >>> from amongst.bench.plans import make_plan
    >>> to_download(make_plan(Request("demo")))
    []
    """
    missing = [name for name in plan.datasets if not _is_here(name, files)]
    return [name for name in missing if entry(name).can_be_fetched]


def unread(plan: Plan, files: Files | None = None) -> list[str]:
    """Data that a dry run need not read to know that they can be had."""
    here = [name for name in plan.datasets if _is_here(name, files)]
    return here + to_download(plan, files)


def _is_here(name: str, files: Files | None) -> bool:
    return name in (files or {}) or is_here(entry(name))


def _holding(name: str, files: Files | None, look: bool) -> Holding:
    """From the catalogue, whose data have true labels unless a look at them shows otherwise."""
    if name in (files or {}):
        found = open_dataset(name, files)
        known = bool((found.labels >= 0).all())
        shape = tuple(found.features.shape[1:])
        return Holding(len(found), shape, known, found.candidates is not None, False)
    listed = entry(name)
    truth = not (look and is_here(listed)) or bool((open_dataset(name).labels >= 0).all())
    return Holding(listed.n, listed.row, truth, listed.is_partial, bool(listed.n_test))


def _check_folds(folds: int | None, name: str, holding: Holding) -> None:
    if folds is not None and holding.split:
        raise InputError(
            f"folds={folds} divides data without a test part, and {name!r} has one of its own, on "
            "which every fold would be tested. Leave it out; seeds=… repeats the training."
        )
    if folds is not None and folds > holding.rows:
        raise InputError(
            f"folds={folds} is more than the {holding.rows} rows of {name!r}; lower it."
        )


def _check_search_seeds(cell: Cell, request: Request) -> None:
    """Rows that choose a setting for one seed's folds are test rows in the folds of another."""
    if any(t.fold is not None and not request.searches(t.seed) for t in cell.pool):
        raise InputError(
            f"search_seeds={request.search_seeds} is fewer than seeds={request.seeds}, and in the "
            f"cross-validation of {cell.slot.dataset!r} each seed has folds of its own, which choose "
            "for themselves. Leave it out, or use seeds=1."
        )


def _check_condition(condition: str, name: str, holding: Holding) -> None:
    if condition == REAL and not holding.sets:
        raise InputError(
            f"condition='real' needs candidate sets, and {name!r} has none. Use condition='q=0.3', "
            "'case 1', …."
        )
    if condition != REAL and not holding.truth:
        raise InputError(
            f"condition={condition!r} makes candidate sets from true labels, and {name!r} has "
            "none. Use condition='real'."
        )


def _check_model(model: str, name: str, holding: Holding) -> None:
    if model == "convnet" and not are_images(holding.shape):
        raise InputError(
            f"models='convnet' needs {IMAGES}, but a row of {name!r} has shape {holding.shape}. Use "
            "models='mlp'."
        )
