"""A request from beginning to end at a terminal: estimate, progress, and how to go on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from amongst.bars import Bar, counting
from amongst.bench.estimate import Estimate, estimate, readable
from amongst.bench.execute import Options, make_executor
from amongst.bench.execute_local import default_workers
from amongst.bench.feasible import (
    check_data,
    check_precision,
    check_store,
    device_type,
    to_download,
    unread,
)
from amongst.bench.paper import dataset_title, method_title
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record
from amongst.bench.runner import Outcome, bind_plan, known_plan, run_plan
from amongst.bench.stages import advance, at_most, next_round
from amongst.bench.store import Store
from amongst.bench.underway import clear_done, underway_of
from amongst.bench.wording import tell
from amongst.errors import InputError
from amongst.wording import COMMAND, counted

__all__ = ["checked_plan", "dry_run", "run_request"]

Handler = Callable[[int, FrameType | None], None]


def dry_run(
    request: Request,
    options: Options,
    store: Path | None = None,
    *,
    console: Console | None = None,
) -> Estimate:
    """What a request would cost: nothing is trained, nothing is written.

    What the run itself would refuse is refused here, except for a GPU that is not on this machine.

    Parameters
    ----------
    request, options : as for `run_request`.
    store : whose records are done already; it may be missing.
    console : told which data are not here; None for standard error.

    >>> dry_run(Request("demo", seeds=1), Options(device="cpu", workers=1)).trials
    15
    """
    say = console or Console(stderr=True)
    plan = checked_plan(request, options, store)
    records: list[Record] = []
    if store is not None and store.exists():
        with Store(store, readonly=True) as kept:
            records = kept.records(curves=False)
    left = _tell_downloads(plan, options, say)
    plan = bind_plan(plan, options.files, unread=left if records else unread(plan, options.files))
    _tell_absences(plan, say)
    return _estimate(advance(plan, records), records, options)


def run_request(
    request: Request, store: Path, options: Options, *, console: Console | None = None
) -> tuple[Plan, Outcome]:
    """Run what the store lacks, with a progress bar; Ctrl-C and SIGTERM leave a state to go on from.

    Parameters
    ----------
    request : what to run.
    store : the file of the store.
    options : where and how to run.
    console : of the progress bar and the messages; None for standard error.

    Returns
    -------
    (Plan, Outcome)
        The plan bound to its data, and what was done.
    """
    say = console or Console(stderr=True)
    plan = bind_plan(checked_plan(request, options, store), options.files)
    _tell_absences(plan, say)
    executor = make_executor(_fitting(options, request, store))
    try:
        with Store(store) as kept:
            try:
                with _interruptible(), _Bar(plan, kept, say) as bar:
                    executor.notice = bar.notice
                    outcome = run_plan(plan, kept, executor, report=bar, on_round=bar.begin)
            except KeyboardInterrupt:
                _tell_how_to_go_on(plan, kept, say)
                raise
            left = clear_done(underway_of(store), kept.keys()) if not kept.others() else 0
    finally:
        executor.close()
    tell(say, _done(outcome, store))
    if left:
        tell(say, _left(left, store))
    return plan, outcome


def checked_plan(request: Request, options: Options, store: Path | None) -> Plan:
    """The plan, if nothing speaks against it.

    >>> len(checked_plan(Request("demo", seeds=1), Options(device="cpu"), None).trials)
    15
    """
    if store is not None:
        check_store(store)
    check_precision(request, options)
    if request.criterion != Request.criterion:  # a stored request always has one
        request.check_searched("criterion")
    plan = make_plan(request)
    check_data(plan, options.files)
    return plan


def _fitting(options: Options, request: Request, store: Path) -> Options:
    """Small networks are fastest as populations everywhere; what takes long keeps checkpoints."""
    if request.scale == "paper":
        return replace(options, scratch=underway_of(store))
    return replace(options, engine="population") if options.engine == "auto" else options


class _Bar:
    """A progress bar that moves with each record."""

    def __init__(self, plan: Plan, store: Store, console: Console) -> None:
        self.console, self.store, self.waiting = console, store, ""
        self.plan = known_plan(plan, store)
        self.progress = Bar(*counting(), console=console)

    def __enter__(self) -> _Bar:
        self.progress.start()
        self.task = self.progress.add_task("trials", total=len(self.plan.trials))
        self._count()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._count()
        self.progress.stop()

    def begin(self, plan: Plan) -> None:
        """A round begins: the bar grows by what is known now."""
        self.plan = plan
        self._count()
        if plan.staged:
            line = _round(plan, self.store.keys())
            tell(self.console, line)

    def _count(self) -> None:
        """By the store: other runners may be adding to it."""
        done = self.store.keys()
        count = sum(trial.key in done for trial in self.plan.trials)
        self.progress.update(self.task, total=len(self.plan.trials), completed=count)

    def notice(self, words: str) -> None:
        """Say what goes on between two records."""
        self.progress.update(self.task, description=words)

    def __call__(self, event: str, record: Record | None) -> None:
        if record is None:
            if event != self.waiting:
                self.console.print(event, highlight=False, markup=False)
            self.waiting = event
            self._count()
            return
        trial = record.trial
        name = f"{dataset_title(trial.dataset)}, {trial.condition}, {method_title(trial.method)}"
        self.progress.update(self.task, advance=1, description=name)


def _estimate(plan: Plan, records: list[Record], options: Options) -> Estimate:
    device = device_type(options)
    stacked = options.engine == "population" or (options.engine == "auto" and device == "cuda")
    gpu = device == "cuda"
    return estimate(
        plan.trials,
        records,
        way="population" if stacked and gpu else device,
        workers=1 if stacked else options.workers or default_workers(device),
        members=250 if stacked and gpu else 1,
        files=options.files,
        later=at_most(plan, {record.key for record in records}),
    )


def _round(plan: Plan, done: set[str]) -> str:
    """What a round of a search has to do, and what may follow."""
    trials = next_round(plan, done)
    epochs = {
        str(trial.settings["epochs"]) for trial in trials.values() if "epochs" in trial.settings
    }
    length = f" of {' or '.join(sorted(epochs))} epoch{'s' * (epochs != {'1'})}" if epochs else ""
    known = sum(trial.key not in done and trial.key not in trials for trial in plan.trials)
    more = known + len(at_most(plan, done))
    later = f"; then at most {more:,} more" if more else ", the last ones"
    return f"this round: {counted(len(trials), 'trial')}{length}{later}"


def _tell_downloads(plan: Plan, options: Options, say: Console) -> list[str]:
    """Which data the run would download; a dry run does not."""
    found = to_download(plan, options.files)
    for name in found:
        line = f"{dataset_title(name)} is not here; the run downloads it first."
        tell(say, line, "yellow")
    return found


def _tell_absences(plan: Plan, say: Console) -> None:
    absent = {cell.slot.dataset: cell.absent for cell in plan.cells if cell.absent}
    for name, reason in absent.items():
        line = f"{dataset_title(name)} is left out: {reason}"
        tell(say, line, "yellow")
    if not plan.trials:
        raise InputError("none of the data of this plan can be had here; see the lines above.")


def _tell_how_to_go_on(plan: Plan, store: Store, say: Console) -> None:
    plan, done = known_plan(plan, store), store.keys()
    count = sum(trial.key in done for trial in plan.trials)
    command = COMMAND.get()
    again = f"run the same command again: {command}" if command else "run the same request again."
    line = (
        f"stopped: {count} of {counted(len(plan.trials), 'trial')}{' known by now' * plan.staged} are in "
        f"{store.path}. To go on, {again}"
    )
    tell(say, line)


def _done(outcome: Outcome, store: Path) -> str:
    words = [f"{counted(outcome.ran, 'trial')} run in {readable(outcome.seconds)}"]
    if outcome.had:
        words.append(f"{outcome.had} were in {store} already")
    if outcome.shared:
        words.append(f"{outcome.shared} by other runners")
    if outcome.failed:
        words.append(f"{outcome.failed} failed")
    return ", ".join(words) + "."


def _left(size: int, store: Path) -> str:
    return (
        f"{underway_of(store)} has {size / 1e6:,.1f} MB of other trainings that were stopped midway. "
        "Their command goes on from there; delete the folder if nobody will run it."
    )


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM (a cluster taking the machine back) is Ctrl-C, and Ctrl-C is never lost.

    An interrupt in the midst of a library's C code can come out as an error of that library. A second
    one is ignored, here and by what ends the workers: cut short, that would leave them running, and
    this process waiting for them.
    """
    came: list[int] = []
    before: dict[int, Any] = {}

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for taken in before:
            signal.signal(taken, signal.SIG_IGN)
        raise KeyboardInterrupt

    before |= _take_over(interrupt)
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _take_over(handler: Handler) -> dict[int, Any]:
    """The handlers before; SIGINT stays as it is where Python does not raise KeyboardInterrupt."""
    plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    numbers = (signal.SIGTERM, signal.SIGINT) if plain else (signal.SIGTERM,)
    try:
        return {number: signal.signal(number, handler) for number in numbers}
    except ValueError:  # not in the main thread
        return {}
