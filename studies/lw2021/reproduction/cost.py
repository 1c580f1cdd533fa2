"""What the runs took, and what the style of public code would have taken: the latter multiplied out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from amongst.bench.estimate import dataset_facts
from amongst.bench.record import Record, Trial
from amongst.data import entry
from amongst.estimators import CLASSICAL

__all__ = ["Cost", "PublicStyle", "cost", "gpu_span"]

MLP_ROWS, CONVNET_ROWS = 60_000, 50_000
PAUSE = 1800.0
"""Seconds without a record after which nobody was at work."""


@dataclass(frozen=True)
class PublicStyle:
    """Seconds per epoch in the style of public code, as measured on a GPU.

    Attributes
    ----------
    mlp, convnet : one model, 60,000 and 50,000 rows, with evaluation.
    machine : where, and when.
    """

    mlp: float
    convnet: float
    machine: str

    @classmethod
    def read(cls, folder: Path) -> PublicStyle | None:
        """From ``gpu_population.json`` and ``gpu_convnet.json``; None if one is not there."""
        paths = [folder / f"{name}.json" for name in ("gpu_population", "gpu_convnet")]
        if not all(path.is_file() for path in paths):
            return None
        mlp, convnet = (json.loads(path.read_text("utf-8")) for path in paths)
        machine = mlp["machine"]
        return cls(
            _row(mlp, "public style")["seconds_per_epoch_and_model"],
            _row(convnet, "public")["seconds_with_evaluation"],
            f"{machine['device']}, torch {machine['torch']}, {machine['date']}",
        )

    def seconds(self, record: Record) -> float:
        """Of one trial: its epochs × the measured epoch × its share of the measured rows."""
        trial = record.trial
        epochs = float(trial.settings.get("epochs", 0))
        kept = 1.0 - float(trial.settings.get("validation", 0.0))
        rows = _training_rows(trial) * kept
        if trial.model == "convnet":
            return epochs * self.convnet * rows / CONVNET_ROWS
        return epochs * self.mlp * rows / MLP_ROWS


@dataclass(frozen=True)
class Cost:
    """Of some trials.

    Attributes
    ----------
    networks, epochs, seconds : trained on a GPU: how many, their epochs, wall time by the records.
    public : seconds that these would take in the style of public code, multiplied out; NaN if it
        was not measured.
    cpu_networks, cpu_seconds : trained on a CPU.
    classical, classical_seconds : methods without a network.
    """

    networks: int
    epochs: int
    seconds: float
    public: float
    cpu_networks: int
    cpu_seconds: float
    classical: int
    classical_seconds: float


def cost(records: Iterable[Record], style: PublicStyle | None) -> Cost:
    """Add up.

    >>> from amongst.bench import Trial
    >>> trial = Trial("mnist", "q=0.1", "rc", "mlp", 0, settings={"epochs": 10})
    >>> found = cost([Record(trial, seconds=2.0, device="NVIDIA H200")], PublicStyle(4.0, 7.0, ""))
    >>> found.seconds, found.public
    (2.0, 40.0)
    """
    found = list(records)
    plain = [record for record in found if record.trial.method in CLASSICAL]
    neural = [record for record in found if record.trial.method not in CLASSICAL]
    gpu = [record for record in neural if record.device != "cpu"]
    cpu = [record for record in neural if record.device == "cpu"]
    return Cost(
        networks=len(gpu),
        epochs=sum(int(r.trial.settings.get("epochs", 0)) for r in gpu),
        seconds=_seconds(gpu),
        public=sum(map(style.seconds, gpu)) if style else float("nan"),
        cpu_networks=len(cpu),
        cpu_seconds=_seconds(cpu),
        classical=len(plain),
        classical_seconds=_seconds(plain),
    )


def gpu_span(records: Iterable[Record]) -> tuple[float, float]:
    """Seconds on a GPU by the records, and by the clock: from the first record to the last.

    The clock stands still where no record came for half an hour. More seconds than the clock has
    are of processes side by side.

    >>> from amongst.bench import Trial
    >>> trial = Trial("mnist", "q=0.1", "rc", "mlp", 0)
    >>> times = [f"2026-01-01T{time}:00+00:00" for time in ("10:00", "10:10", "12:00", "12:01")]
    >>> gpu_span([Record(trial, seconds=600.0, device="GPU", created=time) for time in times])
    (2400.0, 660.0)
    """
    gpu = [r for r in records if r.device != "cpu" and r.created]
    times = sorted(datetime.fromisoformat(record.created) for record in gpu)
    steps = [(after - before).total_seconds() for before, after in pairwise(times)]
    return _seconds(gpu), sum(step for step in steps if step < PAUSE)


def _training_rows(trial: Trial) -> float:
    """Before any are held out; of a fold, all but its share of test rows."""
    if trial.fold is None:
        return dataset_facts(trial.dataset).kept
    return entry(trial.dataset).n * (1 - 1 / int(trial.settings.get("folds", 10)))


def _seconds(records: Iterable[Record]) -> float:
    return sum(record.seconds for record in records)


def _row(content: Mapping[str, Any], variant: str) -> Mapping[str, Any]:
    rows: Sequence[Mapping[str, Any]] = content["rows"]
    return next(row for row in rows if row["variant"] == variant)
