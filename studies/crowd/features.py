"""Features of texts, which need no network; and of images, from one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from amongst import CandidateSets
from amongst.estimators import AverageClassifier

Array = np.ndarray[Any, Any]
SCALE = 8.0
"""Rows of length 1 in thousands of columns are small for gradient descent."""


def tfidf(train: Array, test: Array) -> tuple[Array, Array]:
    """TF-IDF of words and pairs of words, the 4,000 most frequent."""
    made = TfidfVectorizer(ngram_range=(1, 2), max_features=4000, sublinear_tf=True).fit(train)
    return tuple(SCALE * made.transform(part).toarray() for part in (train, test))


def hashed(train: Array, test: Array) -> tuple[Array, Array]:
    """Words and pairs of words, hashed to 4,096 columns."""
    made = HashingVectorizer(ngram_range=(1, 2), n_features=4096, alternate_sign=True)
    return tuple(SCALE * made.transform(part).toarray() for part in (train, test))


def trained(
    images: Array, votes: CandidateSets, train: Array, test: Array, epochs: int = 10
) -> tuple[Array, Array]:
    """What the last layer but one of a network gives, standardised: FastNet, trained on the votes of people
    for other images."""
    network = AverageClassifier(
        model="fastnet", scaling=None, epochs=epochs, device="cpu", random_state=0
    )
    seen: Any = network.fit(images, votes).model_
    last: list[torch.Tensor] = []
    seen.head.register_forward_pre_hook(lambda _, given: last.append(given[0]))
    with torch.inference_mode():
        for part in torch.split(torch.from_numpy(np.concatenate((train, test))), 250):
            seen(part.float())
    X, X_test = np.split(torch.cat(last).numpy().astype(np.float64), [len(train)])
    centre, spread = X.mean(0), X.std(0) + 1e-6
    return (X - centre) / spread, (X_test - centre) / spread
