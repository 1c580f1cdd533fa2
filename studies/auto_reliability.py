"""Whether `AutoClassifier` is as sure as it is right (results/auto_reliability.csv).

    python studies/auto_reliability.py --out results/auto_reliability.csv [--rows 500 --budget 30s]

MNIST with candidates drawn at q = .3 and .7, Lost, MSRCv2, and LabelMe's raters. True labels only
judge. The gap is the mean distance, over the rows of ten bins of confidence, from the share of right
answers. Time is that of the processor, one thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from amongst import AutoClassifier
from amongst.selection import portfolio, race
from amongst.trust import reliability
from auto import CPU, split_of

CELLS = (("mnist", "0.3"), ("mnist", "0.7"), ("lost", ""), ("msrcv2", ""), ("labelme", ""))


def one(name: str, q: str, split: int, rows: int, budget: str) -> dict[str, Any]:
    """A line."""
    data = split_of(name, q, split, rows)
    X, X_test = (part.reshape(len(part), -1) for part in (data.X, data.X_test))
    model = AutoClassifier(budget=budget, device="cpu", random_state=split).fit(X, data.sets)
    proba = model.predict_proba(X_test)
    right, sure = proba.argmax(axis=1) == data.truth, proba.max(axis=1)
    bins = reliability(sure, right)
    gap = (bins["rows"] * (bins["confidence"] - bins["right"]).abs()).sum() / bins["rows"].sum()
    return {
        "set": name,
        "q": q,
        "split": split,
        "rows": len(data.sets),
        "accuracy": round(100 * right.mean(), 2),
        "confidence": round(100 * sure.mean(), 2),
        "gap": round(100 * float(gap), 2),
        "surest": round(100 * right[sure >= 0.95].mean(), 2) if (sure >= 0.95).any() else None,
        "surest_rows": int((sure >= 0.95).sum()),
    }


def main() -> None:
    """Compute all lines anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--splits", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for module in (race, portfolio):
        module.time = CPU  # type: ignore[attr-defined]
    lines = []
    for split in range(options.splits):
        for name, q in CELLS:
            lines.append(one(name, q, split, options.rows, options.budget))
            pd.DataFrame(lines).to_csv(options.out, index=False)


if __name__ == "__main__":
    main()
