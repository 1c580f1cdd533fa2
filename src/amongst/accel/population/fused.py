"""The fused step: the same mathematics as `step.advance`, in a dozen Triton kernels.

A member's slopes are computed from matrix products in the precision of the network, statistics,
parameters and optimiser state stay float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from amongst.accel.population import kernels, loss_kernel, update_kernels
from amongst.accel.population.cohort import Cohort, Group
from amongst.accel.population.step import group_slopes, keep_weights
from amongst.accel.stacked import EVERYONE, StackedDense
from amongst.algorithms import LossForm

MOST_CLASSES = 32
"""Beyond this a batch's score rows no longer fit one program."""


@dataclass(eq=False)
class FusedLoss:
    """The loss of one group: losses, slopes, new weights and totals in one launch.

    Attributes
    ----------
    step : whose buffers it reads and writes.
    group, form : what it computes.
    alpha, beta : shape (m,), float32; the method's own memory, which changes from epoch to epoch.
    """

    step: FusedStep
    group: Group
    form: LossForm
    alpha: Tensor
    beta: Tensor

    @classmethod
    def of(cls, step: FusedStep, group: Group) -> FusedLoss | None:
        """The fused loss of a group, or None where the kernel does not know it."""
        form = group.form
        if form is None or step.network.n_classes > MOST_CLASSES:
            return None
        m = group.part.stop - group.part.start
        ones = torch.ones(m, device=step.cohort.device)
        alpha = getattr(group.method, "alpha", ones)
        beta = getattr(group.method, "beta", ones * form.outside)
        if beta.dtype != torch.float32:
            return None
        return cls(step, group, form, alpha.view(-1), beta.view(-1))

    def loss(self, size: int) -> None:
        """Losses and slopes of the batch; new weights too, if they come from the same scores."""
        cohort = self.step.cohort
        loss_kernel.batch_loss[(len(self.alpha),)](
            self.step.scores,
            self.step.slopes[-1],
            *self._rows(),
            self.alpha,
            self.beta,
            cohort.alive,
            cohort.totals,
            *self._sizes(size),
            KIND=self.form.kind,
            PSI=self.form.psi,
            REFRESH=self.group.weights is not None and self.group.method.when == "same",
            BOTH=self.form.both,
            **self._launch(size),
        )

    def refresh(self, size: int) -> None:
        """New weights of the batch's rows, from the scores as they are now."""
        loss_kernel.new_weights[(len(self.alpha),)](
            self.step.scores,
            *self._rows(),
            self.step.cohort.alive,
            *self._sizes(size),
            BOTH=self.form.both,
            **self._launch(size),
        )

    def _rows(self) -> tuple[Any, ...]:
        candidates = self.step.cohort.candidates
        weights = self.group.weights
        unused = self.alpha if weights is None else weights
        return self.step.rows, self.step.index, candidates.codes, candidates.first, unused

    def _sizes(self, size: int) -> tuple[int, ...]:
        step = self.step
        first = int(self.group.part.start)
        return first, step.cohort.n_rows, size, step.capacity, step.network.sizes[-1]

    def _launch(self, size: int) -> dict[str, int]:
        k = self.step.network.n_classes
        rows = max(16, 1 << (size - 1).bit_length())
        columns = max(2, 1 << (k - 1).bit_length())
        return {"K": k, "BLOCK_B": rows, "BLOCK_K": columns, "num_warps": 8}


