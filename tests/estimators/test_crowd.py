"""A classifier and its raters together, on raters of known confusion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from amongst import CrowdClassifier, as_candidates, load
from amongst.candidates.raters import Answers
from amongst.data.readers import sets_of_answers
from amongst.errors import InputError
from amongst.estimators import PRODENClassifier

K, N = 3, 240
RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, K, N)
X = RNG.normal(size=(N, 4)) + 2.0 * np.eye(4)[TRUE]
# Three raters of five answer a row; two of them always answer 0 where the label is 2.
CONFUSION = np.stack([np.full((K, K), 0.1) + 0.7 * np.eye(K)] * 5)
CONFUSION[:2, 2] = [0.9, 0.05, 0.05]


def answers() -> np.ndarray:
    drawn = (RNG.random((N, 5, 1)) > CONFUSION[:, TRUE].cumsum(-1).transpose(1, 0, 2)).sum(-1)
    drawn[np.arange(N)[:, None], RNG.random((N, 5)).argsort(1)[:, :2]] = -1
    return drawn


SETS = sets_of_answers(answers(), K)


def head() -> PRODENClassifier:
    return PRODENClassifier(model="linear", epochs=8, random_state=0)


def test_beliefs_help_to_judge_the_raters() -> None:
    model = CrowdClassifier(head(), rounds=2, folds=3).fit(X, SETS)
    assert model.reliability_ is not None
    assert SETS.answers is not None
    alone = SETS.answers.fit("dawid-skene", K)
    off = [np.abs(found.confusion - CONFUSION).mean() for found in (model.reliability_, alone)]
    assert off[0] < off[1]
    right = [(found.posterior.argmax(1) == TRUE).mean() for found in (model.reliability_, alone)]
    assert right[0] > right[1] + 0.02
    assert model.likelihoods_ == sorted(model.likelihoods_)
    assert model.score(X, TRUE) > head().fit(X, SETS).score(X, TRUE)


def test_the_truth_need_not_be_among_the_answers() -> None:
    """As all who answered are known to say 0 of a 2, its weight is above that of a rare mistake."""
    told = np.array([[0, 0, -1, -1, -1]])
    assert SETS.answers is not None
    found = Answers(np.vstack([SETS.answers.codes, told]), tuple(range(5))).fit("dawid-skene", K)
    weights = softmax(found.evidence[-1])
    assert weights[2] > 5 * weights[1]
    assert (weights > 0).all()


def test_sparse_features_as_of_words(tmp_path: Path) -> None:
    words = np.where(X > 0.5, X, 0.0)
    models = [
        CrowdClassifier(head().set_params(scaling=None), rounds=1, folds=2).fit(rows, SETS)
        for rows in (words, sp.csr_array(words))
    ]
    found = [model.predict_proba(words) for model in models]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
    models[1].save(tmp_path / "crowd.amongst")
    again = load(tmp_path / "crowd.amongst")
    np.testing.assert_array_equal(again.predict_proba(sp.csr_array(words)), found[1])


def test_a_saved_model_answers_alike(tmp_path: Path) -> None:
    model = CrowdClassifier(head(), rounds=0).fit(X, SETS)
    model.save(tmp_path / "crowd.amongst")
    again = load(tmp_path / "crowd.amongst")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.likelihoods_ == []


def test_without_raters_it_says_so() -> None:
    with pytest.raises(InputError) as caught:
        CrowdClassifier(head()).fit(X, as_candidates(TRUE, kind="labels"))
    assert (caught.value.code, caught.value.argument) == ("no-raters", "y")
    with pytest.raises(InputError) as caught:
        CrowdClassifier(head()).fit(X, sets_of_answers(TRUE[:, None], K))
    assert (caught.value.code, caught.value.argument) == ("no-overlap", "raters")


def test_what_takes_no_candidate_sets_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        CrowdClassifier(LogisticRegression()).fit(X, SETS)
    assert (caught.value.code, caught.value.argument) == ("type", "estimator")
