"""What `explain` says of each row, for every estimator of the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import LWClassifier, PLKNNClassifier
from amongst.candidates import as_candidates, uniform
from amongst.errors import AmongstWarning, InputError
from amongst.estimators import ESTIMATORS, NeuralClassifier
from amongst.estimators.ensemble import crossfit
from amongst.trust import ask_order, explain_rows

TRUE = np.arange(90) % 3
X = np.eye(3)[TRUE] * 3 + np.random.default_rng(0).normal(0, 1, (90, 3))
SETS = uniform(TRUE, 0.5, classes=range(3), seed=0)


def made(name: str) -> Any:
    kind = ESTIMATORS[name]
    small = {"model": "linear", "epochs": 1} if issubclass(kind, NeuralClassifier) else {}
    return kind(**small)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_explains_its_rows(name: str) -> None:
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(90) + 500)
    model = made(name).fit(frame, SETS)
    table = model.explain(frame, SETS, ensemble=2)
    assert (table.index == frame.index).all()
    assert (table["label"] == model.disambiguate(frame, SETS)["label"]).all()
    single = (SETS.sizes == 1).tolist()
    assert (table["confidence"][single] == 1).all()
    assert table["runner_up"][single].isna().all()
    assert table["confidence"].between(0, 1).all()
    assert set(2 * table["agreement"]) <= {0, 1, 2}
    assert sorted(table["rank"]) == list(range(1, 91))
    assert table.sort_values("rank")["gain"].is_monotonic_decreasing
    for label, shares, candidates in zip(
        table["label"], table["candidates"], SETS.to_sets(), strict=True
    ):
        assert set(shares) == candidates
        assert label in candidates
        assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("model", [LWClassifier(model="linear", epochs=2), PLKNNClassifier()])
def test_without_an_ensemble_it_is_what_the_estimator_says(model: Any) -> None:
    model.fit(X, SETS)
    table, said = model.explain(X, SETS, ensemble=0), model.disambiguate(X, SETS)
    assert table["agreement"].isna().all()
    assert (table["label"] == said["label"]).all()
    runner_up = said["runner_up"].astype(object)
    assert table["runner_up"].tolist() == runner_up.where(said["runner_up"].notna(), None).tolist()
    assert table["confidence"].to_numpy() == pytest.approx(said["confidence"])
    margin = said["confidence"] - said["runner_up_confidence"]
    assert table["margin"].to_numpy() == pytest.approx(margin)


def test_a_clone_has_not_seen_the_rows_it_judges() -> None:
    """One neighbour: a row that the clone knows would give its own set back."""
    model = PLKNNClassifier(n_neighbors=1)
    fitted = crossfit(model, X, SETS, 5)
    assert sorted(np.concatenate([rows for _, rows in fitted])) == list(range(90))
    for one, held in fitted:
        others = np.setdiff1d(np.arange(90), held)
        alone = PLKNNClassifier(n_neighbors=1).fit(X[others], SETS[others])
        assert (one._log_weights(X) == alone._log_weights(X)).all()


def test_networks_of_the_ensemble_equal_networks_that_train_alone() -> None:
    model = LWClassifier(model="linear", epochs=2, scaling=None, random_state=3)
    for one, held in crossfit(model, X, SETS, 5):
        others = np.setdiff1d(np.arange(90), held)
        alone = LWClassifier(**one.get_params()).fit(X[others], SETS[others])
        assert one.predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-5)


def test_the_table_against_the_formula_row_by_row() -> None:
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c", "d"])
    p = rng.dirichlet(np.ones(4), 200)
    mask = rng.random((200, 4)) < 0.5
    mask[np.arange(200), rng.integers(0, 4, 200)] = True
    chosen = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
    table = explain_rows(p, mask, chosen, classes)
    for i, row in enumerate(table.itertuples()):
        inside = {classes[z]: p[i, z] / p[i][mask[i]].sum() for z in np.flatnonzero(mask[i])}
        rest = {label: share for label, share in inside.items() if label != classes[chosen[i]]}
        assert row.label == classes[chosen[i]]
        assert row.confidence == pytest.approx(inside[row.label])
        assert row.gain == pytest.approx(1 - inside[row.label])
        assert row.runner_up == (max(rest, key=lambda z: rest[z]) if rest else None)
        assert row.margin == pytest.approx(inside[row.label] - max(rest.values(), default=0))
        best = classes[p[i].argmax()]
        assert row.outside == (None if best in inside else best)
        assert list(row.candidates.values()) == sorted(row.candidates.values(), reverse=True)


def test_equal_gains_are_asked_in_the_order_of_the_rows() -> None:
    assert ask_order(np.array([0.5, 0.0, 0.5, 0.7])).tolist() == [3, 0, 2, 1]


def test_too_few_rows_for_an_ensemble_say_so_and_still_answer() -> None:
    model = LWClassifier(model="linear", epochs=2).fit(X, SETS)
    with pytest.warns(AmongstWarning) as caught:
        table = model.explain(X[:2], as_candidates([[0, 1], [2]], classes=range(3)))
    assert caught[0].message.code == "no-ensemble"  # type: ignore[union-attr]
    assert table["agreement"].isna().all()
    assert len(table) == 2


def test_an_ensemble_of_one_is_refused() -> None:
    model = PLKNNClassifier().fit(X, SETS)
    with pytest.raises(InputError) as caught:
        model.explain(X, SETS, ensemble=1)
    assert caught.value.argument == "ensemble"
