"""Which setting is taken, by which records, and which of them are reported."""

from __future__ import annotations

import math

import pytest

from amongst.bench import Record, Trial
from amongst.bench.rounds import choose, mean_criterion
from amongst.errors import InputError


def record(lr: float, value: float, *, seed: int = 0, fold: int | None = None) -> Record:
    trial = Trial("lost", "real", "rc", "mlp", seed, fold, {"lr": lr, "validation": 0.1})
    return Record(trial, {"covering_val": value})


def test_each_fold_takes_its_own_and_the_value_is_their_mean() -> None:
    found = [record(0.1, 0.5, fold=1), record(0.2, 0.6, fold=1),
             record(0.1, 0.8, fold=0), record(0.2, 0.3, fold=0)]  # fmt: skip
    choice = choose(found, "covering_val")
    taken = [(r.trial.fold, r.trial.settings["lr"]) for r in choice.records]
    assert taken == [(0, 0.1), (1, 0.2)]
    assert choice.settings["lr"] == 0.1
    assert choice.value == pytest.approx(0.7)


def test_folds_of_two_seeds_are_other_rows_and_choose_apart() -> None:
    found = [record(0.1, 0.5, seed=0, fold=0), record(0.2, 0.6, seed=0, fold=0),
             record(0.1, 0.9, seed=1, fold=0), record(0.2, 0.3, seed=1, fold=0)]  # fmt: skip
    choice = choose(found, "covering_val")
    assert [(r.trial.seed, r.trial.settings["lr"]) for r in choice.records] == [(0, 0.2), (1, 0.1)]
    assert choice.value == pytest.approx(0.75)


def test_of_one_setting_nothing_was_decided() -> None:
    choice = choose([record(0.1, 0.5)], "accuracy_val")
    assert (choice.criterion, choice.considered, choice.oracle) == ("", 1, False)
    assert choose([record(0.1, 0.5)], "accuracy_val", considered=2).oracle


def test_a_fold_in_which_nothing_decides_is_left_out() -> None:
    found = [record(0.1, 0.5, fold=0), record(0.1, 0.9, fold=1)]
    choice = choose(found, "covering_val", among={found[1].key})
    assert choice.records == (found[1],)
    assert choice.value == 0.9
    for none in ([], found):
        with pytest.raises(InputError, match="records is empty: there is no setting"):
            choose(none, "covering_val", among=set())


def test_those_that_decide_are_not_all_that_is_reported() -> None:
    found = [
        record(0.1, 0.5),
        record(0.1, 0.4, seed=1),
        record(0.2, 0.45),
        record(0.2, 0.9, seed=1),
    ]
    choice = choose(found, "covering_val", among={found[0].key, found[2].key})
    assert choice.records == (found[0], found[1])
    assert choice.value == 0.5


def test_the_first_of_equals_is_taken() -> None:
    assert choose([record(0.1, 0.5), record(0.2, 0.5)], "covering_val").settings["lr"] == 0.1


def test_seeds_come_in_order_and_all_of_them_must_have_the_criterion() -> None:
    found = [record(0.1, 0.5, seed=1), record(0.1, 0.7)]
    assert [r.trial.seed for r in choose(found, "covering_val").records] == [0, 1]
    assert mean_criterion(found, "covering_val") == pytest.approx(0.6)
    assert mean_criterion([*found, record(0.1, math.nan, seed=2)], "covering_val") == -math.inf


def test_a_refit_is_reported_with_its_trainings_on_all_rows() -> None:
    found = [record(0.1, 0.5), record(0.2, 0.4)]
    assert choose(found, "covering_val", refit=True).records == ()
    again = Record(found[0].trial.on_all_rows(), {"accuracy_last10": 0.9})
    keys = {r.key for r in found}
    choice = choose([*found, again], "covering_val", among=keys, refit=True)
    assert choice.records == (again,)
    assert choice.settings == again.trial.settings
