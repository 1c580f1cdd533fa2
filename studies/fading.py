"""How strong the default's leverage starts, and how much of it goes (results/fading.csv).

    python studies/fading.py --out results/fading.csv

Every candidate (learning rate × strength of the rule for β × fade) trains at every q with three seeds on
90 % of the training rows of MNIST and Fashion-MNIST. The choice is by accuracy on the other 10 %, column
`val`; test accuracy is recorded and did not choose. KMNIST is not part of it.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import torch

from amongst.accel.population import Member, train_population
from amongst.algorithms import LW
from amongst.metrics import accuracy, covering_rate
from amongst.theory import auto_beta
from amongst.theory.auto import AUTO
from amongst.train import Settings, Watch, as_device
from population_grid import Problem

QS = (0.1, 0.3, 0.5, 0.7, 0.9)
RATES = (0.05, 0.1)
WAYS = ((0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 0.75), (2.0, 0.75), (1.0, 1.0), (2.0, 1.0),
        (4.0, 1.0))  # fmt: skip
"""Strength of the rule, and fade."""
Label = tuple[str, float, int, float, float, float, float]


def members(
    problem: Problem, seeds: int, epochs: int, precision: str
) -> tuple[list[Label], list[Member]]:
    labels: list[Label] = []
    found: list[Member] = []
    for q, seed in product(QS, range(seeds)):
        sets, held = problem.sets(q, seed), problem.held_rows(seed)
        inside = torch.from_numpy(sets.to_mask())
        keep = torch.ones(len(sets), dtype=torch.bool)
        keep[held] = False
        truth = torch.from_numpy(problem.labels["train"])[held]
        for lr, (strength, fade) in product(RATES, WAYS):
            beta = auto_beta(sets, rule=replace(AUTO, scale=strength))
            settings = Settings(
                epochs, lr=lr, weight_decay=1e-3, seed=seed, precision=precision, schedule="cosine"
            )
            found.append(
                Member(
                    LW("cross_entropy", beta, fade=fade),
                    inside,
                    settings,
                    rows=keep.nonzero().squeeze(1),
                    held=held,
                    held_truth=truth,
                )
            )
            labels.append((problem.name, q, seed, lr, strength, fade, beta))
    return labels, found


def run(problem: Problem, options: argparse.Namespace) -> pd.DataFrame:
    device = as_device(options.device)
    labels, found = members(problem, options.seeds, options.epochs, options.precision)
    truth = torch.from_numpy(problem.labels["test"]).to(device)
    result = train_population(
        problem.features("train"),
        found,
        watch=[Watch("accuracy", problem.features("test"), lambda g: accuracy(g, truth))],
        held={"covering_val": covering_rate},
        device=device,
    )
    columns = ["dataset", "q", "seed", "lr", "strength", "fade", "beta"]
    table, last = pd.DataFrame(labels, columns=columns), min(10, options.epochs)
    table["val"] = (100 * result.last("oracle", last)).tolist()
    table["covering_val"] = result.last("covering_val", last).tolist()
    table["accuracy"] = (100 * result.last("accuracy", last)).tolist()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["mnist", "fashion_mnist"])
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, help="of the training and of the test part, to try it")
    options = parser.parse_args()
    tables = []
    for name in options.datasets:
        tables.append(run(Problem(name, options.rows), options))
        pd.concat(tables).to_csv(options.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
