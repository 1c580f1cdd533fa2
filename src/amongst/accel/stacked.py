"""Many networks of one shape as one: parameters with a leading axis of M members.

`StackedDense` writes out the layers of `Linear` and `MLP`, forward and backward; `StackedModule`
takes any `nn.Module` through vmap and functional_call. Both train in the caller's loop:
`forward` → slopes of the loss → `backward` → the caller's update → `track`. `SoloNetwork` holds one
module that was trained elsewhere, to be scored beside the others.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.errors import InputError
from amongst.models.networks import MLP, Linear

EVERYONE = slice(None)
"""The slice of all members."""

Tape = Any
"""What `forward` leaves for `backward` and `track`."""


class StackedNetwork(ABC):
    """M networks of one shape, to be trained together.

    Attributes
    ----------
    parameters, buffers : tensors of shape (M, ...); the parameters are those that are trained.
    template : one network of that shape; its values mean nothing.
    compute : precision of matrix products.
    """

    parameters: list[Tensor]
    buffers: list[Tensor]
    template: nn.Module
    compute: torch.dtype

    def __len__(self) -> int:
        return len(self.parameters[0])

    @property
    def dtype(self) -> torch.dtype:
        return self.parameters[0].dtype

    def to(self, device: torch.device | str) -> Self:
        """A copy on another device; on a CPU it computes in the precision of its parameters."""
        moved = copy.copy(self)
        moved.parameters = [p.to(device) for p in self.parameters]
        moved.buffers = [b.to(device) for b in self.buffers]
        if torch.device(device).type == "cpu":
            moved.compute = self.dtype
        return moved

    @abstractmethod
    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Batches as `forward` wants them; the first `leading` axes count members and rows."""

    @abstractmethod
    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores (m, B, K) of prepared batches (m, B, ...) in training mode, and a tape."""

    @abstractmethod
    def backward(self, tape: Tape, slopes: Tensor) -> Sequence[Tensor | None]:
        """Gradients of the parameters from those of the scores, shape (m, B, K); None for a
        parameter on which the scores do not depend."""

    @abstractmethod
    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores (m, B, K) in evaluation mode, of rows (B, ...) if shared, else (m, B, ...)."""

    @abstractmethod
    def member(self, i: int) -> nn.Module:
        """A copy of member i as a plain module, in evaluation mode, on the CPU."""

    @abstractmethod
    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        """Let the running statistics of the members that are alive follow the batch's."""


def copied(model: nn.Module) -> nn.Module:
    """A deep copy, also of a module that keeps a result of its last pass, as old-style spectral
    norm does: torch refuses to copy a tensor with a history, so that its values are taken.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> scores = layer(torch.ones(1, 2))
    >>> copied(layer).weight.requires_grad
    False
    """
    kept = (value for module in model.modules() for value in vars(module).values())
    results = [value for value in kept if isinstance(value, Tensor) and not value.is_leaf]
    return copy.deepcopy(model, {id(value): value.detach().clone() for value in results})


class SoloNetwork:
    """A copy of one module on the CPU, as a stack of one; no vmap, so that any module will do."""

    def __init__(self, model: nn.Module) -> None:
        self.model = copied(model).cpu().eval()

    def __len__(self) -> int:
        return 1

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        with torch.no_grad():
            scores: Tensor = self.model(x if shared else x[0])
        return scores.unsqueeze(0)

    def member(self, i: int) -> nn.Module:
        return copied(self.model)


_PARAMETERS = ("weight", "bias")
_STATISTICS = ("running_mean", "running_var")


