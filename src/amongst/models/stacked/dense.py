"""`Linear` and `MLP` stacked: layers written out, forward and backward."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.errors import InputError
from amongst.models.stacked.base import EVERYONE, StackedNetwork, Tape

__all__ = ["StackedDense"]

_PARAMETERS = ("weight", "bias")
_STATISTICS = ("running_mean", "running_var")


class StackedDense(StackedNetwork):
    """Stacked `Linear` or `MLP`: hidden layers without bias, batch norm, ReLU; then affine.

    Parameters are, for each hidden layer, weight (M, in, out), scale and shift (M, 1, out); then
    the last weight and bias (M, 1, K). Buffers are mean and variance (M, 1, out) of each layer and
    the number of batches (M,).

    Examples
    --------
    >>> from amongst.models import build_model
    >>> one = StackedDense([build_model("mlp", (4,), 3, seed=0, widths=(5,))])
    >>> [tuple(p.shape) for p in one.parameters]
    [(1, 4, 5), (1, 1, 5), (1, 1, 5), (1, 5, 3), (1, 1, 3)]
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
        """Number of hidden layers."""
        return len(self.sizes) - 2

    @property
    def n_classes(self) -> int:
        """K."""
        return self.real_sizes[-1]

    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Examples flattened to rows, in the precision of the products, padded: (..., d)."""
        flat = x.reshape(*x.shape[:leading], -1).to(self.compute)
        missing = self.sizes[0] - flat.shape[-1]
        return F.pad(flat, (0, missing)) if missing else flat

    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores of (m, B, d) rows from `prepare`, with each member's own batch statistics."""
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
        """Closed-form gradients, in the order of `parameters`."""
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
        """Running mean and unbiased variance, with the momentum of the template's batch norm."""
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
        """Scores with the running statistics, folded into one affine map a layer."""
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
        """A copy of member i, in evaluation mode, on the CPU."""
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
