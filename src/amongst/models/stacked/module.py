"""Any module stacked, through vmap and functional_call."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from amongst.errors import InputError
from amongst.models.stacked.base import EVERYONE, StackedNetwork, Tape

__all__ = ["StackedModule"]


class StackedModule(StackedNetwork):
    """Any module through vmap + functional_call; dropout differs from member to member.

    Parameters that do not ask for a gradient are `fixed`: they stay as they are.

    Examples
    --------
    >>> pair = StackedModule([nn.Linear(4, 3), nn.Linear(4, 3)])
    >>> pair.forward(torch.zeros(2, 6, 4))[0].shape
    torch.Size([2, 6, 3])
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        compute: torch.dtype | None = None,
    ) -> None:
        self.template = copy.deepcopy(models[0]).cpu()
        self.compute = compute or dtype
        moved = [copy.deepcopy(model).to(device=device, dtype=dtype) for model in models]
        try:
            parameters, buffers = torch.func.stack_module_state(moved)
        except RuntimeError as error:
            raise InputError("the models of a population must be of one shape.") from error
        self.parameter_names = [name for name, p in parameters.items() if p.requires_grad]
        if not self.parameter_names:
            raise InputError("the model has no parameter to train: none has requires_grad=True.")
        self.parameters = [parameters[name].detach() for name in self.parameter_names]
        self.fixed = {name: p for name, p in parameters.items() if not p.requires_grad}
        self.buffer_names, self.buffers = list(buffers), list(buffers.values())
        self._skeleton = moved[0]
        if self._mixed:
            _normalise_in(self._skeleton, dtype)

    def to(self, device: torch.device | str) -> Self:
        """A copy on another device; on a CPU it computes in the precision of its parameters."""
        moved = super().to(device)
        moved.fixed = {name: value.to(device) for name, value in self.fixed.items()}
        return moved

    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Examples as they are."""
        return x

    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores in training mode, recorded by autograd."""
        before = [b[part].clone() for b in self.buffers]
        leaves = [p[part].detach().requires_grad_() for p in self.parameters]
        with torch.enable_grad():
            scores = self._call(leaves, x, part, training=True)
        return scores.detach(), (scores, leaves, before)

    def backward(self, tape: Tape, slopes: Tensor) -> Sequence[Tensor | None]:
        """Gradients by autograd, in the order of `parameters`; None for one that is not used."""
        scores, leaves, _ = tape
        return list(torch.autograd.grad(scores, leaves, slopes, allow_unused=True))

    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        """Undo what the forward pass did to the buffers of members that are not alive."""
        _, _, before = tape
        for buffer, old in zip(self.buffers, before, strict=True):
            new = buffer[part]
            mask = alive[part].view(-1, *[1] * (new.dim() - 1))
            new.copy_(torch.where(mask, new, old))

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores in evaluation mode."""
        with torch.no_grad():
            return self._call([p[part] for p in self.parameters], x, part, shared=shared)

    def _call(
        self,
        parameters: list[Tensor],
        x: Tensor,
        part: slice,
        *,
        training: bool = False,
        shared: bool = False,
    ) -> Tensor:
        skeleton = self._skeleton.train(training)
        values = dict(zip(self.parameter_names, parameters, strict=True))
        values |= {name: value[part] for name, value in self._constants().items()}

        def one(state: dict[str, Tensor], batch: Tensor) -> Tensor:
            scores: Tensor = torch.func.functional_call(skeleton, state, (batch,))
            return scores

        axes = (0, None if shared else 0)
        with torch.autocast(x.device.type, dtype=self.compute, enabled=self._mixed):
            scores: Tensor = torch.vmap(one, axes, randomness="different")(values, x)
        return scores.to(parameters[0].dtype)

    @property
    def _mixed(self) -> bool:
        return self.compute == torch.bfloat16

    def member(self, i: int) -> nn.Module:
        """A copy of member i, in evaluation mode, on the CPU."""
        model = copy.deepcopy(self.template).to(self.dtype)
        named = dict(model.named_parameters()) | dict(model.named_buffers())
        values = dict(zip(self.parameter_names, self.parameters, strict=True)) | self._constants()
        with torch.no_grad():
            for name, value in values.items():
                named[name].copy_(value[i])
        return model.eval()

    def _constants(self) -> dict[str, Tensor]:
        """What no gradient moves, by name: fixed parameters and buffers."""
        return self.fixed | dict(zip(self.buffer_names, self.buffers, strict=True))


def _normalise_in(model: nn.Module, dtype: torch.dtype) -> None:
    """Let batch norms see their input in this precision: under vmap their backward pass asks for
    input and running statistics of one type, which autocast alone does not give on a GPU."""

    def widen(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(x.to(dtype) for x in inputs)

    for layer in model.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.register_forward_pre_hook(widen)
