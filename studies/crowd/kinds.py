"""Sentiment: rows of the training part's kind, and of the test part's (results/crowd/kinds.csv).

    AMONGST_DATA=… python studies/crowd/kinds.py --out results/crowd/kinds.csv

Logistic regression on TF-IDF as scikit-learn has it, each row once for each class with a weight. A seed
leaves out a fifth of the training rows; their true labels and those of the test part judge.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import vstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from amongst.data import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    data = load("sentiment", download=False)
    words = TfidfVectorizer(ngram_range=(1, 2), max_features=4000, sublinear_tf=True)
    X, X_test = words.fit_transform(data.train.features), words.transform(data.test.features)
    sets, truth, test = data.train.candidates, data.train.labels, data.test.labels
    assert sets is not None
    assert sets.answers is not None
    assert truth is not None
    judged = sets.answers.fit("dawid-skene", 2).posterior
    ways = {"true labels": np.eye(2)[truth], "soft votes": sets.prior}
    ways |= {"Dawid–Skene, soft": judged, "their mean": (judged + sets.prior) / 2}
    found = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(truth))
        held, kept = np.split(order, [len(order) // 5])
        for way, weights in ways.items():
            both = np.repeat([0, 1], len(kept))
            learner = LogisticRegression(max_iter=200)
            learner.fit(vstack([X[kept]] * 2), both, sample_weight=weights[kept].T.ravel())
            scores = learner.score(X[held], truth[held]), learner.score(X_test, test)
            row = {"way": way, "seed": seed}
            found.append(row | dict(zip(("left_out", "test"), scores, strict=True)))
    pd.DataFrame(found).to_csv(out, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
