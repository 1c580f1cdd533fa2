"""Sets that lack the true label: what `outside="auto"` finds and saves (results/crowd/outside.csv).

    AMONGST_DATA=… python studies/crowd/outside.py --out results/crowd/outside.csv

MNIST, 20,000 training rows, q = 0.3; in a share η of the rows the true label is exchanged for another
(`amongst.candidates.noisy`). An MLP of two layers of 300, 15 epochs; nothing is tuned.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from amongst.candidates import noisy, uniform
from amongst.data import load
from amongst.estimators import LWClassifier, PRODENClassifier

KINDS: dict[str, Any] = {"PRODEN": PRODENClassifier, "LW": LWClassifier}
SHARES, WAYS = (0.0, 0.2), (None, "auto")


def trial(
    kind: str, eta: float, outside: str | None, seed: int, n: int, epochs: int
) -> dict[str, Any]:
    data = load("mnist", download=False)
    rows = np.random.default_rng(seed).permutation(60_000)[:n]
    truth = data.train.labels[rows]  # type: ignore[index]
    sets = uniform(truth, 0.3, classes=range(10), seed=seed)
    sets = noisy(sets, truth, eta, seed=seed) if eta else sets
    began = time.perf_counter()
    given = {"epochs": epochs, "widths": (300, 300), "device": "cpu", "random_state": seed}
    model = KINDS[kind](outside=outside, **given)
    X, X_test = (
        part.reshape(len(part), -1) for part in (data.train.features[rows], data.test.features)
    )
    model.fit(X, sets)
    row = {"method": kind, "eta": eta, "outside": outside or "off", "seed": seed}
    row |= {"accuracy": 100 * float((model.predict(X_test) == data.test.labels).mean())}
    row |= {
        "found": getattr(model, "outside_", np.nan),
        "missing": float((~sets.contains(truth)).mean()),
    }
    if outside:
        told = model.disambiguate(X, sets)
        suspected, missing = told["proposed"].notna().to_numpy(), ~sets.contains(truth)
        right = (told["proposed"].to_numpy() == truth)[suspected]
        row |= {
            "suspected": int(suspected.sum()),
            "proposed_right": float(right.mean()) if len(right) else np.nan,
        }
        row["missing_found"] = float(suspected[missing].mean()) if missing.any() else np.nan
    return row | {"seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    kept: list[Any] = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    done = {(row["seed"], row["method"], row["eta"], row["outside"]) for row in kept}
    for seed, kind, eta, way in itertools.product(range(given.seeds), KINDS, SHARES, WAYS):
        if (seed, kind, eta, way or "off") in done:
            continue
        kept.append(trial(kind, eta, way, seed, given.n, given.epochs))
        pd.DataFrame(kept).to_csv(given.out, index=False, float_format="%.6g")
        print(kept[-1], flush=True)


if __name__ == "__main__":
    main()
