"""Trials grouped by shape, and each group trained as one population."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import torch

from amongst.bench.execute import Notice
from amongst.bench.execute_local import default_workers, spread
from amongst.bench.grouping import grouped
from amongst.bench.points import CLASSICAL
from amongst.bench.record import Record, Trial, canonical_json
from amongst.bench.risk import MemberRisk
from amongst.bench.sources import Files, TrialData, trial_data
from amongst.bench.trial import (
    make_method,
    make_settings,
    model_options,
    record_of,
    run_trial,
    stamp,
    watch_test,
)
from amongst.bench.underway import UnderWay, remove_if_empty, told
from amongst.defaults import made_on_cpu
from amongst.engine import as_device
from amongst.engine.population import (
    Criterion,
    Member,
    PopulationResult,
    Progress,
    train_population,
)
from amongst.metrics import approximated_accuracy, covering_rate
from amongst.threads import one_thread

__all__ = ["MEMBERS", "PopulationExecutor", "group_trials", "run_group", "run_together"]

CHUNK = 1000
MEMBERS = {"cuda": 250, "cpu": 32}
"""At most so many in one population: its records are kept before the next one starts."""

HELD: dict[str, Criterion] = {
    "covering_val": covering_rate,
    "approximated_val": approximated_accuracy,
}


class PopulationExecutor:
    """Populations in this process: on a GPU hundreds of trials take the time of one.

    Trials that share features and the shape of the network form a population; ConvNets, which are
    saved on their way all the same, and methods without a network run one by one.

    Parameters
    ----------
    device : of the trials.
    workers : processes, on a CPU: each trains a population of its own, with one thread.
    files : data of one's own.
    scratch : folder for checkpoints of populations under way; None for none.
    """

    name = "population"
    chunk = CHUNK
    notice: Notice = None

    def __init__(
        self,
        device: str = "cpu",
        workers: int | None = None,
        files: Files | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.device, self.files, self.scratch = device, files, scratch
        self.workers = workers or default_workers(device)

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records, group by group."""
        work = partial(run_together, device=self.device, files=self.files, scratch=self.scratch)
        groups = group_trials(trials, MEMBERS[torch.device(self.device).type])
        if self.workers > 1 and len(groups) > 1:
            firsts = [group[0] for group in groups]
            with told(self.scratch, firsts, self.notice, "population"):
                for records in spread(work, groups, self.workers):
                    yield from records
            return
        for group in groups:
            with _threads(self.device):
                records = work(group, notice=self.notice)
            yield from records

    def close(self) -> None:
        """Remove the folder for checkpoints, if nothing is left in it."""
        remove_if_empty(self.scratch)


def run_together(
    group: Sequence[Trial],
    device: str = "cpu",
    files: Files | None = None,
    scratch: Path | None = None,
    notice: Notice = None,
) -> list[Record]:
    """Records of a group of `group_trials`: as a population, or of a trial that runs alone."""
    if group[0].method in CLASSICAL:
        return [run_trial(trial, device=device, files=files) for trial in group]
    place = UnderWay(scratch, group[0].key)
    teller = _teller(notice, place, len(group))
    records = run_group(group, device, files, place.population, teller)
    place.forget()
    return records


def group_trials(trials: Sequence[Trial], most: int = 250) -> list[list[Trial]]:
    """Trials of one data set, fold, network and length, at most so many together.

    >>> plan = [Trial("digits", "q=0.1", m, "mlp", s) for m in ("rc", "cc") for s in (0, 1)]
    >>> [len(group) for group in group_trials(plan)]
    [4]
    """
    groups = grouped(trials, lambda trial: trial.key if _alone(trial) else _shape(trial))
    return [g[a : a + most] for g in groups.values() for a in range(0, len(g), most)]


