from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from amongst.errors import InputError
from amongst.metrics import accuracy, approximated_accuracy, covering_rate


def test_against_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(30, 4, dtype=torch.float64, generator=generator)
    labels = torch.randint(4, (30,), generator=generator)
    inside = torch.rand(30, 4, generator=generator) < 0.5
    inside[torch.arange(30), labels] = True
    right = covered = approximated = 0.0
    for g, y, s in zip(scores, labels, inside, strict=True):
        predicted = max(range(4), key=lambda z: float(g[z]))
        right += predicted == int(y)
        covered += bool(s[predicted])
        p = g.exp() / g.exp().sum()
        approximated += float(p[predicted] / p[s].sum()) if s[predicted] else 0.0
    assert torch.isclose(accuracy(scores, labels), torch.tensor(right / 30))
    assert torch.isclose(covering_rate(scores, inside), torch.tensor(covered / 30))
    assert torch.isclose(approximated_accuracy(scores, inside), torch.tensor(approximated / 30))


def test_one_function_serves_a_population() -> None:
    scores = torch.randn(3, 7, 4, generator=torch.Generator().manual_seed(1))
    inside = torch.rand(7, 4, generator=torch.Generator().manual_seed(2)) < 0.6
    inside[:, 0] = True
    for metric, against in (
        (accuracy, torch.zeros(7, dtype=torch.long)),
        (covering_rate, inside),
        (approximated_accuracy, inside),
    ):
        together = metric(scores, against)
        assert together.shape == (3,)
        torch.testing.assert_close(together[1], metric(scores[1], against))


def test_each_member_may_have_labels_and_candidates_of_its_own() -> None:
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(3, 7, 4, generator=generator)
    labels = torch.randint(4, (3, 7), generator=generator)
    inside = torch.nn.functional.one_hot(labels, 4).bool() | (scores < 0)
    for metric, against in (
        (accuracy, labels),
        (covering_rate, inside),
        (approximated_accuracy, inside),
    ):
        alone = [metric(*member) for member in zip(scores, against, strict=True)]
        torch.testing.assert_close(metric(scores, against), torch.stack(alone))


def test_singletons_make_covering_rate_the_accuracy() -> None:
    scores = torch.randn(50, 5, generator=torch.Generator().manual_seed(3))
    labels = torch.arange(50) % 5
    inside = torch.eye(5, dtype=torch.bool)[labels]
    assert covering_rate(scores, inside) == accuracy(scores, labels)


def test_a_column_of_labels_is_refused() -> None:
    """It would be compared with every row."""
    with pytest.raises(InputError, match=r"labels has shape \(3, 1\).*shape \(3,\): flatten"):
        accuracy(torch.eye(3), torch.tensor([[0], [1], [2]]))


@pytest.mark.parametrize("metric", [covering_rate, approximated_accuracy])
@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3,)])
def test_a_mask_that_would_be_spread_over_rows_or_classes_is_refused(
    metric: Callable[[Tensor, Tensor], Tensor], shape: tuple[int, ...]
) -> None:
    with pytest.raises(InputError, match=r"inside has shape .*shape \(3, 3\)"):
        metric(torch.eye(3), torch.ones(shape, dtype=torch.bool))


def test_a_network_that_diverged_predicts_nothing() -> None:
    """argmax of NaN is class 0 or the first NaN, which was right as often as that class occurs."""
    scores = torch.stack((torch.eye(3), torch.eye(3)))
    scores[1, 2, 1] = torch.nan
    labels = torch.tensor([0, 1, 1])
    for metric, against in (
        (accuracy, labels),
        (covering_rate, torch.ones(3, 3, dtype=torch.bool)),
        (approximated_accuracy, torch.ones(3, 3, dtype=torch.bool)),
    ):
        values = metric(scores, against)
        assert values[0].isfinite()
        assert values[1].isnan()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_scores_in_low_precision(dtype: torch.dtype) -> None:
    """The candidates' share underflows: 0, where the prediction is none of them, and not 0/0."""
    scores = torch.tensor([[200.0, 0.0, 0.0], [3.0, 0.0, 0.0]], dtype=dtype)
    inside = torch.tensor([[False, True, True], [True, True, True]])
    expected = approximated_accuracy(scores.double(), inside)
    torch.testing.assert_close(approximated_accuracy(scores, inside), expected)
