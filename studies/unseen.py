"""`beta="auto"` and the default on data that chose neither (results/unseen.csv).

    python studies/unseen.py --out results/unseen.csv [--datasets usps optdigits pendigits]

Two questions, five seeds each, one fifth of the rows for the test. Margin form: LW-Sigmoid with β from
the sets beside β = 1 and 2, trained as in `beta_sweep.py`. Default: `LWClassifier()`'s method beside the
paper's at one setting (learning rate 0.05 with SGD, 1e-3 with Adam; decay 1e-3, 100 epochs, cosine).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from amongst.accel.population import Member, train_population
from amongst.algorithms import CC, LW, PRODEN, RC, Method
from amongst.candidates import CandidateSets, uniform
from amongst.data import load
from amongst.metrics import accuracy
from amongst.theory import auto_beta
from amongst.train import Features, Settings, Watch, as_device

QS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
Item = tuple[str, Method, Settings]


def margin(sets: CandidateSets, seed: int, epochs: int, precision: str) -> Iterator[Item]:
    """LW-Sigmoid at fixed β and at β from the sets, with two learning rates."""
    for name, beta in (("1", 1.0), ("2", 2.0), ("auto", auto_beta(sets, "sigmoid"))):
        for lr in (0.01, 0.05):
            settings = Settings(
                epochs // 2, lr=lr, weight_decay=1e-3, seed=seed, precision=precision
            )
            yield f"sigmoid, β = {name}", LW("sigmoid", beta), settings


def default(sets: CandidateSets, seed: int, epochs: int, precision: str) -> Iterator[Item]:
    """The default's method beside those of the paper, all at one setting."""
    sgd = Settings(
        epochs, lr=0.05, weight_decay=1e-3, schedule="cosine", seed=seed, precision=precision
    )
    adam = replace(sgd, lr=1e-3, optimizer="adam")
    yield "LWClassifier()", LW("cross_entropy", auto_beta(sets), fade=1.0), sgd
    yield "LW-Cross entropy, β = auto", LW("cross_entropy", auto_beta(sets)), sgd
    yield "LW-Cross entropy, β = 1", LW("cross_entropy", 1.0), sgd
    yield "LW-Cross entropy, β = 2", LW("cross_entropy", 2.0), sgd
    yield "PRODEN", PRODEN(), sgd
    yield "CC", CC(), adam
    yield "RC", RC(), adam


def run(name: str, seed: int, options: argparse.Namespace) -> pd.DataFrame:
    """Every q of both questions on one split, one population for each length."""
    data, chosen = load(name), as_device(options.device)
    order = np.random.default_rng(seed).permutation(len(data))[: options.rows]
    cut = len(order) // 5
    test, train = order[:cut], order[cut:]
    scaling = data.fit_scaling(train)
    flat = [
        torch.from_numpy(scaling.apply(data.features[r])).flatten(1).float() for r in (train, test)
    ]
    truth = torch.from_numpy(data.labels[test]).to(chosen)
    watch = [Watch("accuracy", Features(flat[1]), lambda g: accuracy(g, truth))]
    tables = []
    for question in (margin, default):
        rows, members = [], []
        for q in QS:
            sets = uniform(data.labels[train], q, classes=range(data.n_classes), seed=1000 + seed)
            inside = torch.from_numpy(sets.to_mask())
            for label, method, settings in question(sets, seed, options.epochs, options.precision):
                rows.append((name, question.__name__, label, q, seed, settings.lr))
                members.append(Member(method, inside, settings))
        result = train_population(Features(flat[0]), members, watch=watch, device=chosen)
        table = pd.DataFrame(rows, columns=["dataset", "question", "method", "q", "seed", "lr"])
        table["accuracy"] = (100 * result.last("accuracy", 10)).tolist()
        tables.append(table)
    return pd.concat(tables)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["usps", "optdigits", "pendigits"])
    parser.add_argument("--epochs", type=int, default=100, help="of the default; margin has half")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="of training and test together, to try it")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    tables = []
    for name in options.datasets:
        for seed in range(options.seeds):
            tables.append(run(name, seed, options))
            pd.concat(tables).to_csv(options.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
