"""Raters of known and of unknown confusion: what to make of their answers (results/crowd/crowd.csv).

    AMONGST_DATA=… python studies/crowd/crowd.py --out results/crowd/crowd.csv

Each way learns from the answers by the same linear head, and is judged by true labels of the test part.
A seed leaves out a tenth of the training rows, other ones each time. On the rows that the first seed
leaves out each way chooses its learning rate and weight decay by how well it foretells the answers,
mean log Σ_z p_z P(said | z) with the raters' confusion by Dawid–Skene; no true label chooses anything.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from features import hashed, tfidf, trained
from scipy.special import softmax

from amongst import CandidateSets, CrowdClassifier
from amongst.data import load
from amongst.data.readers import sets_of_answers
from amongst.estimators import AverageClassifier, CCClassifier, LWClassifier, PRODENClassifier

Array = np.ndarray[Any, Any]
RATES, DECAYS = (0.02, 0.1), (1e-3, 1e-2)
SEEDS = range(5)


@dataclass(frozen=True)
class Problem:
    """Features, answers and true labels; the truth of training rows is for one baseline only."""

    name: str
    X: Array
    truth: Array
    answers: Array
    X_test: Array
    test: Array
    k: int
    epochs: int = 30
    rounds: int = 6
    folds: int = 4

    def rows(self, which: Array) -> Problem:
        """With these training rows only."""
        part = {n: getattr(self, n)[which] for n in ("X", "truth", "answers")}
        return replace(self, **part)

    @property
    def sets(self) -> CandidateSets:
        return sets_of_answers(self.answers, self.k)


Settings = dict[str, Any]
Way = Callable[[Problem, Settings], Any]


def head(kind: Any, p: Problem, given: Settings, **more: Any) -> Any:
    settings = {"model": "linear", "scaling": None, "batch_size": 64, "optimizer": "sgd"}
    return kind(**settings, epochs=p.epochs, **given, **more)


def labels(codes: Array, k: int) -> CandidateSets:
    return CandidateSets(np.eye(k, dtype=bool)[codes], np.arange(k))


def voted(p: Problem, given: Settings) -> Any:
    noise = np.random.default_rng(0).random((len(p.X), p.k)) * 1e-6
    codes = (p.sets.prior + noise).argmax(1)
    return head(PRODENClassifier, p, given).fit(p.X, labels(codes, p.k))


def skene(p: Problem) -> Any:
    assert p.sets.answers is not None
    return p.sets.answers.fit("dawid-skene", p.k)


def told(p: Problem) -> CandidateSets:
    """P(said | z) of each row, with sum 1, as weights of all classes."""
    weights = np.maximum(softmax(skene(p).evidence, axis=1), 1e-12)
    return CandidateSets(np.ones(weights.shape, bool), p.sets.classes, weights, p.sets.answers)


WAYS: dict[str, Way] = {
    "true labels": lambda p, s: head(PRODENClassifier, p, s).fit(p.X, labels(p.truth, p.k)),
    "majority vote": voted,
    "soft votes": lambda p, s: head(AverageClassifier, p, s).fit(p.X, p.sets),
    "Dawid–Skene, its label": lambda p, s: head(PRODENClassifier, p, s).fit(
        p.X, labels(skene(p).posterior.argmax(1), p.k)
    ),
    "Dawid–Skene, soft": lambda p, s: head(AverageClassifier, p, s).fit(
        p.X, CandidateSets(np.ones((len(p.X), p.k), dtype=bool), np.arange(p.k),
                           np.maximum(skene(p).posterior, 1e-12))
    ),
    "sets, PRODEN": lambda p, s: head(PRODENClassifier, p, s).fit(p.X, p.sets.mask.astype(int)),
    "sets, LW": lambda p, s: head(LWClassifier, p, s).fit(p.X, p.sets.mask.astype(int)),
    "votes, PRODEN": lambda p, s: head(PRODENClassifier, p, s).fit(p.X, p.sets),
    "votes, LW": lambda p, s: head(LWClassifier, p, s).fit(p.X, p.sets),
    "raters, CC": lambda p, s: head(CCClassifier, p, s).fit(p.X, told(p)),
    "raters and classifier": lambda p, s: CrowdClassifier(
        head(PRODENClassifier, p, s), rounds=p.rounds, folds=p.folds
    ).fit(p.X, p.sets),
}  # fmt: skip
"""What is made of the answers, by the same head."""


def foretold(model: Any, p: Problem, held: Problem) -> float:
    """How well a model foretells answers of rows that it has not seen."""
    found = skene(p)
    seen = held.answers >= 0
    at = np.where(seen, held.answers, 0)
    logs = np.log(found.confusion)[np.arange(at.shape[1])[:, None], :, at.T]  # (R, n, K)
    evidence = (logs * seen.T[:, :, None]).sum(0)
    proba = np.full((len(held.X), p.k), 1e-9)
    proba[:, model.classes_.astype(int)] = model.predict_proba(held.X)
    return float(np.log((proba * np.exp(evidence)).sum(1)).mean())


def chosen(problem: Problem, way: str) -> Settings:
    """Learning rate and weight decay of the best foreteller on the rows that the first seed leaves out."""
    kept, held = split(problem, 0)
    points = [
        {"lr": lr, "weight_decay": wd, "random_state": 0}
        for lr, wd in itertools.product(RATES, DECAYS)
    ]
    if way == "true labels":
        scores = [WAYS[way](kept, s).score(held.X, held.truth) for s in points]
    else:
        scores = [foretold(fitted(way, kept, s), kept, held) for s in points]
    return points[int(np.argmax(scores))]


def fitted(way: str, p: Problem, given: Settings) -> Any:
    return WAYS[way](p, given)


def split(problem: Problem, seed: int) -> tuple[Problem, Problem]:
    order = np.random.default_rng(seed).permutation(len(problem.X))
    cut = len(order) // 10
    return problem.rows(np.sort(order[cut:])), problem.rows(np.sort(order[:cut]))


def run(problem: Problem, ways: list[str]) -> Iterator[dict[str, Any]]:
    for way in ways:
        given = chosen(problem, way)
        for seed in SEEDS:
            began = time.perf_counter()
            kept, held = split(problem, seed)
            model = fitted(way, kept, given | {"random_state": seed})
            row = {"data": problem.name, "way": way, "seed": seed}
            row |= {"accuracy": float(100 * (model.predict(problem.X_test) == problem.test).mean())}
            row |= {"foretold": foretold(model, kept, held), **given}
            row["rounds"] = len(getattr(model, "likelihoods_", []))
            yield row | {"seconds": round(time.perf_counter() - began, 2)}


def standardised(train: Array, test: Array) -> tuple[Array, Array]:
    mean, std = train.mean(0), train.std(0) + 1e-6
    return (train - mean) / std, (test - mean) / std


def catalogued(name: str, X: Array, X_test: Array, title: str) -> Problem:
    data = load(name, download=False)
    sets = data.train.candidates
    assert sets is not None
    assert sets.answers is not None
    truth, test = data.train.labels, data.test.labels
    assert truth is not None
    assert test is not None
    return Problem(title, X, truth, sets.answers.codes, X_test, test, sets.n_classes)


def labelme() -> Problem:
    data = load("labelme", download=False)
    return catalogued("labelme", *standardised(data.train.features, data.test.features), "LabelMe")


def sentiment(kind: str) -> Problem:
    data = load("sentiment", download=False)
    make = tfidf if kind == "TF-IDF" else hashed
    X, X_test = make(data.train.features, data.test.features)
    made = catalogued("sentiment", X, X_test, f"Sentiment, {kind}")
    return replace(made, rounds=3, folds=3)


def cifar10n(n: int = 3_000, n_test: int = 5_000, others: int = 20_000) -> Problem:
    """The features are of a network that has learnt from the votes for other training images."""
    data = load("cifar10n", download=False)
    images, sets = data.train.features, data.train.candidates
    assert sets is not None
    far = slice(n, n + others)
    X, X_test = trained(images[far], sets[far], images[:n], data.test.features[:n_test])
    whole = catalogued("cifar10n", images, data.test.features, "CIFAR-10N")
    cut = whole.rows(np.arange(n))
    return replace(cut, X=X, X_test=X_test, test=whole.test[:n_test], epochs=15, rounds=3, folds=3)


def simulated(eta: float, n: int = 2_000, raters: int = 8, k: int = 10) -> Problem:
    """Of eight raters three answer a row, right with chances from 0.9 to 0.3, wrong ones by habit; in a
    share η of the rows nobody says the true label."""
    data, rng = load("mnist", download=False), np.random.default_rng(0)
    rows = rng.permutation(60_000)[:n]
    X = data.train.features[rows].reshape(n, -1) / 255.0
    X_test = data.test.features.reshape(-1, 784) / 255.0
    assert data.train.labels is not None
    truth = data.train.labels[rows]
    right = np.linspace(0.9, 0.3, raters)
    habits = softmax(2.0 * rng.normal(size=(raters, k, k)) - 1e9 * np.eye(k), axis=2)
    confusion = right[:, None, None] * np.eye(k) + (1 - right)[:, None, None] * habits
    missing = rng.random(n) < eta
    answers = np.full((n, raters), -1)
    for i, z in enumerate(truth):
        for r in rng.permutation(raters)[:3]:
            law = habits[r, z] if missing[i] else confusion[r, z]
            answers[i, r] = rng.choice(k, p=law)
    mean = X.mean(0)
    assert data.test.labels is not None
    name = f"MNIST, η = {eta:g}"
    made = Problem(name, X - mean, truth, answers, X_test - mean, data.test.labels, k, epochs=15)
    return replace(made, rounds=3, folds=3)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "labelme": labelme,
    "sentiment": lambda: sentiment("TF-IDF"),
    "hashed": lambda: sentiment("hashed n-grams"),
    "cifar10n": cifar10n,
    **{f"mnist{eta:g}": partial(simulated, eta) for eta in (0.0, 0.1, 0.2, 0.3)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    kept: list[Any] = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    done = {(row["data"], row["way"]) for row in kept}
    for name in given.data:
        problem = PROBLEMS[name]()
        for way in given.ways:
            if (problem.name, way) in done:
                continue
            kept += run(problem, [way])
            pd.DataFrame(kept).to_csv(given.out, index=False, float_format="%.6g")
            last = pd.DataFrame(kept[-len(SEEDS) :])
            print(f"{problem.name:24s} {way:24s} {last['accuracy'].mean():.2f}", flush=True)


if __name__ == "__main__":
    main()
