"""What comes from a GPU, or was meant for one, is taken on a machine without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from amongst import LWClassifier, PLKNNClassifier, as_candidates, load
from amongst.errors import InputError
from amongst.selection import PartialLabelSearchCV

X = np.random.default_rng(0).normal(size=(30, 4))
MASK = np.eye(3, dtype=bool)[np.arange(30) % 3]


class Faraway(Tensor):
    """As a tensor on a GPU, which NumPy cannot read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")

    def cpu(self, *_: Any, **__: Any) -> Tensor:
        return self.as_subclass(Tensor)


def faraway(values: Any) -> Tensor:
    return torch.tensor(values).as_subclass(Faraway)


def linear(**params: Any) -> LWClassifier:
    return LWClassifier(model="linear", epochs=2, random_state=0, **params)


def test_candidate_masks_may_be_a_tensor_on_any_device() -> None:
    assert as_candidates(faraway(MASK)).to_lists() == as_candidates(MASK).to_lists()


@pytest.mark.parametrize("estimator", [linear(), PLKNNClassifier()], ids=["network", "neighbours"])
def test_features_may_be_a_tensor_on_any_device_or_with_a_history(estimator: Any) -> None:
    far = faraway(X)
    expected = estimator.fit(X, MASK).predict(X).tolist()
    assert estimator.fit(far, faraway(MASK)).predict(far).tolist() == expected
    assert estimator.predict(torch.tensor(X, requires_grad=True)).tolist() == expected
    assert estimator.score(far, faraway(MASK)) == estimator.score(X, MASK)
    assert estimator.disambiguate(far, MASK)["label"].isin([0, 1, 2]).all()


def test_a_search_takes_such_features_too() -> None:
    search = PartialLabelSearchCV(linear(), {"lr": [0.1, 0.01]}, random_state=0)
    assert search.fit(faraway(X), faraway(MASK)).predict(faraway(X)).shape == (30,)


def test_a_device_of_torch_is_saved_by_its_name(tmp_path: Path) -> None:
    """It came back as None, and nothing could be predicted."""
    fitted = linear(device=torch.device("cpu")).fit(X, MASK)
    fitted.save(tmp_path / "model.amongst")
    again = load(tmp_path / "model.amongst")
    assert again.get_params()["device"] == "cpu"
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_model_for_a_gpu_is_loaded_for_another_device(tmp_path: Path) -> None:
    fitted = linear(device="cpu").fit(X, MASK)
    fitted.set_params(device="cuda").save(tmp_path / "model.amongst")
    with pytest.raises(InputError, match=r"device='cuda' cannot be used here.*device='cpu'"):
        load(tmp_path / "model.amongst").predict(X)
    again = load(tmp_path / "model.amongst", device="cpu")
    np.testing.assert_array_equal(again.predict(X), fitted.set_params(device="cpu").predict(X))