class StackedDense(StackedNetwork):
    """Stacked `Linear` or `MLP`: hidden layers without bias, batch norm, ReLU; then affine.

    Parameters are, for each hidden layer, weight (M, in, out), scale and shift (M, 1, out); then
    the last weight and bias (M, 1, K). Buffers are mean and variance (M, 1, out) of each layer and
    the number of batches (M,).
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        compute: torch.dtype | None = None,
        pad: bool = False,
    ) -> None:
        self.template = copy.deepcopy(models[0]).cpu()
        self.compute = compute or dtype
        affine = [m for m in self.template.modules() if isinstance(m, nn.Linear)]
        self.real_sizes = [affine[0].in_features, *(m.out_features for m in affine)]
        self.sizes = _padded(self.real_sizes) if pad else list(self.real_sizes)
        self.momentum, self.eps = _normalisation(self.template)
        self.parameters = self._stacked(models, _PARAMETERS, device, dtype)
        self.buffers = self._stacked(models, _STATISTICS, device, dtype)
        self.buffers.append(torch.tensor([_batches(m) for m in models], device=device))

    @property
    def n_hidden(self) -> int:
        return len(self.sizes) - 2

    @property
    def n_classes(self) -> int:
        return self.real_sizes[-1]

    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        flat = x.reshape(*x.shape[:leading], -1).to(self.compute)
        missing = self.sizes[0] - flat.shape[-1]
        return F.pad(flat, (0, missing)) if missing else flat

    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        tape, values = [], [p[part] for p in self.parameters]
        for layer in range(self.n_hidden):
            weight, scale, shift = values[3 * layer : 3 * layer + 3]
            product = torch.bmm(x, weight.to(self.compute)).to(scale.dtype)
            mean = product.mean(1, keepdim=True)
            centred = product.sub_(mean)
            variance = centred.square().mean(1, keepdim=True)
            spread = (variance + self.eps).rsqrt()
            normal = centred.mul_(spread)
            active = torch.addcmul(shift, normal, scale).relu_().to(self.compute)
            tape.append((x, normal.to(self.compute), active, spread, mean, variance))
            x = active
        scores = torch.bmm(x, values[-2].to(self.compute)).to(values[-1].dtype) + values[-1]
        return scores[..., : self.n_classes], (tape, x)

    def backward(self, tape: Tape, slopes: Tensor) -> list[Tensor]:
        layers, x = tape
        missing = self.sizes[-1] - slopes.shape[-1]
        slopes = F.pad(slopes, (0, missing)) if missing else slopes
        bias, slopes = slopes.sum(1, keepdim=True), slopes.to(self.compute)
        head = torch.bmm(x.transpose(1, 2), slopes).to(bias.dtype)
        found = [bias, head]
        weight = self.parameters[-2]
        for index in reversed(range(self.n_hidden)):
            slopes = torch.bmm(slopes, weight.to(self.compute).transpose(1, 2))
            x, normal, active, spread, _, _ = layers[index]
            slopes, scale, shift = _through_norm(
                slopes, normal, active, spread, self.parameters[3 * index + 1]
            )
            slopes = slopes.to(self.compute)
            found += [shift, scale, torch.bmm(x.transpose(1, 2), slopes).to(bias.dtype)]
            weight = self.parameters[3 * index]
        return found[::-1]

    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        layers, x = tape
        rows = x.shape[1]
        mask = alive[part].view(-1, 1, 1)
        for index, (_, _, _, _, mean, variance) in enumerate(layers):
            unbiased = variance * (rows / max(rows - 1, 1))
            for buffer, seen in zip(
                self.buffers[2 * index : 2 * index + 2], (mean, unbiased), strict=True
            ):
                old = buffer[part]
                new = old * (1 - self.momentum) + seen * self.momentum
                old.copy_(torch.where(mask, new, old))
        self.buffers[-1][part] += alive[part]

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        x = self.prepare(x, 1 if shared else 2)
        values = [p[part] for p in self.parameters]
        for layer in range(self.n_hidden):
            weight, scale, shift = values[3 * layer : 3 * layer + 3]
            mean, variance = (b[part] for b in self.buffers[2 * layer : 2 * layer + 2])
            factor = scale * (variance + self.eps).rsqrt()
            x = _product(x, weight.to(self.compute))
            x = torch.addcmul((shift - mean * factor).to(x.dtype), x, factor.to(x.dtype)).relu_()
        scores = _product(x, values[-2].to(self.compute)).to(values[-1].dtype) + values[-1]
        return scores[..., : self.n_classes]

    def member(self, i: int) -> nn.Module:
        model = copy.deepcopy(self.template).to(self.parameters[0].dtype)
        with torch.no_grad():
            for target, stacked in zip(model.parameters(), self.parameters, strict=True):
                _unstack(target, stacked[i])
            names = [name for name, _ in model.named_buffers() if name.endswith(_STATISTICS)]
            for name, stacked in zip(names, self.buffers[:-1], strict=True):
                _unstack(model.get_buffer(name), stacked[i])
            for name, buffer in model.named_buffers():
                if name.endswith("num_batches_tracked"):
                    buffer.copy_(self.buffers[-1][i])
        return model.eval()

    def _stacked(
        self,
        models: Sequence[nn.Module],
        suffixes: tuple[str, ...],
        device: torch.device | str,
        dtype: torch.dtype,
    ) -> list[Tensor]:
        states = [model.state_dict() for model in models]
        names = [name for name in states[0] if name.endswith(suffixes)]
        return [
            _stack([state[name] for state in states], shape).to(device, dtype)
            for name, shape in zip(names, self._shapes(suffixes), strict=True)
        ]

    def _shapes(self, suffixes: tuple[str, ...]) -> list[tuple[int, int]]:
        """Padded (rows, columns) of each stacked tensor."""
        if suffixes == _STATISTICS:
            return [(1, width) for width in self.sizes[1:-1] for _ in suffixes]
        shapes = []
        for fan_in, fan_out in pairwise(self.sizes[:-1]):
            shapes += [(fan_in, fan_out), (1, fan_out), (1, fan_out)]
        return [*shapes, (self.sizes[-2], self.sizes[-1]), (1, self.sizes[-1])]


def _through_norm(
    slopes: Tensor, normal: Tensor, active: Tensor, spread: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Back through ReLU and batch norm: slopes of its input, of its scale and of its shift."""
    rows = slopes.shape[1]
    slopes = torch.ops.aten.threshold_backward(slopes, active, 0).to(scale.dtype)
    to_shift = slopes.sum(1, keepdim=True)
    to_scale = (slopes * normal).sum(1, keepdim=True)
    centred = slopes.sub_(to_shift / rows).addcmul_(normal, to_scale, value=-1 / rows)
    return centred.mul_(scale * spread), to_scale, to_shift


