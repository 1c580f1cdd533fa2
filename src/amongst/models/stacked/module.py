"""Any module stacked, through vmap and functional_call."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from amongst.errors import InputError
from amongst.models.stacked.base import EVERYONE, StackedNetwork, Tape

__all__ = ["StackedModule"]


class StackedModule(StackedNetwork):
    """Any module through vmap + functional_call; dropout differs from member to member.

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
        self.parameter_names, self.buffer_names = list(parameters), list(buffers)
        self.parameters = [parameters[name].detach() for name in self.parameter_names]
        self.buffers = [buffers[name] for name in self.buffer_names]
        self._skeleton = moved[0]
        if self._mixed:
            _normalise_in(self._skeleton, dtype)

    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Examples as they are."""
        return x

    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores in training mode, recorded by autograd."""
        before = [b[part].clone() for b in self.buffers]
        leaves = [p[part].detach().requires_grad_() for p in self.parameters]
        with torch.enable_grad():
            scores = self._call(leaves, [b[part] for b in self.buffers], x, True)
        return scores.detach(), (scores, leaves, before)

    def backward(self, tape: Tape, slopes: Tensor) -> list[Tensor]:
        """Gradients by autograd, in the order of `parameters`."""
        scores, leaves, _ = tape
        return list(torch.autograd.grad(scores, leaves, slopes))

    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        """Undo what the forward pass did to the buffers of members that are not alive."""
        _, _, before = tape
        for buffer, old in zip(self.buffers, before, strict=True):
            new = buffer[part]
            mask = alive[part].view(-1, *[1] * (new.dim() - 1))
            new.copy_(torch.where(mask, new, old))

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores in evaluation mode."""
        parameters = [p[part] for p in self.parameters]
        with torch.no_grad():
            return self._call(parameters, [b[part] for b in self.buffers], x, False, shared)

    def _call(
        self,
        parameters: list[Tensor],
        buffers: list[Tensor],
        x: Tensor,
        training: bool,
        shared: bool = False,
    ) -> Tensor:
        skeleton = self._skeleton.train(training)
        values = dict(zip(self.parameter_names, parameters, strict=True))
        values |= dict(zip(self.buffer_names, buffers, strict=True))

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
        model = copy.deepcopy(self.template).to(self.parameters[0].dtype)
        names = self.parameter_names + self.buffer_names
        values = [t[i].cpu() for t in self.parameters + self.buffers]
        model.load_state_dict(dict(zip(names, values, strict=True)))
        return model.eval()


def _normalise_in(model: nn.Module, dtype: torch.dtype) -> None:
    """Let batch norms see their input in this precision: under vmap their backward pass asks for
    input and running statistics of one type, which autocast alone does not give on a GPU."""

    def widen(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(x.to(dtype) for x in inputs)

    for layer in model.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.register_forward_pre_hook(widen)
