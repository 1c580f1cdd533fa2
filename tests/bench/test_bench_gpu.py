"""On a GPU the bench trains populations too: everything that it measures is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from amongst import LWClassifier
from amongst.bench import sources
from amongst.bench.execute_population import run_group, run_together
from amongst.bench.plans import Request, make_plan
from amongst.bench.record import Trial
from amongst.bench.trial import run_trial
from amongst.candidates import uniform
from amongst.data import Dataset

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SETTINGS = {"epochs": 12, "batch_size": 64, "widths": "32-32", "validation": 0.1, "lr": 0.05}


def trials(model: str) -> list[Trial]:
    return [
        Trial("digits", "q=0.3", method, model, seed, settings=SETTINGS)
        for method in ("lw-cross_entropy", "cc")
        for seed in (0, 1)
    ]


@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_a_population_measures_what_a_trial_alone_does(model: str) -> None:
    together = run_group(trials(model), "cuda")
    alone = [run_trial(trial, device="cuda") for trial in trials(model)]
    for ours, theirs in zip(together, alone, strict=True):
        assert ours.metrics.keys() == theirs.metrics.keys()
        assert ours.metrics["accuracy_last10"] == pytest.approx(
            theirs.metrics["accuracy_last10"], abs=0.03
        )


def test_an_estimator_trains_there() -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    sets = uniform(y[:1500], q=0.3, seed=0)
    model = LWClassifier(epochs=10, device="cuda", random_state=0, n_init=2).fit(X[:1500], sets)
    assert (model.predict(X[1500:]) == y[1500:]).mean() > 0.8


def test_an_image_trial_runs_there_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight colours of noise, told apart from views of them, in bf16."""
    rng = np.random.default_rng(0)
    labels = np.arange(1200) % 8
    x = (
        rng.integers(0, 150, (1200, 3, 16, 16))
        + 100 * (labels[:, None] >> np.arange(3) & 1)[..., None, None]
    )
    made = Dataset(
        "gpu-noise", x.astype(np.uint8), labels, None, 1000, tuple("abcdefgh"), "channel"
    )
    monkeypatch.setattr(sources, "_opened", lambda source: made)
    asked = Request("images", conditions=("q=0.5",), methods=("lw-views",), epochs=10, seeds=1)
    (trial,) = make_plan(asked).trials
    less = {"widths": "16-32-32", "batch_size": 50, "lr": 0.3, "precision": "bf16"}
    trial = replace(trial, dataset="gpu-noise", settings=dict(trial.settings) | less)
    (record,) = run_together([trial], "cuda")
    assert record.engine == "local"
    assert record.metrics["accuracy_final"] > 0.9
