"""`compare` on a file trains what `fit` trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import as_candidates
from amongst.bench.points import CLASSICAL, LEARNERS, method_labels, points
from amongst.bench.record import Trial
from amongst.bench.request import Request
from amongst.bench.sources import OwnFile
from amongst.bench.trial import make_method, make_settings, run_trial
from amongst.candidates import uniform
from amongst.estimators import estimator_for
from amongst.selection import portfolio

SETS = as_candidates(["a|b", "b", "a|c", "c", "a"] * 8)


@pytest.fixture
def own(tmp_path: Path) -> dict[str, OwnFile]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    frame = pd.DataFrame(rng.normal(size=(60, 3)) + truth[:, None], columns=list("abc"))
    frame["s"] = uniform(np.array(["x", "y", "z"])[truth], 0.3, seed=0).to_strings()
    frame.to_csv(tmp_path / "own.csv", index=False)
    return {"own": OwnFile(str(tmp_path / "own.csv"), (("candidates", "s"),))}


def trial(method: str, **budget: Any) -> Trial:
    model = "-" if method in CLASSICAL else "mlp"
    (point,) = points(
        "own", "real", method, model, Request("compare", search="none", epochs=2, **budget)
    )
    return Trial("own", "real", method, model, 0, 0, dict(point.values) | {"folds": 3})


@pytest.mark.parametrize("method", ["lw-cross_entropy", "rc", "cc", "proden", "clpl", "average"])
def test_a_network_has_the_settings_that_fit_gives_it(method: str) -> None:
    made = trial(method, rows=40)
    estimator: Any = estimator_for(method.partition("-")[0])(epochs=2)
    mine, theirs = make_settings(made), estimator._settings(40)
    for name in ("epochs", "batch_size", "optimizer", "lr", "weight_decay", "schedule"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert repr(make_method(made, SETS)) == repr(estimator._method(SETS))
    assert made.settings["validation"] == 0


def test_a_search_and_the_paper_keep_their_own_settings() -> None:
    assert trial("lw-cross_entropy").settings["batch_size"] == 256
    grid = points("own", "real", "rc", "mlp", Request("compare", search="grid", rows=40))
    assert {point.values["batch_size"] for point in grid} == {256}


@pytest.mark.parametrize("method", ["forest", "plknn"])
def test_what_needs_no_network_is_compared_by_its_estimator_without_the_truth(
    method: str, own: Any
) -> None:
    record = run_trial(trial(method, rows=40), files=own)
    assert record.metrics["covering_test"] > 0.5


def test_all_that_fit_knows_can_be_compared() -> None:
    assert set(portfolio.LEARNERS) == set(LEARNERS)
    assert {"auto", *LEARNERS, "ipal", "rc", "lw-cross_entropy"} <= set(method_labels())
