"""Scale and settings of the classical estimators.

    python benchmarks/classical.py scale [--only ipal,plecoc] [--json classical.json]
    AMONGST_DATA=FOLDER python benchmarks/classical.py settings [--only PL-kNN,IPAL] [--data lost]

`scale` makes data of the shapes of Soccer Player (17,472 × 279, 171 classes, 2.09 candidates) and
Yahoo! News (22,991 × 163, 219 classes, 1.91 candidates), and fits each estimator in a process of
its own; peak memory is that of the process, Python and its packages included. Goals: IPAL and
PL-ECOC in 5 minutes and 4 GiB on two cores; PALOC finishes. `--part 0.02` takes that share of rows.

`settings` prints what was tried on the real sets: five-fold cross-validation by covering rate,
which needs candidate sets only, with the accuracy beside it for information.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

import measure
from amongst.candidates import CandidateSets
from amongst.data import load, stratified_folds
from amongst.estimators import (
    IPALClassifier,
    PALOCClassifier,
    PLECOCClassifier,
    PLKNNClassifier,
    PLSVMClassifier,
)

Array = npt.NDArray[Any]
SHAPES = {"soccer": (17_472, 279, 171, 2.09), "yahoo": (22_991, 163, 219, 1.91)}
NEW_ROWS = 2000
SCALE = {
    "variant": "s",
    "rows": ",d",
    "columns": "d",
    "classes": "d",
    "candidates": ".2f",
    "kernel": "s",
    "fit_s": ".1f",
    "predict_ms_per_row": ".2f",
    "peak_GiB": ".2f",
    "accuracy": ".3f",
    "covering": ".3f",
}
SETTINGS = {"variant": "s", "data": "s", "covering": ".2f", "accuracy": ".2f", "seconds": ".1f"}


def main() -> None:
    args = arguments()
    if args.one:
        print(json.dumps(one(args.one, args.workers, args.part)))
        return
    rows = scale(args) if args.what == "scale" else settings(args)
    about = f"{platform.machine()} CPU, {os.cpu_count()} cores, Python {platform.python_version()}"
    measure.save(args.json, {"machine": about, "rows": rows})
    print(about)
    print(measure.table(rows, SCALE if args.what == "scale" else SETTINGS))
    measure.end(rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["scale", "settings"])
    parser.add_argument(
        "--only", help="runs of scale, or how names of settings begin; by default all"
    )
    parser.add_argument("--part", type=float, default=1.0, help="share of the rows of scale")
    parser.add_argument("--data", default="lost,msrcv2,birdsong", help="for settings")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def runs(workers: int) -> dict[str, tuple[str, Any]]:
    """Name of a run: shape of its data, and the estimator."""
    return {
        "ipal": ("soccer", IPALClassifier(n_jobs=workers)),
        "plecoc": ("soccer", PLECOCClassifier(random_state=0, n_jobs=workers, verbose=True)),
        "plknn": ("soccer", PLKNNClassifier(n_jobs=workers)),
        "plsvm": ("soccer", PLSVMClassifier()),
        "paloc": ("yahoo", PALOCClassifier(kernel="linear", n_jobs=workers, verbose=True)),
    }


def scale(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Each run in a process of its own, so that peaks of memory are apart."""
    names = args.only.split(",") if args.only else list(runs(1))
    return [measure.attempt(name, partial(apart, name, args)) for name in names]


def apart(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """What `one` finds, in a process of its own."""
    command = [sys.executable, __file__, "scale", "--one", name]
    command += ["--workers", str(args.workers), "--part", str(args.part)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def one(name: str, workers: int, part: float) -> dict[str, Any]:
    """Fit and predict, in this process; warnings and progress go to standard error."""
    shape, estimator = runs(workers)[name]
    X, mask, y, n = made(shape, part)
    sets = CandidateSets(mask, np.arange(mask.shape[1]))
    began = time.perf_counter()
    estimator.fit(X[:n], sets[:n])
    fitted = time.perf_counter()
    predicted = estimator.predict(X[n:])
    ended = time.perf_counter()
    return {
        "rows": n,
        "columns": X.shape[1],
        "classes": sets.n_classes,
        "candidates": float(sets.sizes[:n].mean()),
        "kernel": getattr(estimator, "kernel_", estimator.get_params().get("kernel", "–")),
        "fit_s": fitted - began,
        "predict_ms_per_row": 1e3 * (ended - fitted) / len(predicted),
        "peak_GiB": peak_gib(),
        "accuracy": float((predicted == y[n:]).mean()),
        "covering": float(sets[n:].contains(predicted).mean()),
    }


def made(shape: str, part: float, seed: int = 0) -> tuple[Array, Array, Array, int]:
    """Rows around one centre for each class; a few classes have most rows and most candidates.

    After the rows of the shape, which are counted last, come more for prediction.
    """
    rows, d, K, size = SHAPES[shape]
    fitted = int(part * rows)
    n = fitted + int(part * NEW_ROWS)
    rng = np.random.default_rng(seed)
    share = 1 / (np.arange(K) + 5.0)
    share /= share.sum()
    y = np.concatenate([np.arange(K), rng.choice(K, n - K, p=share)])
    X = 0.35 * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d))
    mask = np.eye(K, dtype=bool)[y]
    while (missing := int(size * n - mask.sum())) > 0:
        mask[rng.integers(0, n, missing), rng.choice(K, missing, p=share)] = True
    return X, mask, y, fitted


def peak_gib() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text("utf-8").splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**20


def tried() -> dict[str, Any]:
    """Settings that were compared."""
    found: dict[str, Any] = {}
    for scaling in ("unit", "standard", "standard+unit"):
        found[f"IPAL, {scaling}"] = IPALClassifier(scaling=scaling)
        found[f"PL-kNN, {scaling}"] = PLKNNClassifier(scaling=scaling)
        for C in (1.0, 10.0):
            params: dict[str, Any] = {"scaling": scaling, "C": C, "random_state": 0, "n_jobs": 2}
            found[f"PL-ECOC, rbf, {scaling}, C={C:g}"] = PLECOCClassifier(**params)
            found[f"PALOC, rbf, {scaling}, C={C:g}"] = PALOCClassifier(**params)
    for C in (0.01, 0.1, 1.0):
        params = {"kernel": "linear", "C": C, "n_jobs": 2}
        found[f"PL-ECOC, linear, standard, C={C:g}"] = PLECOCClassifier(random_state=0, **params)
        found[f"PALOC, linear, standard, C={C:g}"] = PALOCClassifier(**params)
        found[f"PL-SVM, linear, standard, C={C:g}"] = PLSVMClassifier(C=C)
    return dict(sorted(found.items()))


def settings(args: argparse.Namespace) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    begins = tuple(args.only.split(",")) if args.only else ""
    return [
        measure.attempt(name, partial(crossed, estimator, data))
        for name, estimator in tried().items()
        for data in args.data.split(",")
        if name.startswith(begins)
    ]


def crossed(estimator: Any, data: str) -> dict[str, Any]:
    """Folds are made from candidate sets alone."""
    found = load(data)
    assert found.candidates is not None
    began = time.perf_counter()
    covering, accuracy = [], []
    for train, test in stratified_folds(found.candidates, 5, seed=0):
        model = clone(estimator).fit(found.features[train], found.candidates[train])
        covering.append(model.score(found.features[test], found.candidates[test]))
        accuracy.append(model.score(found.features[test], found.labels[test]))
    return {
        "data": data,
        "covering": 100 * float(np.mean(covering)),
        "accuracy": 100 * float(np.mean(accuracy)),
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    main()
