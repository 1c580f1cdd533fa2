"""Rows a step on small data, and scaling: `LWClassifier()` beside others (results/batches.csv).

    python studies/batches.py --out results/batches.csv [--datasets lost msrcv2 birdsong] [--folds 10]

Ten-fold cross-validation, one seed; each row is one fold. Rows that are in the file already are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from amongst import LWClassifier
from amongst.data import load, stratified_folds

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "batches of 64": {"batch_size": 64},
    "batches of 256": {"batch_size": 256},
    "batches of 256, features as they come": {"batch_size": 256, "scaling": None},
}


def accuracy(name: str, fold: int, way: str, epochs: int) -> tuple[int, float]:
    """The batch size in use, and test accuracy in percent."""
    data = load(name)
    if data.candidates is None:
        raise SystemExit(f"{name} has no candidate sets of its own.")
    train, test = stratified_folds(data.labels, 10, 0)[fold]
    model = LWClassifier(**WAYS[way], epochs=epochs, random_state=0, device="cpu")
    model.fit(np.asarray(data.features)[train], data.candidates[train])
    right = model.predict(np.asarray(data.features)[test]) == data.labels[test]
    return model.settings_.batch_size, 100 * right.mean()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["lost", "msrcv2", "birdsong"])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=LWClassifier().epochs)
    options = parser.parse_args()
    columns = ["dataset", "way", "fold", "batch_size", "accuracy"]
    table = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=columns)
    done = {(r.dataset, r.way, r.fold) for r in table.itertuples()}
    rows = table.values.tolist()
    for name in options.datasets:
        for fold in range(options.folds):
            for way in WAYS:
                if (name, way, fold) not in done:
                    rows.append([name, way, fold, *accuracy(name, fold, way, options.epochs)])
                    frame = pd.DataFrame(rows, columns=columns)
                    frame.to_csv(options.out, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
