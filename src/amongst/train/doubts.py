"""Rows whose true label may be outside their set: what is believed of them before a network trains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import log_softmax
from torch import Tensor, nn

from amongst.algorithms import Recipe
from amongst.candidates import CandidateSets
from amongst.checks import check_number
from amongst.data import stratified_folds
from amongst.data.features import Features
from amongst.errors import InputError
from amongst.losses.known import prior_of
from amongst.train.loop import train
from amongst.train.run import Settings, TrainingData, predict_scores
from amongst.train.views import Augment
from amongst.trust import Outside, fit_outside

Floats = npt.NDArray[np.float64]

FOLDS, DOUBTFUL, LIKELY, NONE = 3, 0.02, 0.5, 0.002
"""NONE is the share of wrong sets below which there are none."""
PASSES = 150_000
"""Of rows, in the first look: later a network knows wrong sets by heart."""

NEAREST, WEIGHTS, ROUNDS = (5, 10), (0.5, 2.0), 3
"""Neighbours that are asked, how much their beliefs may count, and how often they are asked."""
ROWS, VALUES, CHUNK = 30_000, 2**27, 500
"""Neighbours are looked for among so many rows, and values of rows, at most."""
RARE, TINY = 0.01, 1e-12
"""RARE is added to what neighbours believe, so that none of them excludes a label."""

Build = Callable[[TrainingData, Settings], nn.Module]
"""A network for these data, with the initial weights of these settings."""


def doubted(
    data: TrainingData,
    method: Recipe,
    settings: Settings,
    build: Build,
    outside: float | str,
    augment: Augment | None = None,
) -> tuple[TrainingData, Outside]:
    """The data with what is believed of each row's classes as weights, and what was found.

    A first look: for each third of the rows a network is trained on the others, in few epochs, and says
    of rows that it has not seen how likely their true label is outside; see `fit_outside`. Then rows
    nearby are asked, see `ask_neighbours`. A row with P(y ∉ s | x, s) > 1/50 gets all classes as
    candidates, each with its posterior as its weight. With η below 1/500 the data stay as they are.

    Parameters
    ----------
    data, method, settings, augment : of the training.
    build : makes its networks.
    outside : η, or ``"auto"`` to find it.
    """
    share, sets = as_share(outside), _sets_of(data)
    scores = _first_look(data, sets, method, settings, build, augment)
    found = fit_outside(scores, sets, share)
    if found.share < NONE:
        return data, found
    logs = log_softmax(scores, axis=1)
    better = ask_neighbours(logs, sets, data.features, share, settings.seed)
    doubtful = better.chances > DOUBTFUL
    belief = np.maximum(better.belief, TINY)
    mask = sets.mask | doubtful[:, None]
    if not method.uses_prior:  # then what is hardly believed is left out instead
        mask = np.where(doubtful[:, None], belief >= 1 / sets.n_classes, mask)
    data = replace(data, inside=torch.from_numpy(mask).to(data.inside.device))
    if method.uses_prior:
        told = CandidateSets(mask, sets.classes, belief * mask)
        known = prior_of(told, data.features.dtype, data.inside.device)
        data = replace(data, known=known)
    return data, found


def _first_look(
    data: TrainingData,
    sets: CandidateSets,
    method: Recipe,
    settings: Settings,
    build: Build,
    augment: Augment | None,
) -> Floats:
    """Scores of each row by a network that has not seen it, (n, K)."""
    few = max(3, min(settings.epochs // 3, round(PASSES / len(data))))
    early = replace(settings, epochs=min(settings.epochs, few))
    scores = np.empty(tuple(data.inside.shape))
    folds = stratified_folds(sets, min(FOLDS, len(data)), seed=settings.seed)
    for number, (kept, held) in enumerate(folds, start=1):
        own = replace(early, seed=settings.seed + number)
        part, rest = (data.part(torch.from_numpy(rows)) for rows in (kept, held))
        run = train(build(part, own), part, method, own, augment=augment)
        scores[held] = predict_scores(run.model, rest.features, own).double().cpu().numpy()
    return scores


def ask_neighbours(
    logs: Floats,
    sets: CandidateSets,
    features: Features,
    share: float | None = None,
    seed: int = 0,
) -> Outside:
    """What `fit_outside` finds when rows nearby say what they believe of a row.

    The logarithm of the mean posterior of a row's neighbours is added to `logs`, times 1/2 or 2, and again
    with the posteriors that follow, while the sets are foretold better. That also chooses how much
    neighbours count, and who they are: the 5 or 10 of the least distance, or of the least angle.

    Parameters
    ----------
    logs : shape (n, K), logarithms of probabilities, by networks that have not seen the row.
    sets, features : of the rows.
    share : η, where it is known.
    seed : of the rows among which neighbours are looked for, where there are very many.

    Examples
    --------
    >>> truth, logs = np.arange(60) % 3, np.zeros((60, 3))
    >>> sets = CandidateSets(np.eye(3, dtype=bool)[truth], np.arange(3))
    >>> found = ask_neighbours(logs, sets, Features(torch.from_numpy(np.eye(3)[truth])))
    >>> found.likelihood > fit_outside(logs, sets).likelihood
    True
    """
    best = fit_outside(logs, sets, share)
    near = _neighbours(features, seed)
    ways = [(rows[:, :k], weight) for rows in near for k in NEAREST for weight in WEIGHTS]
    for _ in range(ROUNDS):
        told = [np.log(best.belief[rows].mean(axis=1) + RARE) * weight for rows, weight in ways]
        tried = [fit_outside(logs + one, sets, share) for one in told]
        at = int(np.argmax([one.likelihood for one in tried]))
        if tried[at].likelihood <= best.likelihood:
            break
        best, ways = tried[at], [ways[at]]
    return best


@torch.no_grad()
def _neighbours(features: Features, seed: int) -> list[npt.NDArray[np.int64]]:
    """Of each row the nearest others by distance, and by angle, nearest first."""
    n = len(features)
    most = min(n, ROWS, max(VALUES // math.prod(features.shape), max(NEAREST) + 1))
    kept = np.sort(np.random.default_rng(seed).permutation(n)[:most])
    others = torch.from_numpy(kept).to(features.device)
    there = features.batch(others).flatten(1)
    length = there.square().sum(1)
    near: list[Tensor] = []
    alike: list[Tensor] = []
    for rows in torch.split(torch.arange(n, device=features.device), CHUNK):
        products, own = features.batch(rows).flatten(1) @ there.T, rows[:, None] == others
        angle = products / length.sqrt().clamp_min(TINY)
        for found, score in ((near, 2 * products - length), (alike, angle)):
            score = score.masked_fill(own, -torch.inf)
            found.append(score.topk(min(max(NEAREST), most - 1), dim=1).indices.cpu())
    return [kept[torch.cat(found).numpy()] for found in (near, alike)]


def as_share(outside: Any) -> float | None:
    """η as a number, None for ``"auto"``."""
    if isinstance(outside, str):
        if outside == "auto":
            return None
        problem = "must be 'auto' or a share of the rows, from 0 to below 1."
        raise InputError(problem, code="no-such-number", argument="outside", got=outside)
    return check_number("outside", outside, low=0, high=0.99)


def _sets_of(data: TrainingData) -> CandidateSets:
    prior = None if data.known is None else data.known.double().cpu().numpy()
    return CandidateSets(data.inside.cpu().numpy(), np.arange(data.n_classes), prior)
