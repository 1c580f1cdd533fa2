"""A trial under way: the checkpoint that it goes on from, and how far it is, beside the store."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from amongst.bench.record import Trial
from amongst.train import Callback, Checkpoint, Training
from amongst.wording import counted

SAVE_SECONDS = 15.0
TELL_SECONDS = 1.0
DIGITS = 16
"""Of a key, in the names of files and folders."""

Notice = Callable[[str], None] | None
"""Takes a few words for the progress bar."""


@dataclass(frozen=True)
class UnderWay:
    """Where a trial keeps what it has; a worker writes there, the runner looks on.

    >>> import tempfile
    >>> here = UnderWay(Path(tempfile.mkdtemp()), "0123456789abcdef0123")
    >>> here.checkpoint.name, here.share()
    ('0123456789abcdef.amongst', None)
    >>> here.tell(0.5)
    >>> here.share()
    0.5
    """

    folder: Path | None  # None to keep nothing
    key: str

    @property
    def checkpoint(self) -> Path:
        """The run at the end of some epoch."""
        return self._file("amongst")

    @property
    def population(self) -> Path | None:
        """The folder of a population that goes by this trial, its first."""
        return None if self.folder is None else self.folder / self.key[:DIGITS]

    def callbacks(self, mark: str) -> list[Callback]:
        """For `train`, so that it goes on from where a killed process of the same mark left it, and begins
        anew from a file that is broken, or of other software; Ctrl-C is the runner's affair."""
        if self.folder is None:
            return []
        self.folder.mkdir(parents=True, exist_ok=True)
        ways = {"forgiving": True, "keeps": False, "survives": False}
        kept = Checkpoint(self.checkpoint, mark, SAVE_SECONDS, **ways)
        return [kept, _Share(self.teller())]

    def tell(self, share: float) -> None:
        """Say how much of it is done."""
        share_file = self._file("share")
        with suppress(OSError):
            share_file.parent.mkdir(parents=True, exist_ok=True)
            share_file.write_text(str(share), "ascii")

    def teller(self) -> Callable[[float], None]:
        """`tell`, at most once a second: epochs may be shorter than the writing."""
        last = -math.inf

        def tell(share: float) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= TELL_SECONDS:
                last = now
                self.tell(share)

        return tell

    def share(self) -> float | None:
        """What was told last; None if nothing was, or it is being written."""
        try:
            return float(self._file("share").read_text("ascii"))
        except (OSError, ValueError):
            return None

    def untell(self) -> None:
        """Nothing is told any more."""
        self._file("share").unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove its files: the trial, or the population, is done."""
        if self.population is not None:
            shutil.rmtree(self.population, ignore_errors=True)
            self.checkpoint.unlink(missing_ok=True)
            self.untell()

    def _file(self, kind: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.key[:DIGITS]}.{kind}"


class _Share(Callback):
    """Says after every epoch how much of the training is done."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self.tell = tell

    def after_epoch(self, run: Training) -> None:
        """Say it."""
        self.tell(run.epoch / run.settings.epochs)


@contextmanager
def meanwhile(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Do it every so many seconds, in a thread, as long as the block runs."""
    stop = threading.Event()

    def again() -> None:
        while not stop.wait(seconds):
            work()

    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def told(
    folder: Path | None, trials: Sequence[Trial], notice: Notice, noun: str = "trial"
) -> Iterator[None]:
    """While these trials run, in whatever process: say every second how far they are.

    A population goes by its first trial, and by the noun ``"population"``.
    """
    if folder is None or notice is None:
        yield
        return
    places = [UnderWay(folder, trial.key) for trial in trials]
    for place in places:
        place.untell()  # what a killed process said

    def look() -> None:
        shares = [share for place in places if (share := place.share()) is not None]
        if shares:
            notice(f"{counted(len(shares), noun)} under way, {fmean(shares):.0%}")

    try:
        with meanwhile(look, TELL_SECONDS):
            yield
    finally:
        for place in places:
            place.untell()


def underway_of(store: Path) -> Path:
    """The folder beside a store for what its trials under way keep."""
    return store.with_name(store.name + ".underway")


def clear_done(folder: Path, done: Iterable[str]) -> int:
    """Remove what trials with a record left there: they ended under another engine, or in another
    population. The bytes of what remains, which a run may yet go on from."""
    names = {key[:DIGITS] for key in done}
    for path in folder.glob("*"):
        if path.name[:DIGITS] in names:
            UnderWay(folder, path.name[:DIGITS]).forget()
    kept = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".share"]
    remove_if_empty(folder)
    return sum(path.stat().st_size for path in kept)


def remove_if_empty(folder: Path | None) -> None:
    """Remove a folder in which nothing is left."""
    if folder is not None:
        with suppress(OSError):  # it is not there, or something is in it
            folder.rmdir()
