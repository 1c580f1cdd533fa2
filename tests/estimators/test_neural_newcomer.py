"""Modules of one's own, checkpoints and files: what a first user tried, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from torch import Tensor, nn

from amongst import CandidateSets, CCClassifier, IPALClassifier, LWClassifier
from amongst.candidates import uniform
from amongst.errors import DivergenceError, InputError
from amongst.theory import auto_beta

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
SETS: CandidateSets = uniform(Y, 0.4, seed=0)


class Casting(nn.Module):
    """Casts its input itself, and holds a tensor that `.to` does not move."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.shift = nn.Linear(4, 3), torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.float()) + self.shift


def test_a_module_that_keeps_to_float32_predicts() -> None:
    fitted = CCClassifier(model=Casting(), epochs=3, random_state=0).fit(X, SETS)
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("singletons", range(1, 100, 7))
def test_labelled_rows_among_unlabelled_ones(singletons: int) -> None:
    """Sets of one and full sets alone: u is 1/2, where rounding once had the last word."""
    sets = [[i % 3] if i < singletons else [0, 1, 2] for i in range(100)]
    assert 2 <= auto_beta(sets) <= 64
    assert 0 < auto_beta(sets, "sigmoid") <= 64


def test_more_epochs_than_were_kept_give_the_numbers_of_one_stretch(tmp_path: Path) -> None:
    """Not with a leverage that fades over all epochs: that is another run, and is refused."""
    common = {"model": "linear", "random_state": 0, "schedule": "constant", "device": "cpu"}
    kept = common | {"checkpoint": tmp_path / "run"}
    CCClassifier(epochs=3, **kept).fit(X, SETS)
    longer = CCClassifier(epochs=6, **kept).fit(X, SETS)
    whole = CCClassifier(epochs=6, **common).fit(X, SETS)
    np.testing.assert_array_equal(longer.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(InputError, match="has 6 epochs, and epochs=2 asks for fewer"):
        CCClassifier(epochs=2, **kept).fit(X, SETS)
    (tmp_path / "run").unlink()
    LWClassifier(epochs=3, **kept).fit(X, SETS)
    with pytest.raises(InputError, match="another run"):
        LWClassifier(epochs=6, **kept).fit(X, SETS)


@pytest.mark.parametrize("other", [nn.Linear(4, 3), "mlp"])
def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path, other: object) -> None:
    common = {"epochs": 2, "random_state": 0, "checkpoint": tmp_path / "run"}
    CCClassifier(model=nn.Linear(4, 3), **common).fit(X, SETS)
    with pytest.raises(InputError, match="is of another run: its data, model"):
        CCClassifier(model=other, **common).fit(X, SETS)


def test_without_a_random_state_a_kept_run_goes_on_with_its_own(tmp_path: Path) -> None:
    common = {"model": "linear", "schedule": "constant", "checkpoint": tmp_path / "run"}
    CCClassifier(epochs=2, **common).fit(X, SETS)
    assert CCClassifier(epochs=4, **common).fit(X, SETS).n_iter_ == 4


class Mine(CCClassifier):
    """A class that no file can bring back."""


def test_saving_a_class_of_ones_own_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Mine is a class of your own.*joblib"):
        Mine(model="linear", epochs=1).fit(X, SETS).save(tmp_path / "mine")
    assert not list(tmp_path.iterdir())


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = LWClassifier(model="linear", epochs=3, random_state=0).fit(X, SETS)
    before = model.predict(X)
    renamed = uniform(np.array(["a", "b", "c"])[Y], 0.3, seed=0)
    with pytest.raises(DivergenceError):
        model.set_params(lr=1e9).fit(X, renamed)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("model", [LWClassifier(lr=1e9), IPALClassifier(n_neighbors=70)])
def test_after_a_first_fit_that_fails_nothing_is_fitted(model: LWClassifier) -> None:
    with pytest.raises((DivergenceError, InputError)):
        model.fit(X, SETS)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_ctrl_c_stops_a_search_too(interrupt_before: Callable[[int], None]) -> None:
    interrupt_before(5)
    search = GridSearchCV(CCClassifier(epochs=4), {"lr": [0.1, 0.2]}, cv=KFold(2, shuffle=True))
    with pytest.raises(KeyboardInterrupt, match="epoch 1 of 4 is kept"):
        search.fit(X, SETS)


def test_a_mask_is_scored_by_position() -> None:
    sets = uniform(np.array(["ant", "bee", "cow"])[Y], 0.3, seed=0)
    model = CCClassifier(model="linear", epochs=5, random_state=0).fit(X, sets)
    mask = sets.to_mask()
    expected = model.score(X, sets)
    for y in (mask, mask.astype(int), scipy.sparse.csr_matrix(mask)):
        assert model.score(X, y) == expected


def test_disambiguate_keeps_the_index() -> None:
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(60)]).sample(frac=1, random_state=0)
    order = [int(name[1:]) for name in frame.index]
    model = CCClassifier(model="linear", epochs=2, random_state=0).fit(frame, SETS[order])
    chosen = model.disambiguate(frame, SETS[order])
    assert chosen.index.equals(frame.index)
    assert not frame.join(chosen)["label"].isna().any()


@pytest.mark.parametrize("scaling", [None, "auto"])
@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_images_of_another_size_are_refused_and_of_another_shape_are_not(
    model: str, scaling: str | None
) -> None:
    X = np.random.default_rng(0).normal(size=(12, 1, 2, 6))
    fitted = LWClassifier(model=model, scaling=scaling, epochs=1, random_state=0)
    fitted.fit(X, ["a", "b|c", "c"] * 4)
    with pytest.raises(InputError, match=r"rows of 9 values.*rows of 12"):
        fitted.predict(X[..., :3, :].reshape(16, 1, 3, 3))
    expected = fitted.decision_function(X)
    for same in (X.reshape(12, 3, 2, 2), X.reshape(12, 12)):
        np.testing.assert_array_equal(fitted.decision_function(same), expected)


def test_an_interrupted_fit_without_a_checkpoint_does_not_promise_to_go_on(
    interrupt_before: Callable[[int], None],
) -> None:
    interrupt_before(1)
    model = LWClassifier(model="linear", epochs=3, random_state=0)
    with pytest.raises(KeyboardInterrupt, match=r"epoch 1 of 3 is kept\.$"):
        model.fit(np.eye(3), ["a", "b", "a|b"])


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_a_scaling_that_is_unknown_says_how_to_have_none(scaling: str) -> None:
    with pytest.raises(InputError, match=r"scaling='\w+' is unknown; give 'auto', or None"):
        LWClassifier(scaling=scaling, epochs=1).fit(np.eye(3), ["a|b", "b", "c"])
