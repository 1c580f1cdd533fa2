"""What the runs took, and what the style of public code would have taken: the latter multiplied out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amongst.bench.estimate import dataset_facts
from amongst.bench.points import CLASSICAL
from amongst.bench.record import Record

__all__ = ["Cost", "PublicStyle", "cost"]

MLP_ROWS, CONVNET_ROWS = 60_000, 50_000


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
            _row(convnet, "public")["seconds_per_epoch"],
            f"{machine['device']}, torch {machine['torch']}, {machine['date']}",
        )

    def seconds(self, record: Record) -> float:
        """Of one trial: its epochs × the measured epoch × its share of the measured rows."""
        trial = record.trial
        epochs = float(trial.settings.get("epochs", 0))
        kept = 1.0 - float(trial.settings.get("validation", 0.0))
        rows = dataset_facts(trial.dataset).rows * kept
        if trial.model == "convnet":
            return epochs * self.convnet * rows / CONVNET_ROWS
        return epochs * self.mlp * rows / MLP_ROWS


@dataclass(frozen=True)
class Cost:
    """Of some trials.

    Attributes
    ----------
    trials, epochs : of networks, in all.
    gpu, cpu : seconds by device, from the records.
    classical : seconds of methods without a network.
    public : seconds in the style of public code, multiplied out; NaN if it was not measured.
    """

    trials: int
    epochs: int
    gpu: float
    cpu: float
    classical: float
    public: float


def cost(records: Iterable[Record], style: PublicStyle | None) -> Cost:
    """Add up.

    >>> from amongst.bench import Trial
    >>> trial = Trial("mnist", "q=0.1", "rc", "mlp", 0, settings={"epochs": 10})
    >>> found = cost([Record(trial, seconds=2.0, device="NVIDIA H200")], PublicStyle(4.0, 7.0, ""))
    >>> found.gpu, found.public
    (2.0, 40.0)
    """
    found = list(records)
    neural = [record for record in found if record.trial.method not in CLASSICAL]
    return Cost(
        trials=len(neural),
        epochs=sum(int(r.trial.settings.get("epochs", 0)) for r in neural),
        gpu=_seconds(r for r in neural if r.device != "cpu"),
        cpu=_seconds(r for r in neural if r.device == "cpu"),
        classical=_seconds(r for r in found if r.trial.method in CLASSICAL),
        public=sum(map(style.seconds, neural)) if style else float("nan"),
    )


def _seconds(records: Iterable[Record]) -> float:
    return sum(record.seconds for record in records)


def _row(content: Mapping[str, Any], variant: str) -> Mapping[str, Any]:
    rows: Sequence[Mapping[str, Any]] = content["rows"]
    return next(row for row in rows if row["variant"] == variant)
