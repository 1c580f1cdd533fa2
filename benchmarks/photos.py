"""What LW on small photos costs on a CPU: `LWClassifier(model="fastnet")` as it is by default.

    AMONGST_DATA=FOLDER python benchmarks/photos.py [--rows 2000] [--epochs 100] [--json FILE]

The first rows of CIFAR-10, each wrong label a candidate with probability 0.3. CPU seconds are those of
the process, whatever else the machine does; on so many idle cores it takes as much less.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from amongst import LWClassifier
from amongst.candidates import uniform
from amongst.data import load
from measure import machine


def measured(rows: int, epochs: int, test_rows: int) -> dict[str, Any]:
    """Seconds, and shares that are right."""
    data = load("cifar10")
    X, y = np.asarray(data.features), np.asarray(data.labels)
    sets = uniform(y[:rows], 0.3, classes=range(10), seed=0)
    model = LWClassifier(model="fastnet", epochs=epochs, device="cpu", random_state=0)
    began, work = time.perf_counter(), time.process_time()
    model.fit(X[:rows], sets)
    spent = {"wall": time.perf_counter() - began, "cpu": time.process_time() - work}
    chosen = model.disambiguate(X[:rows], sets)["label"].to_numpy()
    first = data.n_train or rows
    test = slice(first, first + test_rows)
    return {
        "rows": rows,
        "epochs": epochs,
        "seconds": spent,
        "threads": torch.get_num_threads(),
        "right_candidate": float((chosen == y[:rows]).mean()),
        "accuracy_test": model.score(X[test], y[test]),
        "settings": model.settings_.to_dict(),
    }


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--test-rows", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = {"machine": machine(torch.device("cpu"))}
    found |= measured(asked.rows, asked.epochs, asked.test_rows)
    print(json.dumps(found, indent=1))
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
