"""A word, None, NaN or a truth value where a number is wanted is named, whatever the function."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from amongst.errors import InputError
from amongst.losses import LWLoss, leveraged_weighted
from amongst.theory import (
    AutoRule,
    Counterexample,
    auto_beta,
    balance,
    bayes_map,
    believed_threshold,
    beta_from_sizes,
    corrected_risk,
    estimate_class_q,
    exact_risk,
    fixed_weights,
    following_weights,
    minimiser,
    monte_carlo_risk,
    normalised_threshold,
    ova_weights,
    printed_gap,
    printed_risk,
    rates_of,
    reversal_beta,
    size_law,
    symmetric_form,
    verify,
)

G, W, SETS = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [[0, 1], [1], [2, 0]]
SCORES, INSIDE = torch.zeros(1, 3), torch.tensor([[True, True, False]])
NO_NUMBERS = ("a", None, float("nan"), True, 1j, {}, np.ones((2, 7)), 10**400)
NO_FACTORS = (*NO_NUMBERS, "auto", -1.0, float("inf"))

BETAS: list[Callable[..., Any]] = [
    partial(corrected_risk, G, W, 0.1, 0),
    partial(printed_risk, G, W, 0.1, 0),
    partial(printed_gap, G, W, 0.1, 0),
    partial(fixed_weights, W, "sigmoid"),
    partial(following_weights, "sigmoid"),
    partial(ova_weights, 0.5, 0, K=3),
    partial(symmetric_form, W, 0.5, 0),
    partial(leveraged_weighted, SCORES, INSIDE, torch.ones(1, 3), "sigmoid"),
    partial(LWLoss, SETS, "sigmoid"),
    lambda beta: Counterexample(beta=beta).exact,
]


@pytest.mark.parametrize("value", NO_FACTORS, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("function", BETAS)
def test_a_beta_that_is_none(function: Callable[..., Any], value: Any) -> None:
    """PyTorch spoke of an index, or the risk was NaN, complex, or negative."""
    with pytest.raises(InputError, match=r"^beta="):
        function(beta=value)
    function(beta=3.0)


NUMBERS: list[tuple[str, Callable[..., Any], Any]] = [
    ("alpha", partial(leveraged_weighted, SCORES, INSIDE, torch.ones(1, 3)), 2),
    ("wrong", partial(believed_threshold, 5, 0.5), -1.0),
    ("true", partial(believed_threshold, 5, 0.5), 2),
    ("K", partial(rates_of, 0.1, 0), 3),
    ("K", partial(normalised_threshold, 0.9, 0), 5),
    ("q", partial(rates_of, y=0, K=3), 0.5),
    ("q", partial(size_law, 3), Fraction(1, 2)),
    ("g", partial(exact_risk, fixed_weights(W), q=0.1, y=0), G),
    ("sizes", balance, [0, 1, 1, 0]),
    ("sizes", reversal_beta, [0, 1, 1, 0]),
    ("sizes", beta_from_sizes, [0, 1, 1, 0]),
    ("rates", partial(auto_beta, SETS), np.full((3, 3), 0.2)),
    ("posterior", partial(estimate_class_q, SETS, tolerance=0.1), np.full(3, 1 / 3)),
    ("beta", partial(minimiser, q=[0.3], posterior=[0.6, 0.4], psi="sigmoid"), [[1.0]]),
    ("q", partial(minimiser, [[1.0]], posterior=[0.6, 0.4], psi="sigmoid"), [0.3]),
    ("posterior", partial(minimiser, [[1.0]], [0.3], psi="sigmoid"), [0.6, 0.4]),
    ("betas", partial(bayes_map, qs=[0.1], posterior=[0.6, 0.4]), [1.0]),
    *((name, AutoRule, 0.5) for name in vars(AutoRule())),
]


@pytest.mark.parametrize("value", ["a", True, 1j, {}], ids=repr)
@pytest.mark.parametrize(("name", "function", "good"), NUMBERS)
def test_what_is_no_number_is_named(
    name: str, function: Callable[..., Any], good: Any, value: Any
) -> None:
    with pytest.raises(InputError, match=rf"^{name}\b"):
        function(**{name: value})
    function(**{name: good})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_numbers_that_no_rule_can_have(value: float) -> None:
    for name in vars(AutoRule()):
        with pytest.raises(InputError, match=f"^{name}="):
            AutoRule(**{name: value})
    with pytest.raises(InputError, match=r"^sizes "):
        balance([0, 1, value, 0])
    with pytest.raises(InputError, match=r"^betas must hold finite numbers"):
        bayes_map([value], [0.1], [0.6, 0.4])


def test_a_table_of_leverages_is_refused() -> None:
    """It gave a map of another shape than the one documented."""
    with pytest.raises(InputError, match=r"betas has shape \(2, 7\)"):
        bayes_map(np.ones((2, 7)), [0.1], [0.6, 0.4])


def test_a_number_in_quotes_is_a_word() -> None:
    with pytest.raises(InputError, match=r"q='0.5' must be numbers"):
        exact_risk(fixed_weights(W), G, "0.5", 0)  # type: ignore[arg-type]


def test_numbers_of_every_make_are_numbers() -> None:
    wanted = exact_risk(fixed_weights(W), [0.0, 1.0, 2.0], 0.5, 0)
    for g in (np.arange(3), np.arange(3, dtype=">f8"), torch.arange(3), np.arange(3, dtype="f2")):
        assert exact_risk(fixed_weights(W), g, Fraction(1, 2), 0) == wanted  # type: ignore[arg-type]


def test_a_seed_that_is_none_goes_by_its_name() -> None:
    for function in (partial(monte_carlo_risk, fixed_weights(W), G, 0.1, 0), verify):
        with pytest.raises(InputError) as caught:
            function(seed="a")
        assert (caught.value.code, caught.value.argument) == ("no-such-number", "seed")


def test_names_of_a_loss_module_are_its_own() -> None:
    """The rule of the first weights was named `rule`; an array in place of a name was ambiguous."""
    with pytest.raises(InputError, match=r"^initial='paler' is unknown; did you mean 'paper'"):
        LWLoss(SETS, initial="paler")
    with pytest.raises(InputError, match=r"^psi=array"):
        LWLoss(SETS, psi=np.ones(2))  # type: ignore[arg-type]


def test_a_posterior_of_one_label_has_no_ranking() -> None:
    with pytest.raises(InputError, match="posterior has one label only"):
        bayes_map([1.0], [0.3], [1.0])


def test_rates_of_no_rows_are_not_sought() -> None:
    """2,000 rounds of NaN ended in advice to have more of them."""
    with pytest.raises(InputError, match="sets has no rows"):
        estimate_class_q(np.zeros((0, 3)), np.full(3, 1 / 3))


def test_scores_may_come_with_their_gradient() -> None:
    g, loss = torch.tensor(G, requires_grad=True), fixed_weights(W)
    assert monte_carlo_risk(loss, g, 0.1, 0, seed=0) == monte_carlo_risk(loss, G, 0.1, 0, seed=0)
    exact_risk(loss, g, 0.1, 0).backward()  # type: ignore[no-untyped-call]
    assert g.grad is not None


def test_a_posterior_may_come_with_its_gradient() -> None:
    sets, posterior = [["a", "b"], ["a"]], torch.full((2, 2), 0.5, requires_grad=True)
    found, plain = (estimate_class_q(sets, p, tolerance=0.1) for p in (posterior * 1, [0.5, 0.5]))
    assert np.array_equal(found.matrix, plain.matrix)
