"""Modules of one's own, checkpoints and files: what a first user tried, and what must come of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from amongst import CandidateSets, CCClassifier, LWClassifier
from amongst.candidates import uniform
from amongst.errors import InputError
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
