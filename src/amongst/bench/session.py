"""A request from beginning to end at a terminal: estimate, progress, and how to go on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from amongst.bars import Bar, counting
from amongst.bench.estimate import Estimate, check_data, check_precision, device_type, estimate
from amongst.bench.execute import Options, default_workers
from amongst.bench.places import dataset_title, method_title
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record
from amongst.bench.rounds import advance, at_most, next_round
from amongst.bench.runner import Outcome, bind_plan, known_plan, make_executor, run_plan
from amongst.bench.store import Store
from amongst.bench.underway import clear_done, underway_of
from amongst.data import entry, is_here
from amongst.errors import InputError
from amongst.processes import interrupts
from amongst.wording import COMMAND, counted, readable


def tell(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is, so that paths and commands in it can be copied whole."""
    console.print(line, style=style or None, highlight=False, markup=False, soft_wrap=True)


def dry_run(
    request: Request,
    options: Options,
    store: Path | None = None,
    *,
    console: Console | None = None,
) -> Estimate:
    """What a request would cost: nothing is trained, nothing is written. `store` may be missing.

    What the run itself would refuse is refused here, except for a GPU that is not on this machine.

    >>> dry_run(Request("demo", seeds=1), Options(device="cpu", workers=1)).trials
    15
    """
    say = console or Console(stderr=True)
    plan = checked_plan(request, options, store)
    records: list[Record] = []
    if store is not None and store.exists():
        with Store(store, readonly=True) as kept:
            records = kept.records(curves=False)
    own = options.files or {}
    here = [name for name in plan.datasets if name in own or is_here(entry(name))]
    away = [n for n in plan.datasets if n not in here and entry(n).can_be_fetched]
    for name in away:
        line = f"{dataset_title(name)} is not here; the run downloads it first."
        tell(say, line, "yellow")
    unread = away if records else here + away  # without a record, no digest is asked for
    plan = bind_plan(plan, options.files, unread=unread)
    _tell_absences(plan, say)
    plan, device = advance(plan, records), device_type(options)
    gpu = device == "cuda"
    stacked = options.engine == "population" or (options.engine == "auto" and gpu)
    return estimate(
        plan.trials,
        records,
        way="population" if stacked and gpu else device,
        workers=1 if stacked else options.workers or default_workers(device),
        members=250 if stacked and gpu else 1,
        files=options.files,
        later=at_most(plan, {record.key for record in records}),
    )


def run_request(
    request: Request, store: Path, options: Options, *, console: Console | None = None
) -> tuple[Plan, Outcome]:
    """Run what the store lacks, with a progress bar; Ctrl-C and SIGTERM leave a state to go on from.

    Gives the plan bound to its data, and what was done. `console` None is standard error.
    """
    say = console or Console(stderr=True)
    plan = bind_plan(checked_plan(request, options, store), options.files)
    _tell_absences(plan, say)
    if request.scale == "paper":  # what takes long keeps checkpoints
        options = replace(options, scratch=underway_of(store))
    elif options.engine == "auto":  # small networks are fastest as populations everywhere
        options = replace(options, engine="population")
    executor = make_executor(options)
    try:
        with Store(store) as kept:
            try:
                with interrupts(), _Bar(plan, kept, say) as bar:
                    executor.notice = bar.notice
                    outcome = run_plan(plan, kept, executor, report=bar, on_round=bar.begin)
            except KeyboardInterrupt:
                with suppress(OSError):  # the terminal may be closed
                    _tell_how_to_go_on(plan, kept, say)
                raise
            left = clear_done(underway_of(store), kept.keys()) if not kept.others() else 0
    finally:
        executor.close()
    words = [f"{counted(outcome.ran, 'trial')} run in {readable(outcome.seconds)}"]
    words += [f"{outcome.had} were in {store} already"] if outcome.had else []
    words += [f"{outcome.shared} by other runners"] if outcome.shared else []
    words += [f"{outcome.failed} failed"] if outcome.failed else []
    tell(say, f"{', '.join(words)}.")
    if left:
        folder = f"{underway_of(store)} has {left / 1e6:,.1f} MB of other trainings"
        rest = "Their command goes on from there; delete the folder if nobody will run it."
        tell(say, f"{folder} that were stopped midway. {rest}")
    return plan, outcome


def checked_plan(request: Request, options: Options, store: Path | None) -> Plan:
    """The plan, if nothing speaks against it."""
    if store is not None and store.is_dir():
        raise InputError(f"--store {store} is a folder; name a file.")
    check_precision(request, options)
    if request.criterion != Request.criterion:  # a stored request always has one
        request.check_searched("criterion")
    plan = make_plan(request)
    check_data(plan, options.files)
    return plan


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
            tell(self.console, _round(plan, self.store.keys()))

    def _count(self) -> None:
        """By the store: other runners may be adding to it."""
        done, total = _progress(self.plan, self.store)
        self.progress.update(self.task, total=total, completed=done)

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


def _progress(plan: Plan, store: Store) -> tuple[int, int]:
    done = store.keys()
    return sum(trial.key in done for trial in plan.trials), len(plan.trials)


def _round(plan: Plan, done: set[str]) -> str:
    """What a round of a search has to do, and what may follow."""
    trials = next_round(plan, done)
    epochs = {str(t.settings["epochs"]) for t in trials.values() if "epochs" in t.settings}
    length = f" of {' or '.join(sorted(epochs))} epoch{'s' * (epochs != {'1'})}" if epochs else ""
    known = sum(trial.key not in done and trial.key not in trials for trial in plan.trials)
    more = known + len(at_most(plan, done))
    later = f"; then at most {more:,} more" if more else ", the last ones"
    return f"this round: {counted(len(trials), 'trial')}{length}{later}"


def _tell_absences(plan: Plan, say: Console) -> None:
    absent = {cell.slot.dataset: cell.absent for cell in plan.cells if cell.absent}
    for name, reason in absent.items():
        tell(say, f"{dataset_title(name)} is left out: {reason}", "yellow")
    if not plan.trials:
        raise InputError("none of the data of this plan can be had here; see the lines above.")


def _tell_how_to_go_on(plan: Plan, store: Store, say: Console) -> None:
    plan = known_plan(plan, store)
    done, total = _progress(plan, store)
    known = " known by now" * plan.staged
    command = COMMAND.get()
    again = f"run the same command again: {command}" if command else "run the same request again."
    line = f"stopped: {done} of {counted(total, 'trial')}{known} are in {store.path}."
    tell(say, f"{line} To go on, {again}")
