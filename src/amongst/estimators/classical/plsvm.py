"""PL-SVM: the best candidate must beat the best non-candidate by a margin."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_choice, check_integer, check_number
from amongst.estimators.classical._machines import FeatureMap, fit_map
from amongst.estimators.classical._neighbours import Floats, Mask
from amongst.estimators.classical._scaling import TemperedClassifier, fit_scaler
from amongst.trust import fit_temperature

KERNELS = ("linear", "nystroem", "fourier")
TEMPERATURES = (1.0, 0.1, 0.01, 0.001)


@dataclass(kw_only=True, eq=False, repr=False)
class PLSVMClassifier(TemperedClassifier):
    """PL-SVM (Nguyen & Caruana 2008): maximum margin between candidates and the rest.

    Minimises ½‖W‖² + C Σ_i max(0, 1 − (max_{z∈s_i} f_z(x_i) − max_{z∉s_i} f_z(x_i)))² over linear
    f(x) = φ(x) W + b, with b in ‖W‖. It is neither smooth nor convex: each max is t log mean exp(f/t)
    first at t = 1, near the mean, and then colder down to t = 0.001, near the max.

    Parameters
    ----------
    C : cost of violated margins.
    kernel : ``"linear"``, or ``"nystroem"`` or ``"fourier"`` for an approximate RBF kernel.
    gamma : of the RBF kernel; None for 1 / (sum of the variances of the scaled columns).
    n_components : landmarks or random features of the approximations.
    max_iter : the most steps of L-BFGS at each temperature.
    scaling : ``"standard"``, ``"unit"``, ``"standard+unit"`` or None; fitted on the rows of `fit`.
    random_state : of the approximations.

    Attributes
    ----------
    coef_ : (K, m).
    intercept_ : (K,).
    objective_ : the value at the last temperature.
    n_iter_ : steps made.
    temperature_ : by which scores are divided before they are probabilities, as the candidate sets of
        the training rows have it; with few rows of many features that is too low: `calibrate`.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = ["a|b", "a", "a", "b", "b", "a|b"]
    >>> model = PLSVMClassifier().fit(X, y)
    >>> model.predict([[0.0], [1.2]]).tolist()
    ['a', 'b']
    """

    name = "plsvm"
    title = "PL-SVM"
    grid = MappingProxyType({"C": (0.001, 0.01, 0.1, 1.0)})
    arrays = ("coef", "intercept")
    facts = MappingProxyType({"objective": None, "n_iter": None, "temperature": 1.0})
    parts = MappingProxyType({"map": FeatureMap})

    C: float = 0.01
    kernel: str = "linear"
    gamma: float | None = None
    n_components: int = 300
    max_iter: int = 200
    scaling: str | None = "standard"
    random_state: Seed = None

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        cost = check_number("C", self.C, low=0, open_low=True)
        kernel = check_choice("kernel", self.kernel, KERNELS)
        steps = check_integer("max_iter", self.max_iter, low=1)
        seed = as_seed(self.random_state)
        self.scaler_ = fit_scaler(X, self.scaling)
        rows = self.scaler_(X)
        self.map_ = fit_map(rows, kernel, self.gamma, self.n_components, seed)
        features = np.hstack([self.map_(rows), np.ones((len(rows), 1))])
        weights, self.objective_, self.n_iter_ = _solve(features, sets.mask, cost, steps)
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]
        self.temperature_ = fit_temperature(self._scores(X), sets.mask)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        scores: Floats = self.map_(self.scaler_(X)) @ self.coef_.T + self.intercept_
        return scores


def margin_loss(
    weights: Floats, features: Floats, mask: Mask, C: float, temperature: float
) -> tuple[float, Floats]:
    """The objective of `PLSVMClassifier` with both max softened, and its gradient.

    Parameters
    ----------
    weights : W, shape (K, m).
    features : φ(x) with a last column of ones for b, shape (n, m).
    mask : candidate sets, shape (n, K); a row with all classes has no loss.
    C : cost of violated margins.
    temperature : t > 0 of max_t(f) = t log mean exp(f / t).

    Examples
    --------
    >>> zero, one = np.zeros((2, 1)), np.ones((1, 1))
    >>> loss, gradient = margin_loss(zero, one, np.array([[True, False]]), 1.0, 0.1)
    >>> loss, gradient.ravel().tolist()
    (1.0, [-2.0, 2.0])
    """
    partial: Mask = np.asarray(~mask.all(axis=1))
    scores = features @ weights.T
    toward, pull = _soft_max(scores, mask, temperature)
    away, push = _soft_max(scores, ~mask | ~partial[:, None], temperature)
    violation = np.maximum(0.0, 1.0 - toward + away) * partial
    loss = 0.5 * float((weights**2).sum()) + C * float((violation**2).sum())
    slope = (2 * C * violation)[:, None] * (push - pull)
    gradient: Floats = weights + slope.T @ features
    return loss, gradient


def _soft_max(scores: Floats, mask: Mask, temperature: float) -> tuple[Floats, Floats]:
    """t log mean exp(f / t) over each row's mask, shape (n,), and its gradient, (n, K)."""
    inside = np.where(mask, scores, -np.inf)
    top = inside.max(axis=1, keepdims=True)
    parts = np.exp((inside - top) / temperature)
    total = parts.sum(axis=1, keepdims=True)
    count = mask.sum(axis=1, keepdims=True)
    return (top + temperature * np.log(total / count))[:, 0], parts / total


def _solve(features: Floats, mask: Mask, C: float, steps: int) -> tuple[Floats, float, int]:
    """W of shape (K, m), its objective, and the steps made."""
    shape = (mask.shape[1], features.shape[1])
    flat, made, value = np.zeros(shape[0] * shape[1]), 0, np.inf
    for temperature in TEMPERATURES:

        def objective(flat: Floats, t: float = temperature) -> tuple[float, Floats]:
            loss, gradient = margin_loss(flat.reshape(shape), features, mask, C, t)
            return loss, gradient.ravel()

        found = minimize(objective, flat, jac=True, method="L-BFGS-B", options={"maxiter": steps})
        flat, made, value = found.x, made + int(found.nit), float(found.fun)
    return flat.reshape(shape), value, made
