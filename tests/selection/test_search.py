"""Grid searches: one population or one by one, what they choose, and that no label gets in."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import nn

import amongst.selection
from amongst import LWClassifier, PLKNNClassifier, RCClassifier, load
from amongst.candidates import uniform
from amongst.data import hold_out
from amongst.errors import DivergenceError, InputError
from amongst.estimators import ESTIMATORS
from amongst.selection import (
    LWClassifierCV,
    PartialLabelSearchCV,
    evaluate,
    grid_search,
    oracle_search,
    paper_grid,
)

X, TRUTH = load_iris(return_X_y=True)
SETS = uniform(TRUTH, 0.3, seed=0)
GRID = {"lr": [0.1, 1e-5], "beta": [0.0, 1.0]}
CRITERIA = ["covering", "approximated", "risk"]
FORBIDDEN = {"labels", "truth", "true_labels", "y_true", "oracle", "target"}


def quick(**params: Any) -> LWClassifier:
    return LWClassifier(**{"model": "linear", "epochs": 8, "batch_size": 32} | params)


def parameters(thing: Any) -> set[str]:
    """Parameters of a callable; for a class those of all its public methods, too."""
    found = set(inspect.signature(thing).parameters)
    if inspect.isclass(thing):
        methods = [m for n, m in inspect.getmembers(thing, callable) if not n.startswith("_")]
        found |= {name for method in methods for name in inspect.signature(method).parameters}
    return found


@pytest.mark.parametrize("name", sorted(set(amongst.selection.__all__) - {"oracle_search"}))
def test_nothing_but_the_oracle_has_a_parameter_for_true_labels(name: str) -> None:
    thing = getattr(amongst.selection, name)
    if callable(thing):
        assert parameters(thing).isdisjoint(FORBIDDEN)
    assert "labels" in parameters(oracle_search)


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_a_population_and_one_by_one_give_the_same_table(model: str) -> None:
    exact = quick(model=model, epochs=4, precision="float64")
    tables = [
        grid_search(exact, X, SETS, GRID, engine=engine, refit=False, random_state=0).table
        for engine in ("population", "single")
    ]
    assert tables[0].shape == (4, 7)
    for criterion in CRITERIA:
        np.testing.assert_allclose(tables[0][criterion], tables[1][criterion], atol=1e-6)


def test_each_row_is_what_a_person_would_get_by_hand() -> None:
    result = grid_search(quick(), X, SETS, {"lr": [0.1, 0.01]}, refit=False, random_state=3)
    kept, held = hold_out(SETS, 0.1, 3)
    assert len(held) == 15
    for _, row in result.table.iterrows():
        alone = quick(lr=row["lr"], random_state=3).fit(X[kept], SETS[kept])
        assert alone.score(X[held], SETS[held]) == pytest.approx(row["covering"])


def test_the_best_point_is_chosen_and_fitted_on_all_rows() -> None:
    result = grid_search(quick(), X, SETS, {"lr": [1e-6, 0.1]}, random_state=0)
    assert result.best_params == {"lr": 0.1}
    assert result.best_index == 1
    assert result.table["risk"].idxmin() == 1
    assert result.ranked()["lr"].tolist() == [0.1, 1e-6]
    assert result.model is not None
    by_hand = quick(lr=0.1, random_state=0).fit(X, SETS)
    np.testing.assert_array_equal(result.model.predict(X), by_hand.predict(X))
    assert "oracle" not in str(result)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_can_decide(criterion: str) -> None:
    search = PartialLabelSearchCV(quick(), GRID, criterion=criterion, random_state=0, refit=False)
    search.fit(X, SETS)
    signed = search.cv_results_["mean_test_score"]
    assert search.best_score_ == signed.max() == signed[search.best_index_]
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    flip = -1 if criterion == "risk" else 1
    np.testing.assert_array_equal(signed, flip * search.cv_results_[f"mean_test_{criterion}"])


def test_the_result_is_frozen() -> None:
    result = grid_search(quick(epochs=1), X, SETS, {"lr": [0.1]}, refit=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.criterion = "covering"  # type: ignore[misc]


def test_the_papers_grid_is_the_default() -> None:
    result = grid_search(quick(epochs=1), X, SETS, refit=False)
    assert len(result.table) == 50
    assert result.parameters == ("beta", "lr", "weight_decay")
    assert (
        len(grid_search(RCClassifier(model="linear", epochs=1), X, SETS, refit=False).table) == 36
    )


def test_points_of_several_shapes_train_in_groups() -> None:
    grid = [{"model": ["linear", "mlp"], "lr": [0.05]}, {"batch_size": [16, 64]}]
    result = grid_search(quick(epochs=2), X, SETS, grid, random_state=0, refit=False)
    assert result.table["model"].tolist() == ["linear", "mlp", None, None]
    assert result.table[CRITERIA].notna().all(axis=None)


def test_a_network_of_ones_own_and_a_classical_estimator() -> None:
    def network(shape: tuple[int, ...], k: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape[0], 6), nn.ReLU(), nn.Linear(6, k))

    own = grid_search(quick(model=network), X, SETS, {"lr": [0.1, 1e-6]}, random_state=0)
    assert own.best_params == {"lr": 0.1}
    neighbours = ESTIMATORS["PLKNNClassifier"]()
    found = grid_search(neighbours, X, SETS, {"n_neighbors": [3, 10]}, random_state=0)
    assert found.model is not None
    assert found.model.score(X, TRUTH) > 0.85
    with pytest.raises(InputError, match="engine='population' trains linear models"):
        grid_search(neighbours, X, SETS, {"n_neighbors": [3]}, engine="population")


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["IPALClassifier", "PALOCClassifier", "PLKNNClassifier"])
def test_a_classical_estimator_is_judged_by_what_it_predicts(name: str, k: int) -> None:
    """With two classes decision_function has one column, for the second of them."""
    rows, truth = X[: 50 * k], TRUTH[: 50 * k]  # iris has 50 of each, in order
    estimator = ESTIMATORS[name]().fit(rows, uniform(truth, 0.3, seed=0))
    predicted = evaluate._scores(estimator, rows).argmax(1).numpy()
    assert (predicted == estimator.predict(rows)).all()
    assert (predicted == truth).mean() > 0.9


def test_diverged_points_are_marked_and_never_chosen() -> None:
    result = grid_search(
        RCClassifier(model="linear", epochs=5, optimizer="sgd"),
        X,
        SETS,
        {"lr": [1e30, 0.1]},
        random_state=0,
    )
    assert result.table["state"].tolist() == ["diverged", "complete"]
    assert result.best_params == {"lr": 0.1}
    with pytest.raises(DivergenceError, match="none of 1 points"):
        grid_search(RCClassifier(model="linear", optimizer="sgd"), X, SETS, {"lr": [1e30]})


def test_the_oracle_is_marked_and_shares_the_split() -> None:
    honest = grid_search(quick(), X, SETS, GRID, random_state=0, refit=False)
    told = oracle_search(quick(), X, SETS, TRUTH, GRID, random_state=0, refit=False)
    assert told.oracle
    assert not honest.oracle
    assert told.criterion == "oracle"
    assert "true labels decided" in str(told)
    pd.testing.assert_frame_equal(honest.table[CRITERIA], told.table[CRITERIA])
    assert "oracle" not in honest.table
    assert told.table["oracle"].idxmax() == told.best_index
    kept, held = hold_out(SETS, 0.1, 0)
    best = quick(**told.best_params, random_state=0).fit(X[kept], SETS[kept])
    assert best.score(X[held], TRUTH[held]) == pytest.approx(told.table["oracle"].max())


def test_scikit_learn_habits(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    search = PartialLabelSearchCV(quick(), {"lr": [0.1, 0.01]}, random_state=0)
    fitted = clone(search).fit(frame, SETS.to_strings())
    assert fitted.feature_names_in_.tolist() == fitted.best_estimator_.feature_names_in_.tolist()
    np.testing.assert_allclose(fitted.predict_proba(frame).sum(axis=1), 1)
    assert fitted.decision_function(frame).shape == (150, 3)
    assert fitted.disambiguate(frame, SETS.to_strings()).shape == (150, 4)
    assert search.get_params()["estimator__epochs"] == 8
    assert set(fitted.cv_results_) >= {"params", "param_lr", "mean_test_score", "rank_test_score"}
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(frame), fitted.predict(frame))
    fitted.save(tmp_path / "best.amongst")
    loaded = load(tmp_path / "best.amongst")
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
    assert not hasattr(PartialLabelSearchCV(ESTIMATORS["PALOCClassifier"]()), "predict_proba")


def test_lw_with_its_own_search() -> None:
    model = LWClassifierCV(
        lrs=(0.1, 1e-6),
        weight_decays=(1e-3,),
        betas=(1.0, "auto"),
        model="linear",
        epochs=60,
        random_state=0,
    ).fit(X, SETS)
    assert model.best_params_["lr"] == 0.1
    assert model.score(X, TRUTH) > 0.9
    assert len(model.cv_results_["params"]) == 4
    points = 1
    for name in ("lrs", "weight_decays", "betas"):
        points *= len(LWClassifierCV().get_params()[name])
    assert points == 50 == np.prod([len(v) for v in paper_grid(LWClassifier()).values()])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {"learning_rate": [1]}}, "'learning_rate' is no parameter of LWClassifier"),
        ({"grid": {"weight_deca": [1]}}, "Did you mean 'weight_decay'"),
        ({"grid": {"lr": 0.1}}, "needs to be a list"),
        ({"grid": {}}, "grid is empty"),
        ({"criterion": "accuracy"}, "criterion='accuracy' is unknown"),
        ({"criterion": "oracle"}, "oracle_search"),
        ({"validation": 0.0}, "validation=0.0 must be a number between 0 and 1, both excluded"),
        ({"validation": 1}, "validation=1 must be a number between 0 and 1, both excluded"),
        ({"engine": "ray"}, "engine='ray' is unknown"),
        (
            {"estimator": nn.Linear(2, 2)},
            "estimator is Linear, .* Pass an estimator of this package",
        ),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    given = {"estimator": quick(epochs=1), "grid": {"lr": [0.1]}} | change
    with pytest.raises(InputError, match=message):
        PartialLabelSearchCV(**given).fit(X, SETS)


class Ungridded(PLKNNClassifier):
    """A method for which nobody has said what to try."""

    grid: ClassVar[dict[str, Any]] = {}


def test_bad_labels_for_the_oracle_and_no_model_without_refit() -> None:
    with pytest.raises(InputError, match=r"labels has shape \(3,\)"):
        oracle_search(quick(epochs=1), X, SETS, [0, 1, 2], {"lr": [0.1]})
    with pytest.raises(InputError, match="refit=False"):
        PartialLabelSearchCV(quick(epochs=1), {"lr": [0.1]}, refit=False).fit(X, SETS).predict(X)
    with pytest.raises(InputError, match="has no grid of the paper"):
        grid_search(Ungridded(), X, SETS)


def test_a_search_without_refit_forgets_the_model_of_an_earlier_one() -> None:
    search = PartialLabelSearchCV(quick(), {"lr": [0.1]}).fit(X, SETS)
    search.set_params(refit=False).fit(X, SETS)
    with pytest.raises(InputError, match="refit=False"):
        search.predict(X)


def test_a_refit_that_fails_leaves_the_search_as_it_was() -> None:
    search = PartialLabelSearchCV(quick(), {"lr": [0.1]}).fit(X, SETS)
    result, model = search.result_, search.best_estimator_

    def not_all(rows: np.ndarray) -> np.ndarray:
        if len(rows) == len(X) and not calls:
            calls.append("the search transforms all rows once")
        elif len(rows) == len(X):
            raise RuntimeError("no")
        return rows

    calls: list[str] = []
    pipe = make_pipeline(FunctionTransformer(not_all), quick())
    search.set_params(estimator=pipe, grid={"lwclassifier__lr": [0.1]})
    with pytest.raises(RuntimeError, match="no"):
        search.fit(X, SETS)
    assert search.result_ is result
    assert search.best_estimator_ is model


def test_true_labels_of_another_type_are_no_zero() -> None:
    with pytest.raises(InputError, match=r"'0' \(string\), but the classes are such as 0"):
        oracle_search(quick(), X, SETS, TRUTH.astype(str), GRID)


def test_points_that_are_equal_are_said_and_the_first_is_taken() -> None:
    tied = grid_search(quick(), X, SETS, {"lr": [1e-5, 0.1, 0.1]}, random_state=0, refit=False)
    assert (tied.best_index, tied.tied) == (1, 2)
    assert str(tied).endswith(" of 3 points, the first of 2 that are equal")
    alone = grid_search(quick(), X, SETS, {"lr": [1e-5, 0.1]}, random_state=0, refit=False)
    assert alone.tied == 1
    assert str(alone).endswith(" of 2 points")
