"""A request from beginning to end: what it would cost; then plan minus store, each record kept as it comes,
shared with other runners; with a bar, and how to go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from amongst.bars import Bar, counting
from amongst.bench.estimate import Estimate, check_data, check_precision, device_type, estimate
from amongst.bench.execute import Executor, LocalExecutor, Options, default_workers
from amongst.bench.execute_population import PopulationExecutor
from amongst.bench.execute_ray import RayExecutor
from amongst.bench.places import dataset_title, method_title
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record, Trial
from amongst.bench.rounds import advance, at_most, next_round
from amongst.bench.sources import Files, open_dataset
from amongst.bench.store import Store
from amongst.bench.underway import clear_done, meanwhile, underway_of
from amongst.data import entry, is_here
from amongst.errors import AmongstError, InputError, StoreError
from amongst.processes import interrupts
from amongst.train import as_device
from amongst.wording import COMMAND, counted, readable

BEAT_SECONDS = 15.0
POLL_SECONDS = 1.0

Report = Callable[[str, Record | None], None]
"""Called with what happened: ``"done"`` and a record, ``"waiting: …"`` and None."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to: trials of the plan, those that the store had before, that this runner ran, that
    other runners added; how many of those it ran failed; wall time."""

    trials: int
    had: int
    ran: int
    shared: int
    failed: int
    seconds: float


def make_executor(options: Options) -> Executor:
    """The executor that these options ask for."""
    if options.engine == "ray":
        return RayExecutor(options)
    device = str(as_device(options.device))
    if options.engine == "population" or (options.engine == "auto" and "cuda" in device):
        return PopulationExecutor(device, options.workers, options.files, options.scratch)
    return LocalExecutor(device, options.workers, options.files, options.scratch)


def bind_plan(plan: Plan, files: Files | None = None, *, unread: Collection[str] = ()) -> Plan:
    """The plan on the data of this machine; a data set that cannot be had becomes an absence. Data that
    stay `unread` have no digest.

    >>> from amongst.bench.plans import Request, make_plan
    >>> bound = bind_plan(make_plan(Request("demo", seeds=1)))
    >>> len(bound.trials[0].data_digest)
    64
    """
    digests = dict.fromkeys(unread, "")
    absent: dict[str, str] = {}
    for name in (name for name in plan.datasets if name not in digests):
        try:
            digests[name] = open_dataset(name, files).digest
        except (AmongstError, OSError) as error:
            absent[name] = str(error)
    return plan.bind(digests, absent)


def run_plan(
    plan: Plan,
    store: Store,
    executor: Executor,
    *,
    report: Report | None = None,
    on_round: Callable[[Plan], None] | None = None,
) -> Outcome:
    """Run the trials that the store lacks; of a search in rounds, one round after the other.

    Killed at any moment, it leaves every record that was added; called again, it goes on. A second
    runner on the same store takes other trials, and waits for those in hand elsewhere.

    Parameters
    ----------
    plan : bound to its data; see `bind_plan`.
    store : this process writes to it; workers do not.
    executor : see `make_executor`.
    report : told of each record and of each wait.
    on_round : told the plan, as far as it is known, before each round.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from amongst.bench.execute import LocalExecutor
    >>> from amongst.bench.plans import Request, make_plan
    >>> folder = tempfile.TemporaryDirectory()
    >>> request = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=2, epochs=1)
    >>> plan = bind_plan(make_plan(request))
    >>> with Store(Path(folder.name) / "demo.sqlite") as store:
    ...     first = run_plan(plan, store, LocalExecutor(workers=1))
    ...     again = run_plan(plan, store, LocalExecutor(workers=1))
    >>> first.ran, again.ran, again.had
    (2, 0, 2)
    >>> folder.cleanup()
    """
    began, tell = time.monotonic(), report or (lambda event, record: None)
    own = plan.request.own and plan.trials  # which data it was: the file may change
    asked = replace(plan.request, digest=plan.trials[0].data_digest) if own else plan.request
    store.add_request(asked.to_dict())
    before, ran, failed = store.keys(), 0, 0
    with _claims(store):
        while True:
            done = store.keys()  # before the plan: others may be adding to it
            plan = known_plan(plan, store)
            if not (missing := next_round(plan, done)):
                break
            if on_round is not None:
                on_round(plan)
            for record in _run_round(missing, store, executor, tell):
                ran += store.add(record)
                failed += record.failed
                tell("done", record)
    trials, had = len(plan.trials), _done(plan, before)
    return Outcome(trials, had, ran, trials - had - ran, failed, time.monotonic() - began)


def known_plan(plan: Plan, store: Store) -> Plan:
    """The plan as far as its store lets it be known."""
    return advance(plan, store.records(curves=False)) if plan.staged else plan


def _run_round(
    missing: dict[str, Trial], store: Store, executor: Executor, tell: Report
) -> Iterator[Record]:
    """Records of these trials, which the caller keeps, until the store has all of them."""
    while missing:
        mine = store.claim(missing, executor.chunk)
        if mine:
            yield from executor.map([missing[key] for key in mine])
        else:
            others = ", ".join(store.others()) or "another runner"
            tell(f"waiting for {counted(len(missing), 'trial')} that {others} is running", None)
            time.sleep(POLL_SECONDS)
        done = store.keys()
        missing = {key: trial for key, trial in missing.items() if key not in done}


@contextmanager
def _claims(store: Store) -> Iterator[None]:
    """Say every few seconds that this runner is alive, while long trials run; at last give back its claims."""

    def beat() -> None:
        if store.is_here:
            with suppress(StoreError), Store(store.path) as own:
                own.beat(store.runner)

    try:
        with meanwhile(beat, BEAT_SECONDS):
            yield
    finally:
        with suppress(StoreError):
            store.release()


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
        done, total = _done(self.plan, self.store.keys()), len(self.plan.trials)
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


def _done(plan: Plan, keys: Collection[str]) -> int:
    return sum(trial.key in keys for trial in plan.trials)


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
    done, total = _done(plan, store.keys()), len(plan.trials)
    known = " known by now" * plan.staged
    command = COMMAND.get()
    again = f"run the same command again: {command}" if command else "run the same request again."
    line = f"stopped: {done} of {counted(total, 'trial')}{known} are in {store.path}."
    tell(say, f"{line} To go on, {again}")
