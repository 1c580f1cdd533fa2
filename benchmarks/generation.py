"""Candidate sets for 60,000 rows and 10 classes: a loop over rows, as public code has, and ours.

python benchmarks/generation.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from amongst.candidates import case, class_dependent, uniform

CLASSES = 10


def loop(y: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Row by row and label by label."""
    rng = np.random.default_rng(0)
    mask = np.zeros((len(y), CLASSES), dtype=bool)
    for row, label in enumerate(y):
        mask[row] = rng.random(CLASSES) < Q[label]
        mask[row, label] = True
    return mask


def best(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--repeats", type=int, default=5, help="the fastest counts")
    args = parser.parse_args()
    y = np.random.default_rng(0).integers(0, CLASSES, args.rows)
    Q, repeats = case(3, CLASSES), args.repeats
    ways = {
        "a loop over rows": best(lambda: loop(y, Q), 1),
        "uniform(y, q)": best(lambda: uniform(y, 0.5, seed=0), repeats),
        "uniform, no full sets": best(lambda: uniform(y, 0.5, exclude_full=True, seed=0), repeats),
        "class_dependent(y, Q)": best(lambda: class_dependent(y, Q, seed=0), repeats),
    }
    print(f"{'':24}{'ms':>10}{'times faster':>14}")
    for name, seconds in ways.items():
        print(f"{name:24}{1e3 * seconds:>10.1f}{ways['a loop over rows'] / seconds:>14.0f}")


if __name__ == "__main__":
    main()