@dataclass(frozen=True)
class Tiles:
    """Sizes of the kernels' tiles and their launch settings; they change speed only.

    The defaults are of what `benchmarks/tiles.py` tried on an H200 the fastest tiles of each kernel, and
    `early` and `overlap`. The figures in `docs/population.md` were taken with these, and the tests that
    fused and portable steps agree passed there with both on and with both off.

    Attributes
    ----------
    forward, backward : (columns, inner step) of a layer's tile.
    weight : (rows, columns, inner step) of a weight's tile.
    launches : Triton's num_warps, num_stages and maxnreg for each kernel.
    early : whether the backward kernel asks for the normalised activations before its product.
    overlap : whether weights move while slopes go on to the layer below.
    """

    forward: tuple[int, int] = (64, 32)
    backward: tuple[int, int] = (32, 64)
    weight: tuple[int, int, int] = (64, 64, 64)
    launches: dict[str, dict[str, int]] = field(
        default_factory=lambda: {
            "gather": {"num_warps": 4},
            "forward": {"num_warps": 8, "num_stages": 3, "maxnreg": 128},
            "backward": {"num_warps": 4, "num_stages": 2},
            "weight": {"num_warps": 4, "num_stages": 2, "maxnreg": 128},
            "head": {"num_warps": 4, "num_stages": 3},
            "norm": {"num_warps": 4},
        }
    )
    early: bool = True
    overlap: bool = True


