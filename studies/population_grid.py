"""What the studies share: a data set on the device, members of a population, and their scores."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from amongst.accel.population import Member, train_population
from amongst.algorithms import Method
from amongst.candidates import CandidateSets, uniform
from amongst.data import load
from amongst.metrics import accuracy, approximated_accuracy, covering_rate
from amongst.train import Features, Settings, Watch, as_device


@dataclass(frozen=True, eq=False)
class Point:
    """One model to train: its labels in the results, its method, settings and candidate sets."""

    labels: dict[str, Any]
    method: Method
    settings: Settings
    sets: CandidateSets
    held: torch.Tensor | None = None


class Problem:
    """An image data set with its test part, and candidate sets drawn once for each (q, seed).

    Of both parts the first `rows` are used, by default all. The last fifth is the test part of a data
    set without an official one, such as digits, which comes with scikit-learn: a try needs no files.
    """

    def __init__(self, name: str, rows: int | None = None) -> None:
        self.name = name
        data = load(name)
        n = data.n_train or 4 * len(data) // 5
        self.top = data.top
        self.images = {"train": data.features[:n][:rows], "test": data.features[n:][:rows]}
        self.labels = {"train": data.labels[:n][:rows], "test": data.labels[n:][:rows]}
        self._sets: dict[tuple[float, int], CandidateSets] = {}
        self._masks: dict[int, torch.Tensor] = {}

    def sets(self, q: float, seed: int) -> CandidateSets:
        """The candidate sets of the training rows at rate q."""
        key = (q, seed)
        if key not in self._sets:
            labels = self.labels["train"]
            self._sets[key] = uniform(labels, q, classes=range(10), seed=1000 + seed)
        return self._sets[key]

    def held_rows(self, seed: int, share: float = 0.1) -> torch.Tensor:
        """The validation rows of a seed: they carry candidate labels only."""
        n = len(self.labels["train"])
        generator = torch.Generator().manual_seed(7000 + seed)
        return torch.randperm(n, generator=generator)[: int(share * n)].sort().values

    def features(self, part: str) -> Features:
        values = self.images[part]
        return Features.of(values.reshape(len(values), -1), scale=self.top)

    def run(self, points: Sequence[Point], device: str) -> pd.DataFrame:
        """Train all points as one population: one row each, accuracy of the last ten epochs."""
        began = time.perf_counter()
        chosen = as_device(device)
        truth = torch.from_numpy(self.labels["test"]).to(chosen)
        watch = [Watch("accuracy", self.features("test"), lambda g: accuracy(g, truth))]
        held = any(point.held is not None for point in points)
        criteria = {"covering_val": covering_rate, "approximated_val": approximated_accuracy}
        result = train_population(
            self.features("train"),
            [self._member(point) for point in points],
            watch=watch,
            held=criteria if held else None,
            device=chosen,
        )
        table = pd.DataFrame([{"dataset": self.name} | point.labels for point in points])
        last = min(10, points[0].settings.epochs)
        table["accuracy"] = (100 * result.last("accuracy", last)).tolist()
        for name in criteria if held else ():
            table[name] = result.last(name, last).tolist()
        seconds = time.perf_counter() - began
        epochs = points[0].settings.epochs
        each = seconds / len(points) / epochs
        print(
            f"{self.name}: {len(points)} models × {epochs} epochs, {seconds:.0f} s, {each:.5f} each"
        )
        return table

    def _member(self, point: Point) -> Member:
        key = id(point.sets)
        if key not in self._masks:
            self._masks[key] = torch.from_numpy(point.sets.to_mask())
        rows = None
        if point.held is not None:
            keep = torch.ones(len(point.sets), dtype=torch.bool)
            keep[point.held] = False
            rows = keep.nonzero().squeeze(1)
        return Member(point.method, self._masks[key], point.settings, rows=rows, held=point.held)


def by_budget(points: Iterable[Point], most: int) -> Iterable[list[Point]]:
    """Parts of at most so many models: results are written after each, so that a stop loses one."""
    batch: list[Point] = []
    for point in points:
        batch.append(point)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch
