"""The untouched `LWClassifier()` beside every tuned method (results/defaults.csv).

    python studies/defaults.py --out results/defaults.csv [--datasets mnist …]

Each method of the paper is tuned at every q, on 90 % of the training rows, one seed; the setting is
chosen by test accuracy, an oracle in the tuned methods' favour. The chosen settings, and what could
be our default (β from the data, by rules of three strengths), then train on all rows with five
seeds: the same number of epochs and the same schedule for all. The grid is the part of the paper's
that can win in this number of epochs: learning rates of at least 0.01 for SGD, 1e-4 and 1e-3 for
Adam. Rows that are in the file already are not trained again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from amongst.algorithms import CC, LW, PRODEN, RC, Method
from amongst.theory import auto_beta
from amongst.theory.auto import AUTO
from amongst.train import Settings
from population_grid import Point, Problem, by_budget

QS = (0.1, 0.3, 0.5, 0.7, 0.9)
SGD_GRID = ((0.01, 0.05, 0.1), (1e-4, 1e-3, 1e-2))
ADAM_GRID = ((1e-4, 1e-3), (1e-5, 1e-4, 1e-3))
STRENGTHS = (0.25, 0.5, 1.0)  # the last one that gives a β names it
KEYS = ["dataset", "stage", "method", "q", "seed", "lr", "weight_decay", "beta"]
Row = dict[str, Any]
Item = tuple[str, Method, dict[str, float]]


def tuned_grid() -> list[Item]:
    """(name, method, settings) for every grid point of every method of the paper."""
    found: list[Item] = []
    for lr, decay in product(*SGD_GRID):
        found.append(("proden", PRODEN(), {"lr": lr, "weight_decay": decay}))
        for psi, beta in product(("sigmoid", "cross_entropy"), (1.0, 2.0)):
            found.append((f"lw-{psi}", LW(psi, beta), {"lr": lr, "weight_decay": decay}))
    for lr, decay in product(*ADAM_GRID):
        found.append(("rc", RC(), {"lr": lr, "weight_decay": decay}))
        found.append(("cc", CC(), {"lr": lr, "weight_decay": decay}))
    return found


def candidates(problem: Problem, q: float, seed: int, rates: list[float]) -> list[Item]:
    """What our default could be: β that fades, and β that stays at three strengths, each once."""
    sets = problem.sets(q, seed)
    leverages = {
        auto_beta(sets, rule=replace(AUTO, scale=strength)): f"auto-{strength:g}"
        for strength in STRENGTHS
    }
    found: list[Item] = []
    for lr in rates:
        settings = {"lr": lr, "weight_decay": 1e-3}
        found.append(("auto-fading", LW("cross_entropy", auto_beta(sets), fade=1.0), settings))
        found += [(name, LW("cross_entropy", b), settings) for b, name in leverages.items()]
    return found


def point(problem: Problem, item: Item, q: float, seed: int, stage: str, common: Row) -> Point:
    name, method, settings = item
    labels = {"stage": stage, "method": name, "q": q, "seed": seed} | settings
    labels["beta"] = getattr(method, "beta", float("nan"))
    full = Settings(seed=seed, lr=settings["lr"], weight_decay=settings["weight_decay"], **common)
    if isinstance(method, RC | CC):
        full = replace(full, optimizer="adam")
    held = problem.held_rows(seed) if stage == "tune" else None
    return Point(labels, method, full, problem.sets(q, seed), held)


def chosen(tuning: pd.DataFrame) -> list[Row]:
    """The best setting of each (method, q), by test accuracy."""
    best = tuning.groupby(["method", "q"])["accuracy"].idxmax()
    found: list[Row] = tuning.loc[best].to_dict("records")
    return found


def again(row: Row) -> Item:
    settings = {"lr": row["lr"], "weight_decay": row["weight_decay"]}
    name = row["method"]
    if name.startswith("lw-"):
        return name, LW(name.removeprefix("lw-"), row["beta"]), settings
    return name, {"rc": RC(), "cc": CC(), "proden": PRODEN()}[name], settings


class Results:
    """The file: what is in it, and what comes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.table = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEYS)

    def missing(self, name: str, points: list[Point]) -> list[Point]:
        have = set(map(self._key, self.table.to_dict("records")))
        return [p for p in points if self._key({"dataset": name} | p.labels) not in have]

    def run(self, problem: Problem, points: list[Point], device: str) -> None:
        for part in by_budget(self.missing(problem.name, points), 700):
            self.table = pd.concat([self.table, problem.run(part, device)], ignore_index=True)
            self.table.to_csv(self.path, index=False, float_format="%.6g")

    @staticmethod
    def _key(row: Row) -> tuple[str, ...]:
        return tuple(f"{row[k]:.4g}" if isinstance(row[k], float) else str(row[k]) for k in KEYS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["mnist", "fashion_mnist", "kmnist"])
    parser.add_argument("--qs", nargs="+", type=float, default=QS)
    parser.add_argument("--rates", nargs="+", type=float, default=[0.05], help="of the default")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, help="of the training and of the test part, to try it")
    options = parser.parse_args()
    common = {"epochs": options.epochs, "precision": options.precision, "schedule": "cosine"}
    results, seeds = Results(options.out), range(options.seeds)
    for name in options.datasets:
        problem = Problem(name, options.rows)
        tune = [point(problem, i, q, 0, "tune", common) for q in options.qs for i in tuned_grid()]
        results.run(problem, tune, options.device)
        table = results.table
        best = chosen(table[(table.dataset == name) & (table.stage == "tune")])
        final = [
            point(problem, again(row), row["q"], s, "tuned", common) for row in best for s in seeds
        ]
        final += [
            point(problem, item, q, s, "default", common)
            for q, s in product(options.qs, seeds)
            for item in candidates(problem, q, s, options.rates)
        ]
        results.run(problem, final, options.device)


if __name__ == "__main__":
    main()