def _product(x: Tensor, weight: Tensor) -> Tensor:
    """x W for each member, x shared by all or not."""
    return torch.bmm(x.expand(len(weight), -1, -1) if x.dim() == 2 else x, weight)


def _stack(tensors: list[Tensor], shape: tuple[int, int]) -> Tensor:
    """Tensors of one shape as (M, rows, columns), zero beyond their own size."""
    if len({t.shape for t in tensors}) != 1:
        raise InputError("the models of a population must be of one shape.")
    joined = torch.stack([t.detach() for t in tensors])
    joined = joined.transpose(1, 2) if joined.dim() == 3 else joined.unsqueeze(1)
    out = joined.new_zeros(len(tensors), *shape)
    out[:, : joined.shape[1], : joined.shape[2]] = joined
    return out


def _unstack(target: Tensor, value: Tensor) -> None:
    """Copy the unpadded part of a stacked value into a module's own tensor."""
    value = value.cpu()
    if target.dim() == 1:
        target.copy_(value[0, : len(target)])
    else:
        target.copy_(value[: target.shape[1], : target.shape[0]].T)


def _padded(sizes: list[int]) -> list[int]:
    up = [-(-size // 8) * 8 for size in sizes]
    return [*up[:-1], -(-sizes[-1] // 16) * 16]


def _batches(model: nn.Module) -> int:
    """How many batches the model's batch norm has seen."""
    named = model.named_buffers()
    return next((int(b) for name, b in named if name.endswith("num_batches_tracked")), 0)


def _normalisation(model: nn.Module) -> tuple[float, float]:
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d) and layer.momentum is not None:
            return layer.momentum, layer.eps
    return 0.1, 1e-5


class StackedModule(StackedNetwork):
    """Any module through vmap + functional_call; dropout differs from member to member.

    Parameters that do not ask for a gradient are `fixed`: they stay as they are.
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
        moved = super().to(device)
        moved.fixed = {name: value.to(device) for name, value in self.fixed.items()}
        return moved

    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        return x

    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        before = [b[part].clone() for b in self.buffers]
        leaves = [p[part].detach().requires_grad_() for p in self.parameters]
        with torch.enable_grad():
            scores = self._call(leaves, x, part, training=True)
        return scores.detach(), (scores, leaves, before)

    def backward(self, tape: Tape, slopes: Tensor) -> Sequence[Tensor | None]:
        scores, leaves, _ = tape
        return list(torch.autograd.grad(scores, leaves, slopes, allow_unused=True))

    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        _, _, before = tape
        for buffer, old in zip(self.buffers, before, strict=True):
            new = buffer[part]
            mask = alive[part].view(-1, *[1] * (new.dim() - 1))
            new.copy_(torch.where(mask, new, old))

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
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


def stack_models(
    models: Sequence[nn.Module],
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    compute: torch.dtype | None = None,
    pad: bool = False,
) -> StackedNetwork:
    """Stack networks of one shape.

    Parameters
    ----------
    models : M modules.
    device, dtype : of the stacked parameters.
    compute : precision of matrix products, e.g. bfloat16; None for `dtype`.
    pad : widths up to multiples of 8 and K to one of 16, which matrix units want; the padding
        stays exactly zero. Dense networks only.

    Examples
    --------
    >>> from amongst.models import build_model
    >>> pair = stack_models([build_model("mlp", (4,), 3, seed, widths=(5,)) for seed in (0, 1)])
    >>> pair.evaluate(torch.zeros(6, 4)).shape
    torch.Size([2, 6, 3])
    """
    if len({type(model) for model in models}) != 1:
        raise InputError("the models of a population must be of one kind, one shape.")
    if _is_written_out(models[0]):
        return StackedDense(models, device, dtype, compute or dtype, pad)
    return StackedModule(models, device, dtype, compute or dtype)


def _is_written_out(model: nn.Module) -> bool:
    """Whether `StackedDense` has this network: all of it trained, its batch norms of one kind."""
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]
    kinds = {(layer.momentum, layer.eps) for layer in norms}
    usual = len(kinds) <= 1 and all(layer.momentum is not None for layer in norms)
    trained = all(parameter.requires_grad for parameter in model.parameters())
    return type(model) in (MLP, Linear) and usual and trained
