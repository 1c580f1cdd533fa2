"""Rows whose true label is none of their candidates: found, left out, proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from amongst import LWClassifier, PLKNNClassifier, PRODENClassifier, as_candidates, load
from amongst.algorithms import CC, PRODEN
from amongst.candidates import noisy, uniform
from amongst.cli import main
from amongst.errors import InputError
from amongst.models import build_model
from amongst.train import Callback, Features, Settings, Training, training_data
from amongst.train.doubts import _neighbours, doubted
from amongst.trust import Outside, chance_outside, fit_outside

K, N, ETA = 5, 450, 0.2
RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, K, N)
X = RNG.normal(size=(N, K)) + 3.5 * np.eye(K)[TRUE]
CLEAN = uniform(TRUE, 0.2, classes=range(K), seed=0)
SETS = noisy(CLEAN, TRUE, ETA, seed=0)
MISSING = ~SETS.contains(TRUE)


def head(kind: Any = PRODENClassifier, **more: Any) -> Any:
    return kind(model="linear", epochs=12, random_state=0, **more)


def test_the_chance_is_bayes_rule_over_every_truth() -> None:
    """P(s | y) of the law, written out for each y, in place of the closed form."""
    proba = RNG.dirichlet(np.ones(K), N)
    m = SETS.sizes
    wanted = np.empty(N)
    for i in range(N):
        law = [(1 - ETA) / m[i] if SETS.mask[i, y] else ETA / (K - m[i]) for y in range(K)]
        joint = proba[i] * law
        wanted[i] = joint[~SETS.mask[i]].sum() / joint.sum()
    np.testing.assert_allclose(chance_outside(proba, SETS, ETA), wanted, atol=1e-9)


def test_share_and_temperature_that_drew_the_sets() -> None:
    """Scores of the true posterior, made too sure by 3."""
    logits = 3.5 * X
    truth = np.array([RNG.choice(K, p=p) for p in torch.tensor(logits / 3).softmax(1).numpy()])
    sets = noisy(uniform(truth, 0.2, classes=range(K), seed=1), truth, ETA, seed=1)
    found = fit_outside(logits, sets)
    assert abs(found.share - ETA) < 0.05
    assert 2 < found.temperature < 4.5
    assert fit_outside(logits, sets, 0.4).share == 0.4
    full = as_candidates(np.ones((3, K)), range(K))
    assert fit_outside(np.zeros((3, K)), full).chances.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [PRODENClassifier, LWClassifier])
def test_rows_without_their_truth_do_not_mislead(kind: Any) -> None:
    model, plain = head(kind, outside="auto").fit(X, SETS), head(kind).fit(X, SETS)
    assert abs(model.outside_ - MISSING.mean()) < 0.06
    assert model.score(X, TRUE) >= plain.score(X, TRUE) - 0.005  # a line is near its best
    found = model.disambiguate(X, SETS)
    suspected = found["proposed"].notna().to_numpy()
    assert MISSING[suspected].mean() > 0.8
    assert suspected[MISSING].mean() > 0.7
    right = found["proposed"][suspected & MISSING] == TRUE[suspected & MISSING]
    assert right.mean() > 0.9
    listed = model.suspects(X, SETS)
    assert set(listed.index) == set(np.flatnonzero(suspected))
    assert (np.diff(listed["outside"]) <= 0).all()


def test_clean_sets_stay_as_they_are() -> None:
    """With nothing to suspect, the training is today's, bit for bit."""
    model, plain = head(outside="auto").fit(X, CLEAN), head().fit(X, CLEAN)
    assert model.outside_ < 0.03
    off = head(outside=0.0).fit(X, SETS)
    np.testing.assert_array_equal(off.predict_proba(X), head().fit(X, SETS).predict_proba(X))
    assert model.score(X, TRUE) >= plain.score(X, TRUE) - 0.01


def test_suspects_of_any_estimator() -> None:
    found = PLKNNClassifier(n_neighbors=9).fit(X, SETS).suspects(pd.DataFrame(X), SETS)
    assert MISSING[found.index].mean() > 0.8
    assert found.columns.tolist() == ["label", "proposed", "outside"]


def look(method: Any, importance: Any = None) -> tuple[Any, Outside]:
    data = training_data(Features.of(X), SETS, importance=importance)
    settings = Settings(epochs=30, batch_size=32)
    return doubted(data, method, settings, lambda *_: build_model("linear", (K,), K, 0), "auto")


