"""β × q × ψ on the MNIST family: the data behind `beta="auto"` (results/beta_sweep.csv).

    python studies/beta_sweep.py --out results/beta_sweep.csv [--datasets mnist …] [--epochs 50]

Every (ψ, q, β, learning rate, seed) is one model of one population; test accuracy is the mean of
the last ten epochs. β = auto is swept beside the fixed ones, as its own rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from amongst.algorithms import LW
from amongst.theory import auto_beta
from amongst.train import Settings
from population_grid import Point, Problem, by_budget

BETAS = (0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0)
RATES = (0.01, 0.05)
QS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)


def points(
    problem: Problem, epochs: int, seeds: int, precision: str, betas: tuple[float, ...] = BETAS
) -> list[Point]:
    found = []
    for psi in ("sigmoid", "cross_entropy"):
        for q in QS:
            for seed in range(seeds):
                sets = problem.sets(q, seed)
                auto = auto_beta(sets, psi)
                for beta, rule in [*((b, "fixed") for b in betas), (auto, "auto")]:
                    for lr in RATES:
                        labels = {"psi": psi, "q": q, "beta": beta, "rule": rule, "lr": lr}
                        settings = Settings(
                            epochs=epochs, lr=lr, weight_decay=1e-3, seed=seed, precision=precision
                        )
                        method = LW(psi, beta)
                        found.append(Point(labels | {"seed": seed}, method, settings, sets))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["mnist", "fashion_mnist", "kmnist"])
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, help="of the training and of the test part, to try it")
    parser.add_argument("--only-auto", action="store_true", help="leave the fixed β out")
    options = parser.parse_args()
    tables = []
    for name in options.datasets:
        problem = Problem(name, options.rows)
        betas = () if options.only_auto else BETAS
        whole = points(problem, options.epochs, options.seeds, options.precision, betas)
        for part in by_budget(whole, 600):
            tables.append(problem.run(part, options.device))
            pd.concat(tables).to_csv(options.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
