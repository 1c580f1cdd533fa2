"""Any scikit-learn classifier learns from candidate sets: a row for each candidate, with a weight."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_choice, check_integer
from amongst.data import stratified_folds
from amongst.errors import InputError
from amongst.estimators.base import Floats, PartialLabelClassifier, row_importance
from amongst.estimators.frozen import Frozen, freeze, from_recipe, recipe_of
from amongst.files import Arrays, under
from amongst.trust import FLOOR, set_risk

__all__ = ["PartialLabel", "set_risk"]

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]

WEIGHTINGS = ("lw", "proden")
SMALLEST = 1e-3
"""A candidate of less weight than this gets no row of its own."""


@dataclass(eq=False, repr=False)
class PartialLabel(PartialLabelClassifier):
    """Any scikit-learn classifier with `sample_weight` and `predict_proba`, on candidate sets.

    Row i is repeated once for each candidate z with the weight c_iz, at first 1/|s_i|, or the prior
    π_iz of weighted candidate sets, which then goes with p_iz below: π_iz p_iz in place of p_iz. What the
    classifier then believes of rows that it was not fitted on, p_i, gives the weights of the next
    round: ``"proden"`` has c_iz = p_iz / Σ_{s_i} p, and ``"lw"`` has
    c_iz · (1 + Σ_{z∉s_i} w_iz p_iz) with w_i = p_i / Σ_{z∉s_i} p outside: as with the second term of
    the LW loss, a row that is believed to be none of its candidates counts more, up to twice.
    Rounds end where the mean of −log Σ_{z∈s} p_z on the rows left out does not fall any more, which
    needs no true label; the best round's weights then fit the classifier on all rows.

    Parameters
    ----------
    estimator : such as ``RandomForestClassifier()``, or a pipeline that ends in one; None for
        ``HistGradientBoostingClassifier()``.
    weighting : ``"lw"`` or ``"proden"``.
    rounds : the most rounds; with 1 all candidates count alike.
    folds : in how many parts the rows are left out in turn.
    random_state : of the folds, and of the classifier where it has none of its own.

    Attributes
    ----------
    estimator_ : the classifier, fitted on all rows; of a loaded model, its saved form.
    weights_ : (n, K), the weights that it was fitted with.
    risks_ : of each round, the mean of −log Σ_{z∈s} p_z on rows left out; empty for one round.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.repeat(np.eye(2), 10, axis=0), ["a|b", "a"] * 5 + ["a|b", "b"] * 5
    >>> model = PartialLabel(LogisticRegression(), random_state=0).fit(X, y)
    >>> model.predict(np.eye(2)).tolist(), int(model.weights_[0].argmax())
    (['a', 'b'], 0)
    """

    uses_prior = True

    estimator: Any = None
    _: KW_ONLY
    weighting: str = "lw"
    rounds: int = 5
    folds: int = 3
    random_state: Seed = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from features and candidate sets.

        Parameters
        ----------
        X, y : as for `PartialLabelClassifier.fit`; X may be a sparse matrix where the classifier
            takes one.
        sample_weight : how much each row counts, shape (n,); only ratios matter. None for all alike.
        """
        return self._fit_checked(X, y, sample_weight=sample_weight)

    def predict_proba(self, X: Any) -> Floats:
        """The classifier's probabilities, shape (n, K); 0 for a class that no row had."""
        return self._calibrated(np.exp(self._checked_scores(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        template = self._template()
        tagged = hasattr(template, "__sklearn_tags__") and not isinstance(template, type)
        sparse = tagged and get_tags(template).input_tags.sparse
        tags.input_tags.sparse = sparse or isinstance(template, Frozen)
        return tags

    def _array(self, X: Any, reset: bool) -> Any:
        """Images as rows of values, which is what scikit-learn's classifiers take."""
        found = super()._array(X, reset)
        return found.reshape(len(found), -1)

    def _template(self) -> Any:
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator

    def _fit(self, X: Any, sets: CandidateSets, sample_weight: Any = None) -> None:
        weighting = check_choice("weighting", self.weighting, WEIGHTINGS)
        rounds = check_integer("rounds", self.rounds, low=1)
        folds = min(check_integer("folds", self.folds, low=2), len(sets))
        importance = row_importance(sample_weight, len(sets))
        count = np.ones(len(sets)) if importance is None else importance
        if importance is not None:
            rows = np.flatnonzero(count > 0)
            X, sets, count = X[rows], sets[rows], count[rows]
        seed = as_seed(self.random_state)
        seeded = _seeded(_checked(self._template()), seed)
        prior: Floats = sets.prior
        weights, risks = prior, list[float]()
        if rounds > 1 and folds > 1:
            parts = stratified_folds(sets, folds, seed)
            weights, risks = _rounds(seeded, X, prior, count[:, None], parts, weighting, rounds)
        self.weights_, self.risks_ = weights, risks
        self._fitted = _fit_exploded(seeded, X, weights * count[:, None])
        self.estimator_ = self._fitted.model

    def _scores(self, X: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self._fitted.proba(X))

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        found, kind = freeze(self._fitted.model)
        arrays = {f"frozen/{name}": array for name, array in found.items()}
        return arrays | {"present": self._fitted.present}, {
            "kind": kind,
            "risks": self.risks_,
            "default": self.estimator is None,
            "recipe": recipe_of(self._template()),
        }

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        own = under(arrays, "frozen/")
        self.estimator_ = None if facts["kind"] == "none" else Frozen(facts["kind"], own)
        if self.estimator is None and not facts["default"]:
            recipe = facts.get("recipe")  # without one, what is saved cannot be fitted anew
            self.estimator = self.estimator_ if recipe is None else from_recipe(recipe)
        self._fitted = _Fitted(self.estimator_, arrays["present"], len(self.classes_))
        self.risks_ = facts["risks"]


def candidate_weights(
    proba: Floats, mask: Mask, weighting: str, prior: Floats | None = None
) -> Floats:
    """The weights that these beliefs ask for, shape (n, K), 0 outside the sets; see `PartialLabel`.

    >>> proba, mask = np.array([[0.3, 0.1, 0.6]]), np.array([[True, True, False]])
    >>> candidate_weights(proba, mask, "proden").round(2)
    array([[0.75, 0.25, 0.  ]])
    >>> candidate_weights(proba, mask, "lw").round(2)
    array([[1.19, 0.41, 0.  ]])
    """
    even = (1 - FLOOR) * proba + FLOOR / proba.shape[1]
    inside, outside = even * (mask if prior is None else prior), proba * ~mask
    shares: Floats = inside / inside.sum(axis=1, keepdims=True)
    if weighting == "proden":
        return shares
    total = outside.sum(axis=1, keepdims=True)
    pull = (outside**2).sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    leveraged: Floats = shares * (1 + pull)
    return leveraged


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A classifier of the classes that had rows; with one such class there is none."""

    model: Any
    present: Rows
    n_classes: int

    def proba(self, X: Any) -> Floats:
        """Probabilities of all classes, shape (n, K)."""
        whole = np.zeros((X.shape[0], self.n_classes))
        whole[:, self.present] = 1.0 if self.model is None else self.model.predict_proba(X)
        return whole


def _fit_exploded(estimator: Any, X: Any, weights: Floats) -> _Fitted:
    """Fit on a row for each candidate; classes are numbered anew, without those that have no row."""
    rows, labels = np.nonzero(weights > SMALLEST * weights.max(axis=1, keepdims=True))
    present, codes = np.unique(labels, return_inverse=True)
    if len(present) == 1:
        return _Fitted(None, present, weights.shape[1])
    model = clone(estimator)
    model.fit(X[rows], codes, **{_weight_name(model): weights[rows, labels]})
    return _Fitted(model, present, weights.shape[1])


def _rounds(
    estimator: Any,
    X: Any,
    prior: Floats,
    importance: Floats,
    parts: list[tuple[Rows, Rows]],
    weighting: str,
    rounds: int,
) -> tuple[Floats, list[float]]:
    """The weights whose forecasts of rows left out have the least risk, and the risk of each round."""
    weights, best, mask = prior, prior, prior > 0
    risks: list[float] = []
    for _ in range(rounds):
        proba = np.empty(mask.shape)
        for kept, held in parts:
            fitted = _fit_exploded(estimator, X[kept], (weights * importance)[kept])
            proba[held] = fitted.proba(X[held])
        risks.append(float(np.average(set_risk(proba, mask), weights=importance[:, 0])))
        if risks[-1] > min(risks):
            break
        best, weights = weights, candidate_weights(proba, mask, weighting, prior)
    return best, risks


def _checked(estimator: Any) -> Any:
    """The estimator, if it can learn from weighted rows and say how sure it is."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, Frozen):
        problem = "a classifier of scikit-learn that was loaded from a file cannot be trained anew."
        raise InputError(problem, code="frozen")
    fits = hasattr(last, "fit") and not isinstance(last, type)
    if fits and has_fit_parameter(last, "sample_weight") and hasattr(estimator, "predict_proba"):
        return estimator
    raise InputError(
        "must be a classifier with sample_weight in fit, and with predict_proba.",
        code="no-weights",
        argument="estimator",
        got=estimator,
        remedy="Such as RandomForestClassifier(), or LogisticRegression().",
    )


def _weight_name(estimator: Any) -> str:
    is_pipeline = isinstance(estimator, Pipeline)
    return f"{estimator.steps[-1][0]}__sample_weight" if is_pipeline else "sample_weight"


def _seeded(estimator: Any, seed: int) -> Any:
    """A copy with this seed wherever it has none."""
    made = clone(estimator)
    names = [n for n in made.get_params() if n.rpartition("__")[2] == "random_state"]
    unset = [name for name in names if made.get_params()[name] is None]
    return made.set_params(**dict.fromkeys(unset, seed % 2**32))
