"""Networks for images through the scikit-learn face: defaults, views, saving, several seeds."""

from __future__ import annotations

import doctest
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from amongst import LWClassifier, load
from amongst.algorithms import METHODS
from amongst.algorithms._base import hyper_parameters
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.estimators import estimator_for
from amongst.estimators.neural import NeuralClassifier
from amongst.models import FastNet, recipe_of
from amongst.train.views import Views, augment_text

X, Y = load_digits(return_X_y=True)
IMAGES = (X[:600].reshape(-1, 1, 8, 8) * 15.9).astype(np.uint8)
SETS = uniform(Y[:600], 0.3, seed=0)
COLOURED = np.repeat(IMAGES[:60], 3, axis=1)
SMALL: dict[str, Any] = {
    "model": "fastnet",
    "widths": (8, 16, 16),
    "device": "cpu",
    "random_state": 0,
}


def test_the_guide_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "images.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried > 10
    assert failed == 0


def test_the_guide_says_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    found = json.loads((root / "results" / "images_cpu.json").read_text("utf-8"))
    page = (root / "docs" / "images.md").read_text("utf-8")
    told = [f"{found['seconds']['cpu'] / 60:.1f} minutes", f"{found['right_candidate']:.1%}"]
    assert [text for text in (*told, f"{found['accuracy_test']:.1%}") if text not in page] == []


def test_lw_with_views_learns_digits() -> None:
    """True labels of 300 rows that it has not seen; augmented, from candidates of q = 0.3."""
    big = np.kron(IMAGES, np.ones((1, 1, 2, 2), np.uint8))
    options = SMALL | {"widths": (12, 24, 24), "augment": "shift=1"}
    model = estimator_for("lw-views")(**options, epochs=12).fit(big[:300], SETS[:300])
    assert model.score(big[300:], Y[300:600]) > 0.5
    assert (model.disambiguate(big[:300], SETS[:300])["label"] == Y[:300]).mean() > 0.8


def test_the_recipe_is_the_networks_unless_told() -> None:
    used = LWClassifier(model="fastnet", device="cpu")._settings(102_400)
    recipe = recipe_of("fastnet")
    assert {
        n: getattr(used, n) for n in ("lr", "batch_size", "schedule", "lookahead", "bias_lr")
    } == {n: recipe[n] for n in ("lr", "batch_size", "schedule", "lookahead", "bias_lr")}
    told = LWClassifier(
        model="fastnet", device="cpu", batch_size=512, lookahead=False, schedule="cosine"
    )
    found = told._settings(102_400)
    assert (found.lookahead, found.schedule) == (False, "cosine")
    assert found.lr == pytest.approx(used.lr / 2**0.5)
    adam = LWClassifier(model="fastnet", device="cpu", optimizer="adam")._settings(102_400)
    assert (adam.lr, adam.nesterov, adam.lookahead) == (LWClassifier.method.lr, False, False)
    plain = LWClassifier()._settings(102_400)
    assert plain.plain
    assert plain.precision == "float32"


@pytest.mark.parametrize(
    ("given", "shape", "expected"),
    [
        ({"model": "fastnet"}, (3, 32, 32), ("standard", "shifts")),
        ({"model": "fastnet"}, (1, 28, 28), ("glyphs", None)),
        ({"model": "fastnet", "augment": None}, (3, 32, 32), (None, None)),
        (
            {"model": "resnet18", "augment": ["flip", "shift=2"]},
            (3, 32, 32),
            ("flip+shift=2", "mirror"),
        ),
        ({"model": "mlp"}, (3, 32, 32), (None, None)),
        ({"model": "convnet"}, (3, 32, 32), (None, None)),
        ({"model": nn.Flatten(), "tta": "mirror"}, (3, 32, 32), ("standard", "mirror")),
        ({"model": nn.Flatten()}, (784,), (None, None)),
        ({"model": lambda shape, k: nn.Flatten()}, (1, 28, 28), ("glyphs", None)),
        (
            {"model": "fastnet", "augment": nn.functional.relu, "tta": None},
            (3, 32, 32),
            ("relu", None),
        ),
    ],
)
def test_views_that_are_meant(
    given: Any, shape: tuple[int, ...], expected: tuple[Any, Any]
) -> None:
    model = LWClassifier(**given)
    found = model._views_in_training(shape), model._views_at_prediction(shape)
    assert (augment_text(found[0]), found[1]) == expected


