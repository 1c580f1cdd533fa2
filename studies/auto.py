"""`AutoClassifier()` beside every single method, on twelve data sets (results/auto.csv).

    python studies/auto.py --out results/auto.csv [--rows 500 --budget 1min --workers 1]

Each line is one method on one split of one data set. Six sets of ordinary labels have candidates
drawn at q = .3 and .7; six came with theirs. At most so many rows train, and at most 2,000 others
score; true labels do nothing else. Time is that of the processor, so that other work on the machine
does not count, and one thread does it all. A method one fit of which would take longer than
`AutoClassifier` has for everything is left out, by a guess from fewer rows. Lines that are in the
file are not computed again; splits come one after another, so that a run that is stopped has whole
splits.
"""

from __future__ import annotations

import argparse
import csv
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy.sparse import csr_array, issparse

from amongst import AutoClassifier, CandidateSets, as_candidates
from amongst.candidates import uniform
from amongst.data import TableEncoder, load
from amongst.data.places import data_folder
from amongst.estimators import estimator_for
from amongst.selection import portfolio as candidates_of_race
from amongst.selection import race
from amongst.selection.auto import seconds_of
from amongst.selection.portfolio import Contender, portfolio, seconds_to_fit

DRAWN = ("usps", "optdigits", "pendigits", "ecoli", "dermatology", "mfeat_fourier")
GIVEN = ("lost", "msrcv2", "birdsong", "fgnet", "labelme", "sentiment")
CELLS = [*product(DRAWN, ("0.3", "0.7")), *((name, "") for name in GIVEN)]
ROWS, TESTED, SPLITS = 500, 2000, 5
AUTO, OTHERS = "AutoClassifier", {"RC": "rc", "CLPL": "clpl", "average": "average"}
FIELDS = (
    ["set", "q", "split", "method", "accuracy", "error", "error_se", "seconds", "rows", "classes", "chosen", "note"]
)  # fmt: skip
CPU = SimpleNamespace(monotonic=time.process_time, perf_counter=time.process_time)
Row = dict[str, Any]
Job = tuple[str, str, int, str]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows that train, with candidate sets, and others that score."""

    X: Any
    sets: CandidateSets
    X_test: Any
    truth: npt.NDArray[np.int64]


@lru_cache(maxsize=2)
def split_of(name: str, q: str, split: int, rows: int = ROWS) -> Split:
    """One split of a data set: rows by chance, the same for every method."""
    rng = np.random.default_rng([split, 24])
    if name in ("labelme", "sentiment"):
        return _of_raters(name, rng, rows)
    data = load(name)
    order = rng.permutation(len(data))
    most = min(rows, int(0.8 * len(order)))
    train, test = order[:most], order[most : most + TESTED]
    sets = data.candidates if q == "" else _drawn(data.labels, data.n_classes, float(q), split)
    assert sets is not None
    X = np.asarray(data.features, dtype=np.float64)
    return Split(X[train], sets[train], X[test], data.labels[test])


def _drawn(labels: npt.NDArray[np.int64], k: int, q: float, split: int) -> CandidateSets:
    return uniform(labels, q, classes=range(k), seed=split)


def _of_raters(name: str, rng: np.random.Generator, rows: int) -> Split:
    """What the raters of a row said, as its set; the test rows are the official ones."""
    folder = data_folder()
    assert folder is not None, "AMONGST_DATA says where the answers of raters are"
    home = folder / "crowd" / name
    packed = "answers.txt.gz" if name == "sentiment" else "answers.txt"
    answers = np.loadtxt(home / packed)
    stem = "LabelMe" if name == "labelme" else "Sentiment"
    truth = np.loadtxt(home / f"{stem}_Z_test.txt").astype(np.int64)
    X, X_test = (_rows(home, stem, part) for part in ("train", "test"))
    known = np.flatnonzero((answers >= 0).any(axis=1))
    train = rng.permutation(known)[: min(rows, int(0.8 * len(known)))]
    test = rng.permutation(len(truth))[:TESTED]
    mask = np.stack([(answers[train] == k).any(axis=1) for k in range(int(answers.max()) + 1)], 1)
    sets = as_candidates(mask, kind="mask")
    return Split(_taken(X, train), sets, _taken(X_test, test), truth[test])


def _rows(home: Path, stem: str, part: str) -> Any:
    if stem == "LabelMe":
        return np.load(home / f"LabelMe_VGG_avg_{part}.npy").astype(np.float64)
    lines = (home / f"Sentiment_text_{part}.txt").read_text("utf-8").splitlines()
    return pd.DataFrame({"text": lines})


def _taken(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def contenders(X: Any, n_classes: int) -> list[Contender]:
    """Every method that takes part by itself."""
    found = portfolio(X.shape, n_classes, issparse(X), "cpu")
    made: list[Any] = [(name, estimator_for(key)) for name, key in OTHERS.items()]
    networks = [Contender(n, kind(device="cpu"), {"epochs": 1}, 100, None, 1) for n, kind in made]
    return [*found, *networks]


def names(name: str) -> list[str]:
    """Of all methods on a data set."""
    X = csr_array((4, 2)) if name == "sentiment" else np.zeros((4, 2))
    return [AUTO, *(one.name for one in contenders(X, 4))]


def run(job: Job, budget: str, rows: int) -> Row:
    """One line."""
    name, q, split, method = job
    torch.set_num_threads(1)
    for module in (race, candidates_of_race):
        module.time = CPU  # type: ignore[attr-defined]
    data = split_of(name, q, split, rows)
    row: Row = {"set": name, "q": q, "split": split, "method": method}
    row |= {"rows": len(data.sets), "classes": data.sets.n_classes}
    began = time.process_time()
    try:
        auto = method == AUTO
        row |= _auto(data, split, budget) if auto else _single(data, split, method, budget)
    except Exception as error:  # anybody's method: whatever goes wrong in it
        row["note"] = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"[:200]
    return row | {"seconds": round(time.process_time() - began, 2)}


def _auto(data: Split, split: int, budget: str) -> Row:
    model = AutoClassifier(budget=budget, device="cpu", random_state=split).fit(data.X, data.sets)
    shares = " + ".join(f"{name} {share:.0%}" for name, share in model.shares_.items())
    found = {"error": round(model.error_, 4), "error_se": round(model.error_se_, 4)}
    return found | {"accuracy": _accuracy(model, data.X_test, data.truth), "chosen": shares}


def _single(data: Split, split: int, method: str, budget: str) -> Row:
    X, X_test = data.X, data.X_test
    if isinstance(X, pd.DataFrame):
        encoder = TableEncoder().fit(X)
        X, X_test = encoder.transform(X), encoder.transform(X_test)
    contender = next(c for c in contenders(X, data.sets.n_classes) if c.name == method)
    if issparse(X) and not contender.estimator.__sklearn_tags__().input_tags.sparse:
        X, X_test = X.toarray(), X_test.toarray()
    guess = seconds_to_fit(contender, X, data.sets, np.arange(len(data.sets)), split)
    if guess > seconds_of(budget):
        return {"note": f"too slow: about {guess:.0f} s"}
    model = contender.estimator
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=split)
    return {"accuracy": _accuracy(model.fit(X, data.sets), X_test, data.truth)}


def _accuracy(model: Any, X: Any, truth: npt.NDArray[np.int64]) -> float:
    return round(100 * float((np.asarray(model.predict(X), dtype=np.int64) == truth).mean()), 3)


def missing(path: Path, splits: int, cells: list[tuple[str, str]]) -> list[Job]:
    """The lines that the file lacks: whole splits, and whole data sets, one after another."""
    have: set[tuple[str, ...]] = set()
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            have = {(r["set"], r["q"], r["split"], r["method"]) for r in csv.DictReader(file)}
    every: list[Job] = [(n, q, s, m) for s in range(splits) for n, q in cells for m in names(n)]
    todo = [job for job in every if tuple(map(str, job)) not in have]
    return todo


def main() -> None:
    """Compute what is missing, until it is done or the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--sets", nargs="+", default=[*DRAWN, *GIVEN])
    parser.add_argument("--rows", type=int, default=ROWS, help="that train, at most")
    parser.add_argument("--budget", default="1min", help="of AutoClassifier")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="end after so long")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    cells = [(name, q) for name, q in CELLS if name in options.sets]
    jobs = missing(options.out, options.splits, cells)
    pool = ProcessPoolExecutor(options.workers)
    running: set[Future[Row]] = set()
    new = not options.out.exists()
    with options.out.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, FIELDS)
        if new:
            table.writeheader()
        while (jobs or running) and time.monotonic() < end:
            while jobs and len(running) < options.workers:
                running.add(pool.submit(run, jobs.pop(0), options.budget, options.rows))
            left = max(end - time.monotonic(), 0)
            done, running = wait(running, left, FIRST_COMPLETED)
            for job in done:
                table.writerow(job.result())
            file.flush()
    print(f"{len(jobs) + len(running)} lines are missing", flush=True)
    for process in list((pool._processes or {}).values()) if running else []:
        process.kill()
    pool.shutdown(wait=not running, cancel_futures=True)


if __name__ == "__main__":
    main()
