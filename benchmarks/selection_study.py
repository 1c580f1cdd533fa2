"""How well candidate-only criteria choose hyper-parameters, against an oracle with true labels.

For each dataset, model and seed all points of a grid train as one population on 90 % of the
training rows. Each criterion sees the candidate sets of the other 10 % and names its best point;
the oracle sees their true labels. Regret is the test accuracy of the best point of the grid minus
that of the point named, in accuracy points. "chance" is the mean over the grid.

    python benchmarks/selection_study.py             # a few minutes on one core
    python benchmarks/selection_study.py --full      # the paper's grid, MLP and epochs: for a GPU
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr
from torch import Tensor

from amongst import LWClassifier
from amongst.candidates import CandidateSets, uniform
from amongst.data import hold_out, load, stratified_folds
from amongst.metrics import accuracy
from amongst.selection import CRITERIA, grid_points, paper_grid
from amongst.selection.criteria import Measure, measures_for
from amongst.selection.evaluate import Task, evaluate
from amongst.selection.result import sign

CASES = ("mnist q=0.1", "mnist q=0.5", "mnist q=0.7", "lost", "msrcv2", "birdsong")
SMALL_GRID: dict[str, Sequence[Any]] = {
    "psi": ["sigmoid", "cross_entropy"],
    "lr": [0.001, 0.01, 0.1],
    "weight_decay": [1e-6, 1e-4, 1e-2],
    "beta": [1.0, 2.0],
}
EPOCHS = {"linear": 40, "mlp": 20}
KEYS = ["case", "model"]


@dataclass(frozen=True)
class Plan:
    """How much to do."""

    cases: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    rows: int
    full: bool
    device: str


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, to validate on and to test on."""

    X: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    sets: CandidateSets
    kept: np.ndarray[Any, Any]
    held: np.ndarray[Any, Any]
    test: np.ndarray[Any, Any]


class SmallMLP(LWClassifier):
    """LW with two hidden layers of 64."""

    def _network_options(self) -> dict[str, Any]:
        return {"widths": (64, 64)} if self.model == "mlp" else {}


def split_of(case: str, seed: int, rows: int) -> Split:
    """A quarter of a real set is its test part; MNIST has `rows` of each official part, and a set
    without such parts of its first four fifths and of the last."""
    name, _, condition = case.partition(" q=")
    data = load(name, download=False)
    X, labels = data.features.reshape(len(data), -1), data.labels
    if not condition:
        if data.candidates is None:
            raise SystemExit(f"{name} has no candidate sets of its own; say '{name} q=0.5'.")
        train, test = stratified_folds(labels, 4, seed)[0]
        return _held_out(X, labels, data.candidates, train, test, seed)
    n = data.n_train or 4 * len(data) // 5
    order = np.random.default_rng(seed).permutation
    chosen = [order(n)[:rows], n + order(len(data) - n)[:rows]]
    train, test = np.arange(len(chosen[0])), len(chosen[0]) + np.arange(len(chosen[1]))
    X, labels = X[np.concatenate(chosen)], labels[np.concatenate(chosen)]
    sets = uniform(labels, float(condition), classes=range(10), seed=seed)
    return _held_out(X, labels, sets, train, test, seed)


def _held_out(X: Any, labels: Any, sets: CandidateSets, train: Any, test: Any, seed: int) -> Split:
    kept, held = hold_out(sets[train], 0.1, seed)
    return Split(X, labels, sets, train[kept], train[held], test)


def measures_of(split: Split) -> dict[str, Measure]:
    """Criteria on the validation rows' sets; the oracle on their labels; accuracy on test rows.

    Scores of validation rows come first, those of test rows after them.
    """
    n, seen = len(split.held), np.concatenate((split.kept, split.held))
    labels = torch.from_numpy(split.labels)
    found: dict[str, Measure] = {
        name: partial(_first, n, measure)
        for name, measure in measures_for(split.sets[seen]).items()
    }
    found["oracle"] = partial(_first, n, partial(_against, labels[split.held]))
    found["test"] = partial(_rest, n, partial(_against, labels[split.test]))
    return found


def _first(n: int, measure: Measure, scores: Tensor, inside: Tensor) -> Tensor:
    return measure(scores[..., :n, :], inside[..., :n, :])


def _rest(n: int, measure: Measure, scores: Tensor, inside: Tensor) -> Tensor:
    return measure(scores[..., n:, :], inside[..., n:, :])


def _against(labels: Tensor, scores: Tensor, inside: Tensor) -> Tensor:
    return accuracy(scores, labels.to(scores.device))


