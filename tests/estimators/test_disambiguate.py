"""Which candidate was right: the one with the highest score, whatever lies outside the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from amongst import (
    IPALClassifier,
    LWClassifier,
    PALOCClassifier,
    PLECOCClassifier,
    PLKNNClassifier,
    PLSVMClassifier,
    load,
)
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.estimators import PartialLabelClassifier

TRUE = np.arange(90) % 3
X = np.eye(3)[TRUE] * 3 + np.random.default_rng(0).normal(0, 1, (90, 3))
SETS = uniform(TRUE, 0.5, seed=0)
MODELS: list[PartialLabelClassifier] = [
    LWClassifier(model="linear", epochs=20, random_state=0),
    PALOCClassifier(),
    PLECOCClassifier(random_state=0),
    PLKNNClassifier(),
    PLSVMClassifier(),
]


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_highest_scores_amongst_the_candidates_win(model: Any, scale: float) -> None:
    """Far from the data scores differ by thousands, which exp cannot hold."""
    model.fit(X, SETS)
    rows = np.vstack([X, X[:60] - 2.0]) * scale
    sets = SETS[[*range(90), *range(60)]]
    found = model.disambiguate(rows, sets)
    order = np.argsort(np.where(sets.mask, -model.decision_function(rows), np.inf), kind="stable")
    several = sets.sizes > 1
    assert (found["label"] == order[:, 0]).all()
    assert (found["runner_up"][several] == order[several, 1]).all()
    assert found["runner_up"][~several].isna().all()
    assert (found["confidence"][~several] == 1).all()
    assert (found["runner_up_confidence"][~several] == 0).all()
    assert (found["confidence"] >= found["runner_up_confidence"]).all()


@pytest.mark.parametrize("model", [*MODELS, IPALClassifier()], ids=lambda m: type(m).__name__)
def test_columns_of_a_mask_may_come_in_any_order(model: Any) -> None:
    mask = pd.DataFrame(SETS.mask, columns=["owl", "kite", "wren"])
    model.fit(X, mask)
    turned = model.disambiguate(X, mask[["wren", "owl", "kite"]])
    pd.testing.assert_frame_equal(model.disambiguate(X, mask), turned)


@pytest.mark.parametrize("frame", [False, True])
def test_a_few_rows_of_answers_are_no_mask(tmp_path: Path, frame: bool) -> None:
    rng = np.random.default_rng(1)
    votes = np.array([rng.choice(labels, 3) for labels in SETS.to_lists()])
    few = (votes < 2).all(axis=1) & (votes > 0).any(axis=1)
    y = pd.DataFrame(votes, columns=["anna", "ben", "cleo"]) if frame else votes
    model = PLKNNClassifier().fit(X, y)
    model.save(tmp_path / "model")
    for one in (model, load(tmp_path / "model")):
        found = one.disambiguate(X[few], y[few])["label"].to_numpy()
        assert (votes[few] == found[:, None]).any(axis=1).all()
        covered = (votes[few] == one.predict(X[few])[:, None]).any(axis=1)
        assert one.score(X[few], y[few]) == covered.mean()
    again = model.fit(X, SETS.mask).disambiguate(X, SETS.mask.astype(int))
    assert SETS.contains(again["label"]).all()


def test_masked_features_are_refused() -> None:
    with pytest.raises(InputError, match="X is a masked array"):
        PLKNNClassifier().fit(np.ma.array(X, mask=X > 4), SETS)


def test_scores_of_an_earlier_fit_are_gone() -> None:
    model = LWClassifier(model="linear", epochs=1, n_init=2).fit(X, SETS)
    assert not hasattr(model.set_params(n_init=1).fit(X, SETS), "init_scores_")


@pytest.mark.parametrize("model", [*MODELS, IPALClassifier()], ids=lambda m: type(m).__name__)
def test_images_of_another_size_are_refused(model: Any, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (90, 1, 4, 4)).astype(np.uint8)
    model.fit(X, SETS).fit(images, SETS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_features_in_ == 16
    for rows in (images, images.reshape(90, 16)):
        assert (again.predict(rows) == model.predict(rows)).all()
    with pytest.raises(InputError, match=r"rows of 12 values, shape \(1, 4, 3\).* rows of 16"):
        model.predict(images[..., :3])


@pytest.mark.parametrize("value", [1.7e308, 9.97e36])
def test_a_value_that_cannot_be_scaled_is_refused_with_its_place(value: float) -> None:
    """It became NaN, and NaN the first class, or a label that is no candidate."""
    frame = pd.DataFrame(X * 1e-3, columns=["a", "b", "c"])
    model = LWClassifier(model="linear", epochs=1, random_state=0).fit(frame, SETS)
    raw = LWClassifier(model="linear", epochs=1, scaling=None, random_state=0)
    odd = frame.copy()
    odd.loc[3, "b"] = value
    asked = [model.predict, model.predict_proba, lambda rows: model.disambiguate(rows, SETS)]
    if value > 1e300:
        asked.append(lambda rows: raw.fit(rows, SETS))
    for ask in asked:
        with pytest.raises(InputError) as caught:
            ask(odd)
        assert (caught.value.code, caught.value.at, caught.value.got) == ("too-large", 3, value)
        assert "'b'" in str(caught.value)


class _Rash(torch.nn.Module):
    """A network whose scores leave float32 before its input does."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x * x)


def test_a_score_that_is_not_finite_becomes_no_label() -> None:
    model = LWClassifier(model=_Rash(), epochs=1, scaling=None, random_state=0).fit(X, SETS)
    odd = X.copy()
    odd[5] = 1e30
    for ask in (model.predict, lambda rows: model.disambiguate(rows, SETS)):
        with pytest.raises(InputError) as caught:
            ask(odd)
        assert (caught.value.code, caught.value.at) == ("not-finite", 5)
