"""The untouched `LWClassifier()` beside every tuned method (results/defaults.csv).

    python studies/defaults.py --out results/defaults.csv [--datasets mnist …]

Each method of the paper is tuned on its grid at every q, on 90 % of the training rows, one seed;
the setting is chosen by test accuracy (an oracle, in the tuned methods' favour) and by the
approximated accuracy on the held-out 10 % (candidate labels only). The chosen settings and the
candidates for our default then train on all rows with five seeds. Grid points whose learning rate
is too small to train in this number of epochs are left out: SGD below 1e-3, Adam below 1e-4.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import pandas as pd
from population_grid import Point, Problem, by_budget

from amongst.engine import Settings
from amongst.methods import CC, LW, PRODEN, RC, Method
from amongst.theory import auto_beta

QS = (0.1, 0.3, 0.5, 0.7, 0.9)
SGD_RATES, ADAM_RATES = (0.001, 0.01, 0.05, 0.1), (1e-4, 1e-3, 1e-2)
DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
KEYS = ["method", "q", "lr", "weight_decay", "beta"]


def tuned_grid(q: float) -> list[tuple[str, Method, dict[str, float]]]:
    """(name, method, settings) for every grid point of every method of the paper."""
    found: list[tuple[str, Method, dict[str, float]]] = []
    for lr, decay in product(SGD_RATES, DECAYS):
        found.append(("proden", PRODEN(), {"lr": lr, "weight_decay": decay}))
        for psi, beta in product(("sigmoid", "cross_entropy"), (1.0, 2.0)):
            found.append((f"lw-{psi}", LW(psi, beta), {"lr": lr, "weight_decay": decay}))
    for lr, decay in product(ADAM_RATES, DECAYS):
        found.append(("rc", RC(), {"lr": lr, "weight_decay": decay}))
        found.append(("cc", CC(), {"lr": lr, "weight_decay": decay}))
    return found


def candidates(problem: Problem, q: float, seed: int) -> list[tuple[str, Method, dict[str, float]]]:
    """What our default could be: β from the data, each ψ, a few rates and decays."""
    return [
        (
            f"auto-{psi}",
            LW(psi, auto_beta(problem.sets(q, seed), psi)),
            {"lr": lr, "weight_decay": d},
        )
        for psi in ("sigmoid", "cross_entropy")
        for lr in (0.01, 0.02, 0.05, 0.1)
        for d in (1e-4, 1e-3)
    ]


def point(problem: Problem, item, q: float, seed: int, stage: str, common: dict) -> Point:
    name, method, settings = item
    labels = {"stage": stage, "method": name, "q": q, "seed": seed} | settings
    labels["beta"] = getattr(method, "beta", float("nan"))
    kind = "adam" if isinstance(method, RC | CC) else "sgd"
    full = Settings(seed=seed, optimizer=kind, **settings, **common)
    held = problem.held_rows(seed) if stage == "tune" else None
    return Point(labels, method, full, problem.sets(q, seed), held)


def chosen(tuning: pd.DataFrame, by: str) -> pd.DataFrame:
    """The best setting of each (method, q) by one criterion."""
    best = tuning.groupby(["method", "q"])[by].idxmax()
    return tuning.loc[best].assign(chosen_by=by)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["mnist", "fashion_mnist", "kmnist"])
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    common = {"epochs": options.epochs, "precision": options.precision}
    tables: list[pd.DataFrame] = []

    def keep(table: pd.DataFrame) -> pd.DataFrame:
        tables.append(table)
        pd.concat(tables).to_csv(options.out, index=False, float_format="%.6g")
        return table

    for name in options.datasets:
        problem = Problem(name)
        tune = [point(problem, i, q, 0, "tune", common) for q in QS for i in tuned_grid(q)]
        tuning = pd.concat(keep(problem.run(part, options.device)) for part in by_budget(tune, 700))
        final = []
        for by in ("accuracy", "approximated_val"):
            for row in chosen(tuning, by).to_dict("records"):
                item = _again(row)
                stage = f"tuned by {'test accuracy' if by == 'accuracy' else by}"
                final += [
                    point(problem, item, row["q"], seed, stage, common)
                    for seed in range(options.seeds)
                ]
        for q, seed in product(QS, range(options.seeds)):
            final += [
                point(problem, i, q, seed, "default", common) for i in candidates(problem, q, seed)
            ]
        for part in by_budget(final, 700):
            keep(problem.run(part, options.device))


def _again(row: dict) -> tuple[str, Method, dict[str, float]]:
    settings = {"lr": row["lr"], "weight_decay": row["weight_decay"]}
    name = row["method"]
    if name.startswith("lw-"):
        return name, LW(name.removeprefix("lw-"), row["beta"]), settings
    return name, {"rc": RC(), "cc": CC(), "proden": PRODEN()}[name], settings


if __name__ == "__main__":
    main()
