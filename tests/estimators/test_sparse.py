"""Sparse features: the same answers as from dense ones, and no dense matrix where none is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from amongst import AutoClassifier, CandidateSets, LWClassifier, PartialLabel, load
from amongst.candidates import uniform
from amongst.data.features import Features, SparseFeatures
from amongst.errors import InputError
from amongst.estimators import estimator_for
from amongst.selection.blend import MOST_DENSE, taken_by
from amongst.selection.portfolio import portfolio


@pytest.fixture(scope="module")
def words() -> tuple[sp.csr_array, CandidateSets]:
    """Counts of forty words, of which a dozen tell the class."""
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    counts = rng.poisson(0.1 + 2.0 * (np.arange(40) % 10 == truth[:, None]))
    return sp.csr_array(counts.astype(np.float64)), uniform(truth, 0.3, seed=0)


@pytest.mark.parametrize("rows", [slice(3, 7), [5, 0, 5], []])
@pytest.mark.parametrize("scale", [None, 4.0])
def test_a_batch_is_that_of_dense_features(words: Any, rows: Any, scale: float | None) -> None:
    X, _ = words
    import torch

    picked = rows if isinstance(rows, slice) else torch.tensor(rows, dtype=torch.int64)
    sparse = SparseFeatures.of_matrix(X, scale)
    dense = Features.of(X.toarray(), None, scale)
    assert torch.equal(sparse.batch(picked), dense.batch(picked))
    assert (len(sparse), sparse.shape) == (len(dense), dense.shape)
    twice = sparse.to("cpu", torch.float64)
    assert torch.equal(twice.batch(picked), dense.to("cpu", torch.float64).batch(picked))


@pytest.mark.parametrize("name", ["lw", "proden", "cc"])
def test_a_network_learns_the_same_from_a_sparse_matrix(words: Any, name: str) -> None:
    X, sets = words
    kind: Any = estimator_for(name)
    made = [kind(epochs=3, widths=(8,), scaling=None, random_state=0).fit(x, sets)
            for x in (X, X.toarray())]  # fmt: skip
    np.testing.assert_allclose(made[0].predict_proba(X), made[1].predict_proba(X.toarray()))
    np.testing.assert_allclose(made[0].predict_proba(X), made[0].predict_proba(X.toarray()))


def test_rows_of_a_sparse_matrix_have_one_length_to_a_network(words: Any) -> None:
    X, sets = words
    models = [LWClassifier(epochs=2, random_state=0).fit(x, sets) for x in (X, X * 1000)]
    np.testing.assert_allclose(
        models[0].predict_proba(X), models[1].predict_proba(X * 1000), rtol=1e-4
    )


def test_several_seeds_and_folds_take_it_too(words: Any) -> None:
    X, sets = words
    model = LWClassifier(model="linear", epochs=2, n_init=2, random_state=0).fit(X, sets)
    assert model.predict(X).shape == (90,)
    assert model.explain(X, sets, ensemble=2).shape[0] == 90


def test_auto_takes_it_and_is_saved(words: Any, tmp_path: Path) -> None:
    X, sets = words
    methods = {
        "LW": LWClassifier(model="linear", epochs=10),
        "IPAL": estimator_for("ipal")(),
        "logistic": PartialLabel(LogisticRegression(), rounds=2, folds=2),
    }
    model = AutoClassifier(methods=methods, folds=2, random_state=0).fit(X, sets)
    assert (model.leaderboard_["folds"] > 0).all()
    model.save(tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_every_usual_method_of_sparse_features_is_saved(words: Any, tmp_path: Path) -> None:
    X, sets = words
    for contender in portfolio(X.shape, 3, True, "cpu"):
        small = contender.estimator.set_params(**contender.small)
        taken = taken_by(small, X)
        small.fit(taken, sets).save(tmp_path / "one")
        np.testing.assert_allclose(load(tmp_path / "one").predict(taken), small.predict(taken))


@pytest.mark.parametrize("estimator", [LWClassifier(epochs=1), PartialLabel(LogisticRegression())])
def test_a_matrix_whose_indices_leave_its_shape_is_refused(words: Any, estimator: Any) -> None:
    """SciPy and scikit-learn read past its end: an answer, or a crash."""
    X, sets = words
    odd = X.copy()
    odd.indices[5] = 10**6
    fitted = clone(estimator).fit(X, sets)
    for ask in (lambda: clone(estimator).fit(odd, sets), lambda: fitted.predict(odd)):
        with pytest.raises(InputError) as caught:
            ask()
        assert (caught.value.code, caught.value.argument) == ("sparse", "X")


@pytest.mark.parametrize("scaling", [None, "auto"])
def test_a_value_beyond_float32_is_refused_with_its_place(words: Any, scaling: Any) -> None:
    X, sets = words
    fitted = LWClassifier(epochs=1, scaling=scaling, random_state=0).fit(X, sets)
    odd = X.copy()
    odd[7, 3] = 1e39
    for ask in (lambda: clone(fitted).fit(odd, sets), lambda: fitted.disambiguate(odd, sets)):
        with pytest.raises(InputError, match="column 3") as caught:
            ask()
        assert (caught.value.code, caught.value.at, caught.value.got) == ("too-large", 7, 1e39)


def test_large_rows_in_single_precision_still_have_a_length() -> None:
    """Their squares leave float32: the length was infinite, and every feature 0."""
    X = sp.csr_array(np.eye(4, dtype=np.float32) * np.float32(1e20))
    model = LWClassifier(epochs=30, random_state=0).fit(X, [0, 1, 2, 3])
    assert model.predict(X).tolist() == [0, 1, 2, 3]


def test_a_matrix_that_would_be_too_large_is_not_made_dense() -> None:
    wide = sp.csr_array((MOST_DENSE // 2, 4))
    assert taken_by(LWClassifier(), wide) is wide
    with pytest.raises(ValueError, match="dense"):
        taken_by(estimator_for("ipal")(), wide)