def table_of(split: Split, model: str, seed: int, plan: Plan) -> pd.DataFrame:
    """Every point of the grid with every measure."""
    kind = LWClassifier if plan.full else SmallMLP
    epochs = 250 if plan.full else EPOCHS[model]
    estimator = kind(
        model=model, epochs=epochs, batch_size=256 if plan.full else 128, device=plan.device
    )
    psis: dict[str, Sequence[Any]] = {"psi": ["sigmoid", "cross_entropy"]}
    points = grid_points({**paper_grid(estimator), **psis} if plan.full else SMALL_GRID)
    both = np.concatenate((split.held, split.test))
    task = Task(estimator, split.X, split.sets, split.kept, both, measures_of(split), seed=seed)
    rows = [
        {**point, **outcome.values}
        for point, outcome in zip(points, evaluate(task, points), strict=True)
        if outcome is not None and outcome.diverged is None
    ]
    return pd.DataFrame(rows)


def verdicts(table: pd.DataFrame) -> list[dict[str, Any]]:
    """What each criterion named, and what that cost."""
    test = 100 * table["test"]
    found = [{"criterion": "chance", "regret": test.max() - test.mean(), "accuracy": test.mean()}]
    for name in (*CRITERIA, "oracle"):
        signed = sign(name) * table[name]
        best = int(signed.to_numpy().argmax())
        settings = ", ".join(f"{n}={table[n].iloc[best]}" for n in SMALL_GRID)
        found.append(
            {
                "criterion": name,
                "regret": test.max() - test.iloc[best],
                "accuracy": test.iloc[best],
                "rank_correlation": float(spearmanr(signed, test).statistic),
                "value": table[name].iloc[best],
                "settings": settings,
            }
        )
    return found


def study(plan: Plan) -> pd.DataFrame:
    """One row for each case, model, seed and criterion."""
    rows = []
    for case in plan.cases:
        for model in plan.models:
            for seed in plan.seeds:
                began = time.perf_counter()
                split = split_of(case, seed, plan.rows)
                table = table_of(split, model, seed, plan)
                facts = {"case": case, "model": model, "seed": seed, "points": len(table)}
                facts |= {"held_rows": len(split.held), "test_rows": len(split.test)}
                rows += [facts | verdict for verdict in verdicts(table)]
                seconds = time.perf_counter() - began
                print(f"{case}, {model}, seed {seed}: {seconds:.0f} s", flush=True)
    return pd.DataFrame(rows)


def printed(results: pd.DataFrame) -> str:
    """Mean regret by case and criterion, as a Markdown table."""
    order = ["chance", *CRITERIA, "oracle"]
    regret = results.pivot_table(index=KEYS, columns="criterion", values="regret")[order]
    best = results[results["criterion"] == "oracle"].assign(best=lambda t: t.accuracy + t.regret)
    regret.insert(0, "best of grid", best.groupby(KEYS)["best"].mean())
    lines = ["| data | model | best of grid | " + " | ".join(order) + " |"]
    lines.append("|---|---|" + "---:|" * (len(order) + 1))
    for (case, model), row in regret.iterrows():
        cells = " | ".join(f"{value:.1f}" for value in row)
        lines.append(f"| {case} | {model} | {cells} |")
    for title, values in _summaries(results, order):
        lines.append(f"| **{title}** | | | " + " | ".join(values) + " |")
    return "\n".join(lines)


def _summaries(results: pd.DataFrame, order: list[str]) -> list[tuple[str, list[str]]]:
    groups = results.groupby("criterion")
    mean, worst = groups["regret"].mean(), groups["regret"].max()
    correlation = groups["rank_correlation"].mean()
    return [
        ("mean regret", [f"{mean[name]:.1f}" for name in order]),
        ("worst regret", [f"{worst[name]:.1f}" for name in order]),
        (
            "rank correlation",
            ["" if name == "chance" else f"{correlation[name]:.2f}" for name in order],
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--models", nargs="+", default=["linear", "mlp"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rows", type=int, default=1500, help="of MNIST, for training and test")
    parser.add_argument("--full", action="store_true", help="the paper's grid, MLP and epochs")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("results/selection_study.csv"))
    given = parser.parse_args()
    rows = 60_000 if given.full else given.rows
    plan = Plan(
        tuple(given.cases), tuple(given.models), tuple(given.seeds), rows, given.full, given.device
    )
    results = study(plan)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    results.round(5).to_csv(given.out, index=False)
    print()
    print(printed(results))


if __name__ == "__main__":
    main()
