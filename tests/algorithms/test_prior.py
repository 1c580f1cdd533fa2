"""Weights of candidates in every method: the right posterior is the optimum, by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as minimised

from amongst import AutoClassifier, as_candidates
from amongst.accel.graphs import GraphedStep
from amongst.accel.population import Member, train_population
from amongst.algorithms import CC, CLPL, LW, PRODEN, RC, Average
from amongst.algorithms._base import first_weights, new_weights
from amongst.algorithms.minimum import Minimum
from amongst.errors import AmongstWarning
from amongst.estimators import (
    IPALClassifier,
    PALOCClassifier,
    PartialLabel,
    PLKNNClassifier,
    PRODENClassifier,
)
from amongst.losses import CCLoss, LWLoss, PRODENLoss
from amongst.models import build_model
from amongst.train import Features, Settings, train, training_data
from amongst.train.checkpoint import fingerprint
from amongst.train.loop import run_epoch, start

SEEN = np.random.default_rng(0).normal(size=(40, 4))
VOTES = np.random.default_rng(1).multinomial(3, [0.5, 0.3, 0.2], size=40).astype(float)
SETS = as_candidates(VOTES, kind="votes")
USING = (LW, RC, PRODEN, CC, Average, Minimum)


def told_by_raters() -> tuple[np.ndarray, np.ndarray]:
    """Every answer of two raters with confusions C: its chance given each label, (27, 3); and π, the
    same with sum 1, 0 where it is small, so that sets differ from all."""
    confusion = np.array(
        [
            [[0.8, 0.2, 0.0], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]],
            [[0.6, 0.0, 0.4], [0.0, 0.7, 0.3], [0.2, 0.2, 0.6]],
        ]
    )
    told = itertools.product(range(3), range(3))
    chances = np.array([confusion[0, :, a] * confusion[1, :, b] for a, b in told])
    chances = chances[chances.sum(1) > 0]
    return chances, chances / chances.sum(1, keepdims=True)


TRUE = np.array([0.5, 0.3, 0.2])


def test_the_true_posterior_is_the_optimum_of_cc() -> None:
    """The risk at one x, over all that raters may say; with the sets alone it is another one."""
    chances, prior = told_by_raters()
    inside, weight = torch.tensor(prior > 0), torch.tensor(chances @ TRUE)

    def optimum(weights: torch.Tensor | None) -> np.ndarray:
        def risk(free: np.ndarray) -> float:
            scores = torch.tensor(free).expand(len(chances), 3)
            return float((weight * CC().loss(scores, inside, weights)).sum())

        free = minimised(risk, np.zeros(3), method="BFGS").x
        return np.asarray(np.exp(free) / np.exp(free).sum())

    np.testing.assert_allclose(optimum(torch.tensor(prior)), TRUE, atol=1e-4)
    assert np.abs(optimum(None) - TRUE).max() > 0.02


@pytest.mark.parametrize("method", [PRODEN(), RC(), LW()])
def test_the_true_posterior_is_where_weights_rest(method: Any) -> None:
    """c_z is the posterior of each answer, and its mean over all answers is p: EM stands still."""
    chances, prior = told_by_raters()
    inside = torch.tensor(prior > 0)
    scores = torch.tensor(np.log(TRUE)).expand(len(chances), 3)
    found = new_weights(method, scores, inside, scores, torch.tensor(prior)).numpy() * (prior > 0)
    wanted = chances * TRUE / (chances @ TRUE)[:, None]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_allclose((chances @ TRUE) @ found, TRUE, atol=1e-12)
    alone = method.update(scores, inside).numpy() * (prior > 0)
    assert np.abs((chances @ TRUE) @ alone - TRUE).max() > 0.02


@pytest.mark.parametrize("kind", USING)
def test_a_level_prior_is_none(kind: Any) -> None:
    inside = torch.tensor(SETS.mask)
    level = (inside / inside.sum(-1, keepdim=True)).double()
    scores = torch.tensor(SEEN[:, :3])
    method = kind()
    plain, first = method.init(inside), first_weights(method, inside, None, level)
    if plain is not None:
        assert first is not None
        torch.testing.assert_close(first, plain, check_dtype=False)
        torch.testing.assert_close(
            new_weights(method, scores, inside, scores, level), method.update(scores, inside)
        )
        return
    losses = method.loss(scores, inside, first) - method.loss(scores, inside, None)
    wanted = inside.sum(-1).log() if kind is CC else torch.zeros(len(scores))
    torch.testing.assert_close(losses, wanted.double())


def trained(kind: Any, sets: Any = SETS) -> Any:
    data, settings = training_data(Features.of(SEEN), sets), Settings(epochs=2, batch_size=8)
    return train(build_model("linear", (4,), 3, seed=0), data, kind(), settings)


@pytest.mark.parametrize("kind", USING)
def test_votes_move_the_network(kind: Any) -> None:
    a, b = (trained(kind, sets).history["loss"].to_numpy() for sets in (SETS, SETS.mask))
    assert np.abs(a - b).max() > 1e-3


@pytest.mark.parametrize("kind", [LW, RC, CC])
def test_a_captured_step_and_a_population_do_the_same(kind: Any) -> None:
    data, settings = training_data(Features.of(SEEN), SETS), Settings(epochs=2, batch_size=8)
    run = start(build_model("linear", (4,), 3, seed=0), data, kind(), settings)
    stepper = GraphedStep(run, data, settings, compile=False)
    found = [run_epoch(run, data, run.algorithm.method, settings, (), stepper)["loss"]]
    member = Member(kind(), SETS, Settings(epochs=2, batch_size=8), model_seed=0)  # type: ignore[arg-type]
    together = train_population(Features.of(SEEN), [member, member], model="linear", device="cpu")
    wanted = trained(kind).history["loss"].to_numpy()
    np.testing.assert_allclose(found, wanted[:1], rtol=1e-5)
    np.testing.assert_allclose(together.history(1)["loss"], wanted, rtol=1e-5)
    assert together.waves[0].indices == (0, 1)


def test_members_with_and_without_votes_train_together() -> None:
    """Rows of their own, weights of the last epoch, votes and none; each equals itself alone."""
    rows, settings = torch.arange(5, 35), Settings(epochs=3, batch_size=8)
    members = [
        Member(method, sets, settings, rows, model_seed=0)
        for method in (PRODEN(), CC(), LW(refresh="epoch"), CLPL())
        for sets in (SETS, SETS.mask)
    ]
    with pytest.warns(AmongstWarning) as caught:
        together = train_population(Features.of(SEEN), members, model="linear", device="cpu")
    assert {told.message.code for told in caught} == {"weights-unused"}  # type: ignore[union-attr]
    for i, member in enumerate(members[:6]):
        sets = SETS if member.known is not None else as_candidates(SETS.mask)
        data = training_data(Features.of(SEEN[5:35]), sets[5:35])
        run = train(build_model("linear", (4,), 3, seed=0), data, member.method, settings)
        np.testing.assert_allclose(together.history(i)["loss"], run.history["loss"], rtol=1e-5)


@pytest.mark.parametrize("loss", [LWLoss, PRODENLoss, CCLoss])
def test_the_module_does_the_same(loss: Any) -> None:
    module, scores = loss(SETS), torch.tensor(SEEN[:, :3]).float()
    method, known = module.method, torch.tensor(SETS.prior).float()
    weights = first_weights(method, module.inside, None, known)
    rows = torch.arange(len(SETS))
    torch.testing.assert_close(
        module(scores, rows), method.loss(scores, module.inside, weights).mean()
    )
    module.update(scores, rows)
    if method.when != "never":
        weights = new_weights(method, scores, module.inside, scores, known)
    torch.testing.assert_close(module.weights, weights)


def test_a_checkpoint_of_other_votes_is_another_run() -> None:
    marks = {
        fingerprint(training_data(Features.of(SEEN), sets), CC(), Settings())
        for sets in (SETS, SETS.mask, as_candidates(VOTES + (VOTES > 0), kind="votes"))
    }
    assert len(marks) == 3


def test_who_has_no_place_for_votes_says_so() -> None:
    with pytest.warns(AmongstWarning) as caught:
        trained(CLPL)
    assert (caught[0].message.code, caught[0].message.argument) == ("weights-unused", "y")  # type: ignore[union-attr]
    with pytest.warns(AmongstWarning) as caught:
        PALOCClassifier().fit(SEEN, SETS)
    assert caught[0].message.code == "weights-unused"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "model",
    [
        AutoClassifier(methods={"PL-kNN": PLKNNClassifier()}, budget=5, folds=3, random_state=0),
        PLKNNClassifier(),
        IPALClassifier(),
        PartialLabel(random_state=0, rounds=1),
        PRODENClassifier(model="linear", epochs=30, random_state=0),
    ],
)
@pytest.mark.filterwarnings("error::amongst.errors.AmongstWarning")
def test_votes_decide_where_sets_say_nothing(model: Any) -> None:
    """Both labels are candidates of every row but a few; votes are right."""
    truth = np.arange(60) % 2
    X = np.random.default_rng(0).normal(size=(60, 2)) + 3 * np.eye(2)[truth]
    votes = np.where(np.eye(2)[truth] > 0, 3.0, 1.0)
    votes[:2] = np.eye(2)
    assert (model.fit(X, as_candidates(votes, kind="votes")).predict(X) == truth).mean() > 0.9


def test_disambiguate_weighs_by_the_prior() -> None:
    model = PRODENClassifier(model="linear", epochs=3, random_state=0).fit(SEEN, SETS)
    found, plain = (model.disambiguate(SEEN, sets) for sets in (SETS, as_candidates(SETS.mask)))
    assert len(plain) == len(found)
    joint = model.predict_proba(SEEN) * SETS.prior
    np.testing.assert_allclose(found["confidence"], (joint / joint.sum(1, keepdims=True)).max(1))
