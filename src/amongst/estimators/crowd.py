"""A classifier and its raters, learnt together: each tells how far to trust the other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import get_tags

from amongst.candidates import CandidateSets
from amongst.candidates.raters import Reliability
from amongst.checks import Seed, as_seed, check_integer
from amongst.errors import InputError, named
from amongst.estimators.base import Floats, PartialLabelClassifier
from amongst.estimators.by_algorithm import estimator_for
from amongst.estimators.ensemble import crossfit
from amongst.estimators.persistence import from_values, to_values
from amongst.files import Arrays

TEMPERATURES = 2.0 ** np.arange(-3, 4, 0.5)
"""Of the beliefs of rows left out, by how well they foretell the answers."""
FLOOR = 1e-12


@dataclass(eq=False, repr=False)
class CrowdClassifier(PartialLabelClassifier):
    """Learns from the answers of raters, whom it comes to know on the way.

    Answers alone say how far each rater is to be trusted (`Answers.fit`): P(said | z) of each row.
    A clone that has not seen a row then believes p_i of it; with these beliefs in place of the shares
    of the classes, the raters are judged again, T_iz ∝ p_iz Π_r C_r[z, a_ir] (Raykar et al., 2010), and
    so on, while the beliefs foretell the answers better: Σ_i log Σ_z p_iz P(said | z) needs no true
    label. At last the estimator is fitted on all rows, with T as the weights of all K classes: the true
    label need not be among the answers. Raters err together on hard rows, which their law does not know,
    so that it is too sure: the mean of it and of the shares of the votes is what an estimator gets.

    Parameters
    ----------
    estimator : a classifier of this package that uses weights of candidates; None for
        ``PRODENClassifier()``.
    law : ``"dawid-skene"``, or ``"one-coin"`` for few answers.
    rounds : the most times that raters are judged with the classifier's beliefs.
    folds : in how many parts rows are left out in turn.
    random_state : of the clones, where the estimator has no seed of its own.

    Attributes
    ----------
    estimator_ : fitted on all rows.
    reliability_ : `Reliability` of the raters, at last; of a loaded model, None.
    likelihoods_ : how well beliefs foretold the answers in each round, mean logarithm.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> from amongst.estimators import PRODENClassifier
    >>> truth = np.arange(60) % 2
    >>> told = np.stack([truth, truth, np.where(np.arange(60) % 3, 0, 1), truth], axis=1)
    >>> sets = as_candidates(told, kind="annotators")
    >>> head = PRODENClassifier(model="linear", epochs=5, random_state=0)
    >>> model = CrowdClassifier(head, rounds=1).fit(np.eye(2)[truth], sets)
    >>> model.reliability_.reliability.argmin(), model.score(np.eye(2)[truth], truth)
    (np.int64(2), 1.0)
    """

    uses_prior = True

    estimator: PartialLabelClassifier | None = None
    _: KW_ONLY
    law: str = "dawid-skene"
    rounds: int = 5
    folds: int = 5
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._template()).input_tags.sparse
        return tags

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classifier, shape (n, K)."""
        return np.exp(self._checked_scores(X))

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        rounds = check_integer("rounds", self.rounds, low=0)
        folds = min(check_integer("folds", self.folds, low=2), len(sets))
        template = self._template()
        if sets.answers is None:
            raise InputError(
                "does not say who said what: a column for each of several raters.",
                code="no-raters",
                argument="y",
                remedy={
                    "python": f"Pass as_candidates(answers, {named('kind', 'annotators')}).",
                    "command": f"Name each with {named('candidates')}, or {named('rater')}.",
                },
            )
        found = sets.answers.fit(self.law, sets.n_classes)
        self.likelihoods_: list[float] = []
        for _ in range(rounds):
            told = with_votes(sets, softmax(found.evidence, axis=1))
            belief, likelihood = _foretold(template, X, told, found, folds)
            if self.likelihoods_ and likelihood <= max(self.likelihoods_):
                break
            self.likelihoods_.append(likelihood)
            found = sets.answers.fit(self.law, sets.n_classes, belief)
        self.reliability_: Reliability | None = found
        self.estimator_ = clone(template).fit(X, with_votes(sets, found.posterior))

    def _template(self) -> Any:
        made = clone(estimator_for("proden")() if self.estimator is None else self.estimator)
        if not isinstance(made, PartialLabelClassifier):
            problem = f"is {type(made).__name__}, which does not take candidate sets."
            remedy = (
                "Pass a classifier of this package, such as PartialLabel(LogisticRegression())."
            )
            raise InputError(problem, code="type", argument="estimator", remedy=remedy)
        params = made.get_params(deep=False)
        if "random_state" in params and params["random_state"] is None:
            made.set_params(random_state=as_seed(self.random_state))
        return made

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        logs = self.estimator_._log_weights(X)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, facts = to_values(self.estimator_)
        return arrays, {"estimator": facts, "likelihoods": self.likelihoods_}

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.estimator_ = from_values(arrays, facts["estimator"])
        if self.estimator is None:
            self.estimator = self.estimator_
        self.likelihoods_, self.reliability_ = facts["likelihoods"], None


def with_votes(sets: CandidateSets, found: Floats) -> CandidateSets:
    """The mean of what was found of each row, shape (n, K), and of its votes, as weights of all classes.

    >>> from amongst import as_candidates
    >>> sets = as_candidates([["a", "a", "b", "b"]], kind="annotators")
    >>> with_votes(sets, np.array([[0.9, 0.1]])).prior.round(2)
    array([[0.7, 0.3]])
    """
    weights = np.maximum((found + sets.prior) / 2, FLOOR)
    return CandidateSets(np.ones(weights.shape, dtype=bool), sets.classes, weights, sets.answers)


def _foretold(
    template: Any, X: npt.NDArray[Any], told: CandidateSets, found: Reliability, folds: int
) -> tuple[npt.NDArray[np.float64], float]:
    """What clones believe of the rows that they have not seen, and how well it foretells the answers."""
    logs = np.empty(told.shape)
    for one, held in crossfit(template, X, told, folds):
        logs[held] = one._log_weights(X[held])
    floored = np.maximum(logs - logs.max(axis=1, keepdims=True), np.log(FLOOR))
    each = [softmax(floored * t, axis=1) for t in TEMPERATURES]
    likelihoods = [found.log_likelihood(belief) for belief in each]
    best = int(np.argmax(likelihoods))
    return each[best], likelihoods[best]
