"""What a short first round does to a search: where it puts settings that need many epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from amongst.bench.places import Place
from amongst.bench.plans import Cell
from amongst.bench.record import Record, Scalar, Trial, grouped
from amongst.bench.request import EPOCHS
from amongst.bench.rounds import by_setting, mean_criterion, split_of
from amongst.bench.tables import Entry
from amongst.bench.words import signed
from lw2021.reproduction.sheet import reaches
from lw2021.runs import Run

__all__ = ["Ranks", "decayed", "ranks", "short_rounds"]

DECAY, STEPS = 1e-3, (0.05, 0.1)
Setting = Mapping[str, Scalar]
Known = Mapping[str, Record]


def decayed(settings: Setting) -> bool:
    """Whether a setting has the weight decay and a learning rate of the paper's own on MNIST.

    >>> decayed({"lr": 0.1, "weight_decay": 1e-3}), decayed({"lr": 0.1, "weight_decay": 1e-4})
    (True, False)
    """
    return settings.get("weight_decay") == DECAY and settings.get("lr") in STEPS


@dataclass(frozen=True)
class Ranks:
    """Where some settings stand in grids, by the criterion of the search; 1 is the best.

    Attributes
    ----------
    values : a rank for each of the settings in each grid.
    size : of the grids; the largest, if they differ.
    grids : how many.
    """

    values: tuple[int, ...]
    size: int
    grids: int

    @property
    def median(self) -> float:
        """Of all ranks."""
        return float(np.median(self.values))


def ranks(grids: Iterable[Sequence[Record]], criterion: str, wanted: Callable[[Setting], bool]) -> Ranks:  # fmt: skip
    """Rank the wanted settings of each grid.

    >>> def record(lr, value):
    ...     trial = Trial("mnist", "q=0.1", "rc", "mlp", 0, settings={"lr": lr})
    ...     return Record(trial, {"covering_val": value})
    >>> grid = [record(0.1, 0.7), record(0.01, 0.9), record(0.001, 0.8)]
    >>> ranks([grid], "covering_val", lambda settings: settings["lr"] == 0.1)
    Ranks(values=(3,), size=3, grids=1)
    """
    values, sizes = list[int](), list[int]()
    for grid in grids:
        found = [list(seeds.values()) for seeds in by_setting(grid).values()]
        order = sorted(found, key=lambda records: -mean_criterion(records, criterion))
        values += [i for i, rs in enumerate(order, 1) if wanted(rs[0].trial.settings)]
        sizes.append(len(order))
    return Ranks(tuple(values), max(sizes, default=0), len(sizes))


def short_rounds(runs: Sequence[Run], records: Iterable[Record]) -> str:
    """What short rounds did to LW, in plain words; empty where none was run in full.

    >>> short_rounds([], [])
    ''
    """
    known = {record.trial.bare_key: record for record in records}
    cut = [run for run in runs if run.kind == "short grid" and any(_grids(run, known))]
    if not cut:
        return ""
    run = cut[0]
    short = ranks(_grids(run, known), run.plan.criterion, decayed)
    parts = [_ranked(run, short), _in_full(runs, run, known), *_against_published(runs, run)]
    return " ".join(filter(None, parts))


def _grids(run: Run, known: Known) -> Iterator[list[Record]]:
    """The short round of each cell of LW, or all epochs where there is none; complete ones only."""
    cells = [cell for cell in run.plan.cells if cell.slot.method.startswith("lw-")]
    for cell in cells:
        splits = grouped(cell.screening or _searching(cell, run), split_of)
        whole = [trials for trials in splits.values() if all(t.key in known for t in trials)]
        yield from ([known[trial.key] for trial in trials] for trials in whole)


def _searching(cell: Cell, run: Run) -> Sequence[Trial]:
    return [trial for trial in cell.pool or cell.trials if run.request.searches(trial.seed)]


def _ranked(run: Run, found: Ranks) -> str:
    steps = " or ".join(f"{step:g}" for step in STEPS)
    return (
        f"Short rounds choose against weight decay. After {run.request.screen} epochs, LW's settings "
        f"with weight decay {DECAY:g} and learning rate {steps}, where the paper's own for MNIST lie, "
        f"have the median rank {found.median:g} of {found.size} by covering rate ({found.grids} "
        f"cells); only the best {100 * run.request.kept_share:g} % went on."
    )


def _in_full(runs: Sequence[Run], cut: Run, known: Known) -> str:
    """The same settings where no short round came first."""
    same = [r for r in runs if r.kind == "grid" and r.request.plan == cut.request.plan]
    grids = [grid for run in same for grid in _grids(run, known)]
    if not grids:
        return ""
    found = ranks(grids, cut.plan.criterion, decayed)
    epochs = cut.request.epochs or EPOCHS["paper"]
    where = dict.fromkeys(_where(grid[0].trial) for grid in grids)
    return (
        f"After {epochs} epochs their median rank is {found.median:g} of {found.size}, where the whole "
        f"grid was trained that long ({found.grids} cells: {'; '.join(where)})."
    )


def _where(trial: Trial) -> str:
    return Place(trial.dataset, trial.condition, trial.method, trial.model).where


def _against_published(runs: Sequence[Run], cut: Run) -> list[str]:
    """Accuracy of published settings minus that of the short round's choice, where both are done."""
    own = [r for r in runs if r.kind == "published" and r.request.plan == cut.request.plan]
    theirs = _finished(cut)
    pairs = [
        (entry, theirs[place])
        for run in own[:1]
        for place, entry in _finished(run).items()
        if place in theirs
    ]
    ours = [pair for pair in pairs if pair[0].place.method.startswith("lw-")]
    others = [pair for pair in pairs if pair not in ours]
    if not ours:
        return []
    good = [sum(map(reaches, column)) for column in zip(*ours, strict=True)]
    text = (
        f"Published settings minus the short round's choice, on the {len(ours)} finished cells of LW "
        f"that have both: {_gaps(ours)}; they reproduce {good[0]} of these cells, the short round's "
        f"choice {good[1]}."
    )
    if not others:
        return [text]
    rivals = "RC and CC, which have no published settings but this package's defaults, and PRODEN"
    return [text, f"The same for {rivals}, {len(others)} cells: {_gaps(others)}."]


def _finished(run: Run) -> dict[Place, Entry]:
    entries = run.table.entries
    return {p: entry for p, entry in entries.items() if entry.n and not run.unfinished[p]}


def _gaps(pairs: Sequence[tuple[Entry, Entry]]) -> str:
    gaps = [first.mean - second.mean for first, second in pairs]
    low, high = signed(min(gaps)), signed(max(gaps))
    return f"{signed(float(np.mean(gaps)))} points on average, from {low} to {high}"
