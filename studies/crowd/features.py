"""Features that need no network: of texts, and of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from torch.nn import functional as F

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


def patches(train: Array, test: Array, filters: int = 160, size: int = 6) -> tuple[Array, Array]:
    """Likeness to patches of training images, whitened, summed over the quarters of an image."""
    rng = np.random.default_rng(0)
    seen = torch.from_numpy(train[:2000]).float() / 255
    unfolded = F.unfold(seen, size).transpose(1, 2).reshape(-1, 3 * size * size)
    some = unfolded[torch.from_numpy(rng.choice(len(unfolded), 50_000, replace=False))]
    mean = some.mean(0)
    values, vectors = torch.linalg.eigh(torch.cov((some - mean).T))
    whiten = vectors @ torch.diag((values + 0.01).rsqrt()) @ vectors.T
    bank = F.normalize((some[:filters] - mean) @ whiten, dim=1) @ whiten
    shift = bank @ mean

    def of(images: Array) -> Array:
        found = []
        for part in torch.split(torch.from_numpy(images), 250):
            maps = (
                F.conv2d(part.float() / 255, bank.view(filters, 3, size, size))
                - shift[:, None, None]
            )
            both = torch.cat((F.relu(maps - 0.5), F.relu(-maps - 0.5)), 1)
            found.append(F.adaptive_avg_pool2d(both, 2).flatten(1))
        return torch.cat(found).numpy().astype(np.float64)

    X, X_test = of(train), of(test)
    centre, spread = X.mean(0), X.std(0) + 1e-6
    return (X - centre) / spread, (X_test - centre) / spread