@pytest.mark.parametrize("name", ["fastnet", "resnet18"])
def test_a_saved_network_answers_as_before(tmp_path: Path, name: str) -> None:
    widths = {"fastnet": (4, 4, 6), "resnet18": (4, 4, 4, 4)}[name]
    model = LWClassifier(model=name, widths=widths, epochs=1, device="cpu", random_state=0)
    model.fit(COLOURED, SETS[:60]).save(tmp_path / "model.amongst")
    loaded = load(tmp_path / "model.amongst")
    assert loaded.tta_ == model.tta_ is not None
    np.testing.assert_array_equal(loaded.predict_proba(COLOURED), model.predict_proba(COLOURED))
    loaded.save(tmp_path / "again.amongst")
    assert load(tmp_path / "again.amongst").settings_ == model.settings_
    with pytest.raises(InputError):
        loaded.predict(COLOURED[:, :, :7])


def test_a_network_of_its_own_size_on_a_cpu_comes_back(tmp_path: Path) -> None:
    model = LWClassifier(model="fastnet", epochs=1, device="cpu").fit(COLOURED, SETS[:60])
    model.save(tmp_path / "model.amongst")
    assert model.model_.head.in_features == recipe_of("fastnet")["cpu_widths"][-1]
    assert load(tmp_path / "model.amongst").model_.head.in_features == model.model_.head.in_features


@pytest.mark.parametrize("name", ["lw", "pico"])
def test_several_seeds_train_this_network(name: str) -> None:
    options = {"queue": 32, "width": 8} if name == "pico" else {}
    model = estimator_for(name)(**SMALL, **options, epochs=1, n_init=2)
    model.fit(COLOURED, SETS[:60])
    assert isinstance(model.model_, FastNet)
    assert np.isfinite(model.init_scores_).all()


@pytest.mark.parametrize(
    "options",
    [
        {"augment": "flip"},
        {"label_smoothing": 0.1},
        {"lookahead": True},
        {"averaged": 0.9},
        {"schedule": "triangle"},
    ],
)
def test_what_no_stack_can_do_is_not_done_in_lockstep(options: Any) -> None:
    assert LWClassifier().in_lockstep()
    assert not LWClassifier(**options).in_lockstep()


def test_views_make_a_difference_and_a_seed_does_not() -> None:
    found = {}
    for augment in (None, "standard", Views("standard")):
        model = LWClassifier(**SMALL, epochs=1, augment=augment, tta=None).fit(COLOURED, SETS[:60])
        found[str(augment)] = model.history_["loss"].tolist()
    assert found["None"] != found["standard"]
    assert found["standard"] == found["Views(text='standard')"]


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"tta": "six"}, "tta"), ({"augment": "flop"}, "augment"), ({"augment": "mixup"}, "augment")],
)
def test_what_is_unknown_is_named(options: Any, argument: str) -> None:
    with pytest.raises(InputError) as caught:
        LWClassifier(**SMALL, **options).fit(COLOURED, SETS[:60])
    assert (caught.value.code, caught.value.argument) == ("unknown", argument)


def test_images_may_come_in_a_list() -> None:
    model, whole = (
        LWClassifier(**SMALL, epochs=1).fit(X, SETS[:60]) for X in (list(COLOURED), COLOURED)
    )
    tensors = list(torch.from_numpy(COLOURED))
    np.testing.assert_array_equal(model.predict_proba(tensors), whole.predict_proba(COLOURED))
    with pytest.raises(InputError) as caught:
        model.predict([COLOURED[0], COLOURED[1][:, :-1]])
    assert (caught.value.code, caught.value.argument) == ("shape", "X")


def test_hyper_parameters_and_settings_share_no_name() -> None:
    """An algorithm's own would stand in place of the estimator's; of `outside` the estimator knows."""
    settings = {field.name for field in fields(NeuralClassifier)}
    shared = {name: settings & set(hyper_parameters(kind)) for name, kind in METHODS.items()}
    assert {name: found for name, found in shared.items() if found} == {"lw-views": {"outside"}}
