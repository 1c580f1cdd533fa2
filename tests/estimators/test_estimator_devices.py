"""What comes from a GPU, or was meant for one, is taken on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

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


@pytest.fixture
def made_elsewhere() -> Iterator[None]:
    """As after torch.set_default_device("cuda"), on a machine without a GPU."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def answers(folder: Path) -> list[Any]:
    """Of estimators on a CPU: alone, several seeds, a module of one's own, images, a search."""
    images = np.random.default_rng(0).integers(256, size=(6, 1, 28, 28)).astype(np.uint8)
    own = linear(device="cpu").set_params(model=lambda shape, k: torch.nn.Linear(*shape, k))
    kept = linear(device="cpu", checkpoint=folder / "run", beta="auto").fit(X, MASK)
    kept.save(folder / "model")
    convnet = LWClassifier(model="convnet", epochs=1, device="cpu", random_state=0)
    search = PartialLabelSearchCV(linear(device="cpu"), {"lr": [0.1, 0.01]}, random_state=0)
    return [
        load(folder / "model").predict_proba(X),
        linear(device="cpu", n_init=2, optimizer="adam").fit(X, MASK).predict_proba(X),
        own.fit(X, MASK).predict_proba(X),
        own.set_params(n_init=2).fit(X, MASK).predict_proba(X),
        convnet.fit(images, MASK[:6]).predict_proba(images),
        search.fit(X, MASK).predict_proba(X),
    ]


def test_where_pytorch_makes_tensors_by_itself_changes_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Initial weights would be drawn by a generator that no seed has reached."""
    expected = answers(tmp_path)
    (tmp_path / "run").unlink()
    request.getfixturevalue("made_elsewhere")
    for ours, theirs in zip(answers(tmp_path), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


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


class Noting(torch.nn.Linear):
    """Notes whether convolutions may be computed in tf32, three digits, while it scores."""

    seen: ClassVar[set[bool]] = set()

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add(torch.backends.cudnn.allow_tf32)
        return super().forward(x)


def test_predictions_are_in_the_precision_of_training() -> None:
    assert torch.backends.cudnn.allow_tf32, "PyTorch's own choice has changed"
    fitted = linear(device="cpu").set_params(model=lambda shape, k: Noting(*shape, k)).fit(X, MASK)
    fitted.predict(X)
    assert Noting.seen == {False}


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