@made_on_cpu()
def run_group(
    trials: Sequence[Trial],
    device: str = "cpu",
    files: Files | None = None,
    checkpoint: Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
) -> list[Record]:
    """Train one group as a population, and give each trial its record.

    >>> settings = {"epochs": 1, "widths": "8", "validation": 0.1}
    >>> group = [Trial("digits", "q=0.1", "cc", "mlp", 0, settings=settings | {"lr": lr})
    ...          for lr in (0.1, 0.01)]
    >>> [sorted(record.curves)[0] for record in run_group(group)]
    ['accuracy_test', 'accuracy_test']
    """
    began = time.perf_counter()
    data = [trial_data(trial, files) for trial in trials]
    masks = _Masks()
    members = [_member(t, d, masks) for t, d in zip(trials, data, strict=True)]
    result = train_population(
        data[0].features,
        members,
        model=trials[0].model,
        options=model_options(trials[0]),
        watch=watch_test(data[0], as_device(device)),
        held={} if members[0].held is None else HELD | {"risk_val": MemberRisk(data)},
        device=device,
        backend="alone" if _alone(trials[0]) else "auto",
        checkpoint=checkpoint,
        on_epoch=on_epoch,
    )
    seconds = max(time.perf_counter() - began, _trained(result)) / len(trials)
    records = [_record(trial, result, i) for i, trial in enumerate(trials)]
    return [stamp(record, device, "population", seconds) for record in records]


def _trained(result: PopulationResult) -> float:
    """Seconds of all epochs, those before a resume too."""
    return sum(float(wave.seconds.sum()) for wave in result.waves)


def _teller(notice: Notice, place: UnderWay, members: int) -> Callable[[Progress], None] | None:
    """Words for the bar of this process; in a worker, which has none, a share for the runner."""
    if notice is not None:
        return partial(_tell, notice, members)
    if place.folder is None:
        return None
    tell = place.teller()
    return lambda progress: tell(progress.done / progress.total)


def _tell(notice: Callable[[str], None], members: int, progress: Progress) -> None:
    share = progress.done / progress.total
    what = f"{members} models together" if members > 1 else "one model"
    notice(f"{what}, {share:.0%}, {progress.seconds_left:.0f} s left")


def _threads(device: str) -> AbstractContextManager[None]:
    """On a GPU the host's threads are free to serve it."""
    return nullcontext() if device.startswith("cuda") else one_thread()


class _Masks:
    """One tensor for each distinct set of candidates, so that members share it."""

    def __init__(self) -> None:
        self.known: dict[int, torch.Tensor] = {}

    def of(self, data: TrialData) -> torch.Tensor:
        if id(data) not in self.known:
            self.known[id(data)] = torch.from_numpy(data.sets.to_mask())
        return self.known[id(data)]


def _member(trial: Trial, data: TrialData, masks: _Masks) -> Member:
    held = torch.from_numpy(data.held) if len(data.held) else None
    truth = None
    if held is not None and data.truth is not None:
        truth = torch.from_numpy(data.truth[data.held])
    return Member(
        make_method(trial, data.sets[data.kept]),
        masks.of(data),
        make_settings(trial),
        rows=torch.from_numpy(data.kept),
        held=held,
        held_truth=truth,
    )


def _record(trial: Trial, result: PopulationResult, i: int) -> Record:
    epoch = result.diverged[i]
    if epoch is not None:
        return Record(trial, error=f"the loss became NaN or infinite in epoch {epoch}")
    history = result.history(i).rename(columns={"oracle": "accuracy_val"})
    return record_of(trial, result.members[i].method, history.to_dict("records"))


def _alone(trial: Trial) -> bool:
    return trial.method in CLASSICAL or trial.model == "convnet"


def _shape(trial: Trial) -> str:
    """Everything that the members of a population have in common."""
    names = ("epochs", "batch_size", "precision", "widths", "validation", "folds")
    common = {name: trial.settings.get(name) for name in names}
    split = None if trial.fold is None else [trial.seed, trial.fold]
    return canonical_json([trial.dataset, trial.data_digest, trial.model, split, common])
