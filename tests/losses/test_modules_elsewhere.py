"""Loss modules where an engineer takes them: other devices, large data, states that do not fit."""

from __future__ import annotations

import tracemalloc
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from amongst import as_candidates, losses
from amongst.errors import DivergenceError, InputError

SETS = [{0, 1}, {2}, {0, 1, 2, 3}, {1, 3}]
WEIGHTED = [losses.LWLoss, losses.RCLoss, losses.PRODENLoss]
MODULES = [*WEIGHTED, losses.CCLoss, losses.AverageLoss, losses.MinimumLoss, losses.CLPLLoss]
INDEX = torch.tensor([3, 0, 2])

every_module = pytest.mark.parametrize("module", MODULES)


def scores(seed: int = 0) -> Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))


@every_module
def test_the_meta_device_has_no_values_to_look_at(module: Any) -> None:
    criterion = module(SETS).to("meta")
    assert criterion(scores().to("meta"), INDEX.to("meta")).shape == ()
    criterion.update(scores().to("meta"), INDEX.to("meta"))


@every_module
def test_a_loss_is_made_on_the_default_device(module: Any) -> None:
    """As any module; its parts lay on two devices."""
    with torch.device("meta"):
        criterion = module(SETS)
    assert {buffer.device.type for buffer in criterion.buffers()} == {"meta"}


@every_module
def test_a_state_is_loaded_into_a_loss_without_values(module: Any) -> None:
    saved = module(SETS)
    saved.update(scores(), INDEX)
    assigned, emptied = module(SETS).to("meta"), module(SETS).to("meta").to_empty(device="cpu")
    assigned.load_state_dict(saved.state_dict(), assign=True)
    emptied.load_state_dict(saved.state_dict())
    for found in (assigned, emptied):
        assert torch.equal(found(scores(1), INDEX), saved(scores(1), INDEX))
    other = module([{0, 3}, *SETS[1:]])
    with pytest.raises(InputError, match="other candidate sets"):
        module(SETS).to("meta").load_state_dict(other.state_dict(), assign=True)


@every_module
@pytest.mark.parametrize("strict", [True, False])
def test_a_state_of_other_rows_is_refused_by_name(module: Any, strict: bool) -> None:
    with pytest.raises(InputError, match=r"of shape \(4, 4\), than this loss, of \(3, 4\); build"):
        module(SETS[:3]).load_state_dict(module(SETS).state_dict(), strict=strict)


def test_what_is_no_tensor_is_left_to_pytorch_to_refuse() -> None:
    state = {name: value.numpy() for name, value in losses.LWLoss(SETS).state_dict().items()}
    with pytest.raises(RuntimeError, match=r"expected torch\.Tensor"):
        losses.LWLoss(SETS).load_state_dict(state)


@pytest.mark.parametrize("shape", [(2, 5, 5, 4), (2, 4, 5, 5)])
def test_scores_of_pixels_are_told_to_be_rows(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"pixel or token .* scores.reshape\(-1, 4\)"):
        losses.CCLoss(SETS)(torch.zeros(shape), INDEX)


def test_the_output_of_a_model_is_told_to_have_logits() -> None:
    with pytest.raises(InputError, match="not SimpleNamespace; take its logits"):
        losses.CCLoss(SETS)(SimpleNamespace(logits=scores()), INDEX)


def test_a_class_ruled_out_by_infinity_has_a_remedy_of_its_own() -> None:
    ruled, criterion = scores(), losses.PRODENLoss(SETS)
    ruled[1, 3] = -torch.inf
    for call in (criterion, criterion.update):
        with pytest.raises(DivergenceError, match="low finite score, such as -1e4"):
            call(ruled, INDEX)
        with pytest.raises(DivergenceError, match="learning rate"):
            call(-ruled, INDEX)
    assert torch.isfinite(criterion(ruled.clamp(min=-1e4), INDEX))


