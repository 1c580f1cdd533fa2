"""Trials grouped by shape, and each group trained as one population."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from amongst.accel.population import (
    Criterion,
    Member,
    PopulationResult,
    Progress,
    train_population,
)  # fmt: skip
from amongst.algorithms import Method
from amongst.bench.conditions import parse
from amongst.bench.execute import Executor, spread
from amongst.bench.points import method_class
from amongst.bench.record import Record, Trial, canonical_json, grouped
from amongst.bench.sources import Files, TrialData, trial_data
from amongst.bench.trial import (
    label_rates,
    make_method,
    make_settings,
    model_options,
    record_of,
    run_trial,
    stamp,
    watch_test,
)  # fmt: skip
from amongst.bench.underway import Notice, UnderWay, told
from amongst.devices import made_on_cpu, one_thread
from amongst.metrics import approximated_accuracy, covering_rate
from amongst.models import DENSE
from amongst.selection.criteria import LARGEST_RATE
from amongst.train import as_device

MEMBERS = {"cuda": 250, "cpu": 32}
"""At most so many in one population: its records are kept before the next one starts."""

HELD: dict[str, Criterion] = {
    "covering_val": covering_rate,
    "approximated_val": approximated_accuracy,
}


class PopulationExecutor(Executor):
    """Populations: on a GPU hundreds of trials take the time of one; on a CPU each worker trains one.

    Trials that share features and the shape of the network form a population; ConvNets, which are
    saved on their way all the same, other networks for images, algorithms that are no mere loss, and
    methods without a network run one by one.
    """

    name = "population"
    chunk = 1000

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
            # on a GPU the host's threads are free to serve it
            with nullcontext() if self.device.startswith("cuda") else one_thread():
                records = work(group, notice=self.notice)
            yield from records


def run_together(
    group: Sequence[Trial],
    device: str = "cpu",
    files: Files | None = None,
    scratch: Path | None = None,
    notice: Notice = None,
) -> list[Record]:
    """Records of a group of `group_trials`: as a population, or of a trial that runs alone."""
    if _by_itself(group[0]):
        with told(scratch, group, notice):
            run = partial(run_trial, device=device, files=files, scratch=scratch)
            return [run(trial) for trial in group]
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
    masks = {id(item): torch.from_numpy(item.sets.to_mask()) for item in data}
    members = [_member(t, d, masks[id(d)]) for t, d in zip(trials, data, strict=True)]
    result = train_population(
        data[0].features,
        members,
        model=trials[0].model,
        options=model_options(trials[0]),
        watch=watch_test(data[0], as_device(device)),
        held={} if members[0].held is None else HELD | {"risk_val": _MemberRisk(data)},
        device=device,
        backend="alone" if _alone(trials[0]) else "auto",
        checkpoint=checkpoint,
        on_epoch=on_epoch,
    )
    trained = sum(float(wave.seconds.sum()) for wave in result.waves)  # before a resume, too
    seconds = max(time.perf_counter() - began, trained) / len(trials)
    records = [_record(trial, result, i) for i, trial in enumerate(trials)]
    return [stamp(record, device, "population", seconds) for record in records]


class _MemberRisk:
    """Mean of [ŷ ∉ s] / (1 − q_ŷ) on each member's held rows, with the rates of its own sets.

    A population hands its criteria scores (M, n, K) and masks (M, n, K), and not whose they are: a
    member's data are recognised by a checksum of its masks.
    """

    def __init__(self, data: Iterable[TrialData]) -> None:
        distinct = {id(item): item for item in data}.values()
        masks = [torch.from_numpy(item.sets[item.held].to_mask()) for item in distinct]
        generator = torch.Generator().manual_seed(0)
        self.marks = torch.randint(-(2**62), 2**62, masks[0].shape, generator=generator)
        rates = [label_rates(item) for item in distinct]
        self.rates = dict(zip(self._sums(torch.stack(masks)), rates, strict=True))
        self.last: tuple[Tensor, Tensor] | None = None

    def __call__(self, scores: Tensor, inside: Tensor) -> Tensor:
        """Values (M,)."""
        if self.last is None or self.last[0] is not inside:  # once for the masks of a training
            rates = torch.stack([self.rates[mark] for mark in self._sums(inside)])
            caught = (1 - rates.clamp(max=LARGEST_RATE)).to(inside.device, torch.float32)
            self.last = inside, caught
        predicted = scores.argmax(-1, keepdim=True)
        missed = ~inside.gather(-1, predicted).squeeze(-1)
        return (missed / self.last[1].gather(-1, predicted.squeeze(-1))).mean(-1)

    def _sums(self, inside: Tensor) -> list[int]:
        """One number for each mask, exact: integers that wrap around."""
        marks = self.marks.to(inside.device)
        found: list[int] = torch.stack([(marks * own).sum() for own in inside]).tolist()
        return found


def _teller(notice: Notice, place: UnderWay, members: int) -> Callable[[Progress], None] | None:
    """Words for the bar of this process; in a worker, which has none, a share for the runner."""
    if notice is None:
        if place.folder is None:
            return None
        tell = place.teller()
        return lambda progress: tell(progress.done / progress.total)
    what = f"{members} models together" if members > 1 else "one model"
    return lambda progress: notice(
        f"{what}, {progress.done / progress.total:.0%}, {progress.seconds_left:.0f} s left"
    )


def _member(trial: Trial, data: TrialData, mask: Tensor) -> Member:
    held = torch.from_numpy(data.held) if len(data.held) else None
    truth = None
    if held is not None and data.truth is not None:
        truth = torch.from_numpy(data.truth[data.held])
    return Member(
        make_method(trial, data.sets[data.kept]),
        mask,
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
    return record_of(trial, result.members[i].loss, history.to_dict("records"))


def _alone(trial: Trial) -> bool:
    return trial.model == "convnet" or _by_itself(trial)


def _by_itself(trial: Trial) -> bool:
    """Whether `run_trial` is for it: populations have losses, and networks that can be stacked."""
    kind = method_class(trial.method)
    stackable = kind is not None and issubclass(kind, Method)
    return not stackable or trial.model not in (*DENSE, "convnet")


def _shape(trial: Trial) -> str:
    """Everything that the members of a population have in common."""
    names = ("epochs", "batch_size", "precision", "widths", "validation", "folds")
    common = {name: trial.settings.get(name) for name in names}
    split = None if trial.fold is None else [trial.seed, trial.fold]
    rho = parse(trial.condition).rho
    rows = None if rho == 1 else [rho, trial.seed]  # a long tail is of other rows for each seed
    return canonical_json([trial.dataset, trial.data_digest, trial.model, split, rows, common])
