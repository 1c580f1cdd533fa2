"""PL-ridge: kernel ridge regression onto the labels, which rows left out in turn tell one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_integer
from amongst.data import stratified_folds
from amongst.estimators.classical._machines import FeatureMap, fit_map
from amongst.estimators.classical._neighbours import Floats
from amongst.estimators.classical._scaling import TemperedClassifier, fit_scaler
from amongst.trust import fit_temperature, set_risk, tempered

Parts = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]

EITHER = ("standard", None)
WIDTHS = (0.25, 0.5, 1.0, 2.0)
"""γ of the kernel, in units of 1 / (sum of the columns' variances)."""

PENALTIES = (0.01, 0.1, 1.0)
FOLDS = 3
SMALLEST = 1e-12
FLOOR = 1e-6
"""Each candidate keeps this much weight, so that it can come back."""


@dataclass(kw_only=True, eq=False, repr=False)
class PLRidgeClassifier(TemperedClassifier):
    """Kernel ridge regression onto weighted candidates, without a setting to choose.

    With the kernel k(x, x') = exp(−γ ‖x − x'‖²), H = K (K + λI)⁻¹ gives all rows' forecasts at once:
    F = m + H (C − m) for weights C and their mean m. What row i is told by all the others is, without
    fitting anew, m + (F_i − m − H_ii (C_i − m)) / (1 − H_ii). A softmax of that, whose temperature the
    candidate sets choose, weighs the candidates of the next round, so that no row believes itself.
    The scaling, γ and λ are those for which rows that took part in no round are least surprised, by the mean of −log Σ_{z∈s} p_z.

    Parameters
    ----------
    rounds : how often the candidates are weighed.
    n_components : rows that span the kernel, drawn by chance; with fewer rows it is exact.
    scaling : of the columns, as for the other methods; ``"auto"`` for ``"standard"`` or None.
    random_state : of these rows, and of the parts that are left out in turn.

    Attributes
    ----------
    weights_ : (n, K), what the candidates weighed at the end.
    gamma_, alpha_, risk_ : γ and λ as chosen, and the surprise that they had.
    temperature_ : by which scores are divided before they are probabilities.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> model = PLRidgeClassifier().fit(X, ["a|b", "a", "a", "b", "b", "a|b"])
    >>> model.predict([[0.0], [1.2]]).tolist(), model.weights_[0].round().tolist()
    (['a', 'b'], [1.0, 0.0])
    """

    name = "plridge"
    title = "PL-ridge"
    uses_prior = True
    grid = MappingProxyType({"rounds": (3, 6, 12)})

    arrays = ("coef", "mean", "weights")
    facts = MappingProxyType({"risk": None, "alpha": None, "temperature": 1.0})
    parts = MappingProxyType({"map": FeatureMap})
    kernel = "nystroem"

    rounds: int = 6
    n_components: int = 1000
    scaling: str | None = "auto"
    random_state: Seed = None

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        rounds = check_integer("rounds", self.rounds, low=1)
        check_integer("n_components", self.n_components, low=1)
        scalings = EITHER if self.scaling == "auto" else (self.scaling,)
        seed = as_seed(self.random_state)
        parts = stratified_folds(sets, FOLDS, seed) if len(sets) >= FOLDS else []
        self.risk_ = float("inf")
        for scaling, width in product(scalings, WIDTHS):
            scaler = fit_scaler(X, scaling)
            rows = scaler(X)
            gamma = width / max(float(rows.var(axis=0).sum()), SMALLEST)
            kernel = fit_map(rows, self.kernel, gamma, self.n_components, seed)
            features = kernel(rows)
            risks = _risks(features, sets, rounds, parts)
            if risks.min() < self.risk_:
                self.risk_, self.alpha_ = float(risks.min()), PENALTIES[int(risks.argmin())]
                self.scaler_, self.map_, chosen = scaler, kernel, features
        (found,) = _weighed(chosen, sets, rounds, [self.alpha_])
        self.weights_, self.mean_, self.coef_, self.temperature_ = found

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        scores: Floats = self.mean_ + self.map_(self.scaler_(X)) @ self.coef_
        return scores

    @property
    def gamma_(self) -> float:
        """See `PLRidgeClassifier`."""
        return self.map_.gamma


def left_out(hat: Floats, own: Floats, weights: Floats, mean: Floats) -> Floats:
    """Each row's forecast by all the others, shape (n, K).

    Parameters
    ----------
    hat : F − m, shape (n, K).
    own : H_ii, shape (n, 1).
    weights, mean : C, shape (n, K), and m, shape (K,).

    Examples
    --------
    >>> left_out(np.array([[0.5]]), np.array([[0.5]]), np.array([[1.0]]), np.array([0.0]))
    array([[0.]])
    """
    return mean + (hat - own * (weights - mean)) / np.maximum(1 - own, 1e-9)


def _risks(features: Floats, sets: CandidateSets, rounds: int, parts: Parts) -> Floats:
    """Of each penalty, the surprise at rows that were left out, shape (len(PENALTIES),)."""
    risks, mask = np.zeros(len(PENALTIES)), sets.to_mask()
    for kept, held in parts:
        weighed = _weighed(features[kept], sets[kept], rounds, PENALTIES)
        for at, (_, mean, coef, temperature) in enumerate(weighed):
            told = mean + features[held] @ coef
            risks[at] += set_risk(tempered(told, temperature), mask[held]).sum()
    return risks / len(sets)


def _weighed(
    features: Floats, sets: CandidateSets, rounds: int, penalties: Sequence[float]
) -> Iterator[tuple[Floats, Floats, Floats, float]]:
    """With each penalty, for rows in the kernel's space, shape (n, m): weights, their mean, coefficients
    and temperature."""
    prior, mask = sets.prior, sets.to_mask()
    values, turn = np.linalg.eigh(features.T @ features)
    turned = features @ turn
    for alpha in penalties:
        shrunk = turned / (np.maximum(values, 0.0) + alpha)
        own = np.einsum("ij,ij->i", shrunk, turned)[:, None]
        weights, mean = prior, prior.mean(axis=0)
        for _ in range(rounds):
            told = left_out(shrunk @ (turned.T @ (weights - mean)), own, weights, mean)
            temperature = fit_temperature(told, mask)
            weights = (tempered(told, temperature) + FLOOR) * prior
            weights = weights / weights.sum(axis=1, keepdims=True)
            mean = weights.mean(axis=0)
        coef = turn @ (shrunk.T @ (weights - mean))
        yield weights, mean, coef, temperature