@pytest.mark.parametrize("module", WEIGHTED)
def test_update_may_come_before_backward(module: Any) -> None:
    first, second = scores().requires_grad_(), scores().requires_grad_()
    criterion, other = module(SETS), module(SETS)
    loss = criterion(first, INDEX)
    criterion.update(first, INDEX)
    loss.backward()
    other(second, INDEX).backward()
    assert torch.equal(first.grad, second.grad)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", WEIGHTED)
def test_of_a_row_that_comes_twice_one_sets_the_weights(module: Any) -> None:
    criterion = module(SETS)
    asked = criterion.refreshed(scores(), criterion.inside[[2, 2, 2]])
    criterion.update(scores(), torch.tensor([2, 2, 2]))
    assert any(torch.equal(criterion.weights[2], one) for one in asked)


@pytest.mark.parametrize("module", WEIGHTED)
def test_weights_in_bfloat16_take_two_bytes(module: Any) -> None:
    criterion, full = module(SETS).bfloat16(), module(SETS)
    for one in (criterion, full):
        one.update(scores(), INDEX)
    assert criterion.weights.element_size() == 2
    torch.testing.assert_close(
        criterion(scores(1), INDEX), full(scores(1), INDEX), rtol=1e-2, atol=0
    )


@pytest.mark.parametrize("module", WEIGHTED)
def test_building_takes_no_more_than_the_weights_at_once(module: Any) -> None:
    """A sum of bools went through eight bytes for each of them."""
    sets = as_candidates(np.eye(1000, dtype=bool))
    with torch.profiler.profile(profile_memory=True) as seen:
        module(sets)
    assert max(event.cpu_memory_usage for event in seen.events()) == 4 * 1000 * 1000


@pytest.mark.parametrize("module", WEIGHTED)
def test_loading_takes_masks_and_no_copy_of_the_weights(module: Any) -> None:
    """For 50,000 rows of 10,000 classes a copy is 2 GB."""
    criterion = module(as_candidates(np.eye(1000, dtype=bool)))
    state = criterion.state_dict()
    with torch.profiler.profile(profile_memory=True) as seen:
        criterion.load_state_dict(state)
    assert max(event.cpu_memory_usage for event in seen.events()) <= 1000 * 1000


def test_sparse_sets_stay_sparse_in_a_loss() -> None:
    """Beside the mask of the loss they kept one of their own."""
    sets = as_candidates(csr_array(np.eye(1000, dtype=bool)))
    tracemalloc.start()
    criterion = losses.CCLoss(sets)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert criterion.inside.shape == (1000, 1000)
    assert held < 1.5 * 1000 * 1000


def test_a_loss_is_a_part_of_a_module_and_of_its_average() -> None:
    both = nn.ModuleDict({"net": nn.Linear(4, 4), "criterion": losses.LWLoss(SETS)})
    mean = torch.optim.swa_utils.AveragedModel(both)  # type: ignore[no-untyped-call]
    both["criterion"].update(scores(), INDEX)  # type: ignore[operator]
    mean.update_parameters(both)  # type: ignore[no-untyped-call]
    assert torch.equal(mean.module["criterion"].weights, both["criterion"].weights)  # type: ignore[index]
    again = deepcopy(both)
    again.load_state_dict(both.state_dict())


def test_a_compiled_loss_follows_a_beta_that_changes() -> None:
    """From the second value on it is a symbol, and the check for infinity broke the graph."""
    torch.compiler.reset()
    criterion = losses.LWLoss(SETS)
    compiled = torch.compile(criterion, fullgraph=True, backend="eager")
    for beta in np.linspace(1, 0, 12).tolist():
        criterion.beta = beta
        torch.testing.assert_close(compiled(scores(), INDEX), criterion(scores(), INDEX))


def test_a_mask_of_numpy_is_told_to_be_a_tensor() -> None:
    """It was told to be a bool mask, which it is."""
    with pytest.raises(InputError, match=r"type ndarray; .* Use torch.as_tensor\(inside\)"):
        losses.classifier_consistent(scores(), np.ones((3, 4), dtype=bool))  # type: ignore[arg-type]