class FusedStep:
    """One step of a cohort of linear models or MLPs, with a batch of at most 256 rows.

    Parameters
    ----------
    cohort : its buffers are allocated once, for its largest batch.
    tiles : sizes of tiles.
    """

    def __init__(self, cohort: Cohort, tiles: Tiles | None = None) -> None:
        assert isinstance(cohort.network, StackedDense)
        self.cohort, self.network = cohort, cohort.network
        self.tiles = tiles or Tiles()
        self.capacity = max(cohort.sizes)
        self.dtype = self.network.compute
        self.precision = "ieee" if self.dtype == torch.float32 else "tf32"
        m, sizes = len(cohort), self.network.sizes
        self.copies = [p.to(self.dtype) for p in self.network.parameters]  # or itself
        self.layers = [self._empty(self.dtype, width) for width in sizes[:-1]]
        self.normals = [self._empty(self.dtype, width) for width in sizes[1:-1]]
        self.slopes = [self._empty(self.dtype, width).zero_() for width in sizes[1:]]
        self.columns = [
            torch.zeros(4, m, width, device=cohort.device) for width in sizes[1:-1]
        ]  # of each layer: mean, variance, and the slopes of scale and of shift
        # a graph cannot wait for a stream on which it has launched nothing
        overlap = self.tiles.overlap and self.network.n_hidden > 0 and cohort.device.type == "cuda"
        self.side = torch.cuda.Stream() if overlap else None  # type: ignore[no-untyped-call]
        self.scores = self._empty(torch.float32, sizes[-1]).zero_()
        self.rows = torch.zeros(m, self.capacity, dtype=torch.int32, device=cohort.device)
        self.index = torch.zeros_like(self.rows)
        self.shift, self.scale = (
            self._per_column(value) for value in (cohort.features.shift, cohort.features.scale)
        )
        self.losses = {id(group): FusedLoss.of(self, group) for group in cohort.groups}

    def __call__(self, cohort: Cohort, size: int) -> None:
        self.gather(size)
        self.forward(size)
        for group in cohort.groups:
            self._loss(group, size)
        self.backward(size)
        self._refresh(size)
        cohort.tick.add_(1)

    def gather(self, size: int) -> None:
        """Draw rows and write the first layer's input."""
        cohort, columns = self.cohort, self.network.real_sizes[0]
        block = 16
        kernels.gather_rows[(-(-size // block), len(cohort))](
            cohort.features.values,
            self.shift,
            self.scale,
            cohort.order,
            cohort.subset,
            cohort.tick,
            self.rows,
            self.index,
            self.layers[0],
            cohort.n_rows,
            columns,
            size,
            self.capacity,
            cohort.batch_size,
            WIDTH=self.network.sizes[0],
            BLOCK_R=block,
            BLOCK_D=256,
            **self.tiles.launches["gather"],
        )

    def forward(self, size: int, part: slice = EVERYONE) -> None:
        """Fill the layers and the scores of these members."""
        first, last, _ = part.indices(len(self.cohort))
        for layer in range(self.network.n_hidden):
            self._forward_layer(layer, size, first, last)
        fan_in, fan_out = self.network.sizes[-2:]
        kernels.head_scores[(-(-size // 64), last - first)](
            self.layers[-1],
            self.copies[-2],
            self.network.parameters[-1],
            self.scores,
            first,
            BLOCK_B=64,
            BLOCK_N=_power(fan_out),
            BLOCK_K=64,
            **self._launch("head", size, fan_in, fan_out),
        )

    def backward(self, size: int) -> None:
        """From the slopes of the scores to new parameters, layer by layer."""
        everyone = 0, len(self.cohort)
        for layer in reversed(range(self.network.n_hidden)):
            self._backward_layer(layer, size)
            with self._beside():
                self._update_weight(layer + 1, size)
                self._update_norm(layer, size, *everyone, move=True)
        self._update_weight(0, size)
        if self.side is not None:
            torch.cuda.current_stream().wait_stream(self.side)

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """What is launched inside may run beside what follows."""
        if self.side is None:
            yield
            return
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            yield

    def _forward_layer(self, layer: int, size: int, first: int, last: int) -> None:
        network, (columns, inner) = self.network, self.tiles.forward
        fan_in, fan_out = network.sizes[layer : layer + 2]
        means, variances, _, _ = self.columns[layer]
        kernels.forward_layer[(-(-fan_out // columns), last - first)](
            self.layers[layer],
            self.copies[3 * layer],
            network.parameters[3 * layer + 1],
            network.parameters[3 * layer + 2],
            self.layers[layer + 1],
            self.normals[layer],
            means,
            variances,
            first,
            network.eps,
            BLOCK_B=_power(size),
            BLOCK_N=columns,
            BLOCK_K=inner,
            **self._launch("forward", size, fan_in, fan_out),
        )

    def _backward_layer(self, layer: int, size: int) -> None:
        """Slopes of hidden layer `layer` from those of the next."""
        network, (columns, inner) = self.network, self.tiles.backward
        fan_in, fan_out = network.sizes[layer + 1 : layer + 3]
        _, variances, to_scale, to_shift = self.columns[layer]
        kernels.backward_layer[(-(-fan_in // columns), len(self.cohort))](
            self.slopes[layer + 1],
            self.copies[3 * layer + 3],
            self.normals[layer],
            variances,
            network.parameters[3 * layer + 1],
            network.parameters[3 * layer + 2],
            self.slopes[layer],
            to_scale,
            to_shift,
            network.eps,
            EARLY=self.tiles.early,
            BLOCK_B=_power(size),
            BLOCK_N=columns,
            BLOCK_K=min(inner, _power(fan_out)),
            **self._launch("backward", size, fan_in, fan_out),
        )

    def _update_norm(self, layer: int, size: int, first: int, last: int, *, move: bool) -> None:
        """Running statistics of these members, and the optimiser's step on scale and shift."""
        network = self.network
        means, variances, to_scale, to_shift = self.columns[layer]
        update_kernels.update_norm[(last - first,)](
            means,
            variances,
            network.buffers[2 * layer],
            network.buffers[2 * layer + 1],
            to_scale,
            to_shift,
            *self._state(3 * layer + 1),
            *self._state(3 * layer + 2),
            *self._schedule(),
            first,
            network.momentum,
            BATCH=size,
            WIDTH=network.sizes[layer + 1],
            HAS_ADAM=self._has_adam,
            MOVE=move,
            BLOCK=_power(network.sizes[layer + 1]),
            **self.tiles.launches["norm"],
        )

    def _update_weight(self, layer: int, size: int) -> None:
        network, (rows, columns, inner) = self.network, self.tiles.weight
        fan_in, fan_out = network.sizes[layer : layer + 2]
        is_head = layer == network.n_hidden
        columns = min(columns, _power(fan_out))
        tiles = -(-fan_in // rows) * -(-fan_out // columns)
        update_kernels.update_weight[(tiles, len(self.cohort))](
            self.layers[layer],
            self.slopes[layer],
            *self._state(3 * layer),
            self.copies[3 * layer],
            *self._state(3 * layer + 1),
            *self._schedule(),
            HAS_ADAM=self._has_adam,
            HAS_BIAS=is_head,
            HAS_COPY=self.dtype != torch.float32,
            BLOCK_I=rows,
            BLOCK_N=columns,
            BLOCK_R=inner,
            **self._launch("weight", size, fan_in, fan_out),
        )

    def _loss(self, group: Group, size: int) -> None:
        fused = self.losses[id(group)]
        if fused is not None:
            fused.loss(size)
            return
        cohort, part = self.cohort, group.part
        rows, scores, inside = self._seen(group, size)
        losses, slopes = group_slopes(group, scores, inside, rows)
        cohort.alive[part].logical_and_(losses.sum(-1).isfinite())
        self.slopes[-1][part, :size, : self.network.n_classes] = slopes
        if group.method.when == "same":
            keep_weights(cohort, group, scores, inside, rows)
        covered = inside.gather(-1, scores.argmax(-1, keepdim=True)).sum((-2, -1))
        cohort.totals[part] += torch.stack((losses.sum(-1).double(), covered.double()), -1)

    def _seen(self, group: Group, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Rows, scores and masks of a batch, for a loss that no kernel knows."""
        rows, index = (t[group.part, :size].long() for t in (self.rows, self.index))
        scores = self.scores[group.part, :size, : self.network.n_classes]
        return rows, scores, self.cohort.candidates.of(index, group.part)

    def _refresh(self, size: int) -> None:
        """New weights where they come from a second forward pass."""
        cohort, second = self.cohort, self.cohort.second_pass
        if second is not None:
            self.forward(size, second)
            first, last, _ = second.indices(len(cohort))
            for layer in range(self.network.n_hidden):
                self._update_norm(layer, size, first, last, move=False)
        self.network.buffers[-1].add_(cohort.alive)
        if second is not None:
            self.network.buffers[-1][second] += cohort.alive[second]
        for group in cohort.groups:
            if group.weights is None or group.method.when != "post":
                continue
            fused = self.losses[id(group)]
            if fused is not None:
                fused.refresh(size)
                continue
            rows, scores, inside = self._seen(group, size)
            keep_weights(cohort, group, scores, inside, rows)

    def _launch(self, kernel: str, size: int, fan_in: int, fan_out: int) -> dict[str, Any]:
        """What a kernel of products is compiled for."""
        sizes = {"BATCH": size, "CAPACITY": self.capacity, "FAN_IN": fan_in, "FAN_OUT": fan_out}
        return {**sizes, "PRECISION": self.precision, **self.tiles.launches[kernel]}

    def _state(self, i: int) -> tuple[Tensor, Tensor, Tensor]:
        optimizer = self.cohort.optimizer
        return optimizer.parameters[i], optimizer.traces[i], optimizer.squares[i]

    def _schedule(self) -> tuple[Any, ...]:
        o, cohort = self.cohort.optimizer, self.cohort
        vectors = (o.lr, o.weight_decay, o.momentum, o.corrections)
        return (cohort.alive, *vectors, cohort.tick, o.n_sgd)

    @property
    def _has_adam(self) -> bool:
        return self.cohort.optimizer.n_sgd < len(self.cohort)

    def _empty(self, dtype: torch.dtype, width: int) -> Tensor:
        shape = len(self.cohort), self.capacity, width
        return torch.empty(*shape, dtype=dtype, device=self.cohort.device)

    def _per_column(self, value: Tensor | None) -> Tensor | None:
        if value is None:
            return None
        return value.expand(self.cohort.features.shape).reshape(-1).float().contiguous()


def _power(size: int) -> int:
    """The next power of two, at least 16, which matrix units ask for."""
    return max(16, 1 << (size - 1).bit_length())