def test_a_doubted_row_may_be_any_class_and_others_keep_their_sets() -> None:
    data, found = look(PRODEN(), np.linspace(1, 2, N))
    inside, belief = data.inside.numpy(), data.known.numpy()
    free = inside.all(axis=1) & (SETS.sizes < K)
    assert (inside[~free] == SETS.mask[~free]).all()
    assert (belief[~inside] == 0).all()
    np.testing.assert_allclose(belief.sum(axis=1), 1, atol=1e-6)
    assert (belief.argmax(axis=1) == TRUE)[MISSING].mean() > 0.7
    np.testing.assert_allclose(data.importance, np.linspace(1, 2, N), atol=1e-6)
    assert abs(found.share - MISSING.mean()) < 0.06


def test_a_method_without_weights_gets_the_classes_that_are_believed() -> None:
    class Plain(CC):
        uses_prior = False

    data, _ = look(Plain())
    assert data.known is None
    assert data.inside.numpy()[np.arange(N), TRUE][MISSING].mean() > 0.7


def test_neighbours_are_the_nearest_other_rows() -> None:
    """By distance and by angle, against all pairs written out."""
    Z = RNG.normal(size=(40, 3))
    apart = np.linalg.norm(Z[:, None] - Z, axis=2)
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    for found, far in zip(_neighbours(Features.of(Z), 0), (apart, -unit @ unit.T), strict=True):
        others = far + np.diag(np.full(40, np.inf))
        assert (found == others.argsort(axis=1)[:, :10]).all()


def test_a_run_that_goes_on_is_the_undisturbed_one(tmp_path: Path) -> None:
    whole = head(outside="auto").fit(X, SETS)
    path = tmp_path / "run.amongst"
    stopped = head(outside="auto", checkpoint=path)
    stopped._train = _interrupted(stopped)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, SETS)
    again = head(outside="auto", checkpoint=path).fit(X, SETS)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))


def _interrupted(estimator: Any) -> Any:
    """Training that is stopped in its sixth epoch."""
    original = estimator._train

    class Stop(Callback):
        def after_epoch(self, run: Training) -> None:
            if run.epoch == 6:
                raise KeyboardInterrupt

    def train(*given: Any, **named: Any) -> Any:
        return original(*given, **named | {"callbacks": [*named.get("callbacks", ()), Stop()]})

    return train


def test_what_it_found_is_saved(tmp_path: Path) -> None:
    model = head(outside=0.2).fit(X, SETS)
    model.save(tmp_path / "m.amongst")
    pd.testing.assert_frame_equal(
        load(tmp_path / "m.amongst").disambiguate(X, SETS), model.disambiguate(X, SETS)
    )


@pytest.mark.parametrize("given", ["many", 1.5, -0.1])
def test_no_share(given: Any) -> None:
    with pytest.raises(InputError) as caught:
        head(outside=given).fit(X, SETS)
    assert (caught.value.code, caught.value.argument) == ("no-such-number", "outside")


def test_one_network_at_a_time() -> None:
    with pytest.raises(InputError) as caught:
        head(outside="auto", n_init=2).fit(X, SETS)
    assert (caught.value.code, caught.value.argument) == ("one-init", "outside")
    assert not head(outside="auto").in_lockstep()


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X.round(4), columns=list("abcde"))
    frame["labels"] = [text.replace("|", "|k").join(["k", ""]) for text in SETS.to_strings()]
    frame.to_csv("all.csv", index=False)
    quick = ["--model", "linear", "--epochs", "12", "--quiet", "--outside", "auto"]
    for line in (
        ["fit", "all.csv", "-c", "labels", "--out", "m", *quick],
        ["disambiguate", "m", "all.csv", "--out", "chosen.csv"],
    ):
        with pytest.raises(SystemExit) as left:
            main(line)
        assert not left.value.code
    chosen = pd.read_csv("chosen.csv")
    suspected = chosen["proposed"].notna().to_numpy()
    assert MISSING[suspected].mean() > 0.8
    assert (chosen["outside"][suspected] > 0.5).all()


def test_the_first_look_sees_no_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is judged by a network that was not trained on it."""
    seen: list[int] = []
    data = training_data(Features.of(X), SETS)

    def build(part: Any, settings: Settings) -> torch.nn.Module:
        seen.append(len(part))
        return torch.nn.Linear(K, K)

    doubted(data, CC(), Settings(epochs=6), build, 0.1)
    assert seen == [300, 300, 300]
