"""Plan minus store: run what is missing, keep each record as it comes, share with other runners."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from amongst.bench.execute import Executor, LocalExecutor, Options
from amongst.bench.execute_population import PopulationExecutor
from amongst.bench.execute_ray import RayExecutor
from amongst.bench.plans import Plan, Request
from amongst.bench.record import Record, Trial
from amongst.bench.rounds import advance, next_round
from amongst.bench.sources import Files, open_dataset
from amongst.bench.store import Store
from amongst.errors import AmongstError, StoreError
from amongst.train import as_device
from amongst.wording import counted

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


def missing_trials(plan: Plan, store: Store) -> dict[str, Trial]:
    """Plan minus store, in the order of the plan."""
    done = store.keys()
    return {trial.key: trial for trial in plan.trials if trial.key not in done}


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
    store.add_request(_asked(plan).to_dict())
    before, ran, failed = store.keys(), 0, 0
    with _Heart(store):
        while True:
            plan, missing = _next(plan, store)
            if not missing:
                break
            if on_round is not None:
                on_round(plan)
            for record in _run_round(missing, store, executor, tell):
                ran += store.add(record)
                failed += record.failed
                tell("done", record)
    trials = len(plan.trials)
    had = sum(trial.key in before for trial in plan.trials)
    seconds = time.monotonic() - began
    return Outcome(trials, had, ran, trials - had - ran, failed, seconds)


def _asked(plan: Plan) -> Request:
    """The request; of a file of one's own also which data it was: the file may change."""
    own = plan.request.own and plan.trials
    return replace(plan.request, digest=plan.trials[0].data_digest) if own else plan.request


def known_plan(plan: Plan, store: Store) -> Plan:
    """The plan as far as its store lets it be known."""
    return advance(plan, store.records(curves=False)) if plan.staged else plan


def _next(plan: Plan, store: Store) -> tuple[Plan, dict[str, Trial]]:
    """The plan and its next round, by one look at the store: others may be adding to it."""
    if not plan.staged:
        return plan, missing_trials(plan, store)
    records = store.records(curves=False)
    plan = advance(plan, records)
    return plan, next_round(plan, {record.key for record in records})


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


class _Heart:
    """Says every few seconds that this runner is alive, while long trials run."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()
        with suppress(StoreError):
            self.store.release()

    def _beat(self) -> None:
        while not self.stop.wait(BEAT_SECONDS):
            if not self.store.is_here:
                return
            with suppress(StoreError), Store(self.store.path) as own:
                own.beat(self.store.runner)
