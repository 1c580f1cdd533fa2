"""One model at full speed on a GPU: channels-last, compiled, and captured in CUDA graphs.

`GraphedStep` stands in for `single.step`: the same mathematics, with no word to the host between
the first batch of an epoch and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.engine.data import TrainingData
from amongst.engine.order import batch_bounds
from amongst.engine.settings import Settings
from amongst.engine.single import Training
from amongst.methods import Method

__all__ = ["GraphedStep", "wide_input"]

WARM_UPS = 3


class GraphedStep:
    """An optimiser step on given rows, replayed from a CUDA graph: one graph for each batch size.

    Parameters
    ----------
    state : its model must be on a GPU. It gets an optimiser that can be captured, with the old
        one's state.
    data, method, settings : as for `train`.
    compile : let torch.compile fuse the full batch's step first. The last, smaller batch of an
        epoch runs as it is.
    tune : let cuDNN try its algorithms.

    Notes
    -----
    Call it with the rows of a batch; it returns (sum of losses, rows covered), shape (2,), in a
    buffer that the next call overwrites.
    """

    def __init__(
        self,
        state: Training,
        data: TrainingData,
        method: Method,
        settings: Settings,
        *,
        compile: bool | str = True,
        tune: bool = True,
    ) -> None:
        self.state, self.data, self.method, self.settings = state, data, method, settings
        self.images = len(data.features.shape) == 3
        if self.images:
            state.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.rate = torch.tensor(settings.lr, device=data.features.device)
        state.optimizer = _capturable(state, settings, self.rate)
        sizes = {b - a for a, b in batch_bounds(len(data), settings.batch_size)}
        self.compiled_size = max(sizes)
        mode = compile if isinstance(compile, str) else None
        self.network: Callable[[Tensor], Tensor] = state.model
        if compile:
            self.network = torch.compile(state.model, dynamic=False, mode=mode)
        self.tune = tune
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Tensor]] = {}

    def __call__(self, rows: Tensor) -> Tensor:
        """Run the step on these rows."""
        self._read_rate()
        if len(rows) not in self.graphs:
            with _cudnn_tuning(self.tune):
                self.graphs[len(rows)] = self._captured(rows)
        graph, place, out = self.graphs[len(rows)]
        place.copy_(rows)
        graph.replay()
        return out

    def _body(self, rows: Tensor) -> Tensor:
        data, state, method = self.data, self.state, self.method
        x, inside = self._batch(rows), data.inside[rows]
        weights = None if state.weights is None else state.weights[rows]
        scores = self._scores(x).to(data.features.dtype)
        losses = method.loss(scores, inside, weights)
        state.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(losses.mean())
        state.optimizer.step()
        with torch.no_grad():
            scores = scores.detach()
            covered = inside.gather(-1, scores.argmax(-1, keepdim=True)).sum()
            if state.weights is not None and method.when in ("same", "post"):
                found = self._scores(x).to(scores.dtype) if method.when == "post" else scores
                state.weights[rows] = method.update(found, inside)
            return torch.stack((losses.detach().sum(), covered)).double()

    def _batch(self, rows: Tensor) -> Tensor:
        x = self.data.features.batch(rows)
        return x.contiguous(memory_format=torch.channels_last) if self.images else x

    def _scores(self, x: Tensor) -> Tensor:
        full = len(x) == self.compiled_size
        network = self.network if full else self.state.model
        with self._autocast():
            return network(x)

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "bf16":
            return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False)
        return nullcontext()

    def _captured(self, rows: Tensor) -> tuple[torch.cuda.CUDAGraph, Tensor, Tensor]:
        """Warm up on a side stream, capture, and put everything back as it was."""
        place, saved = rows.clone(), _Snapshot(self.state, rows)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                self._body(place)
        torch.cuda.current_stream().wait_stream(side)
        self.state.optimizer.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            out = self._body(place)
        saved.restore()
        return graph, place, out

    def _read_rate(self) -> None:
        """A learning rate that was set as a number goes where the graphs read it."""
        for group in self.state.optimizer.param_groups:
            if group["lr"] is not self.rate:
                self.rate.fill_(float(group["lr"]))
                group["lr"] = self.rate


class _Snapshot:
    """What a warm-up step changes, kept to be put back."""

    def __init__(self, state: Training, rows: Tensor) -> None:
        self.state, self.rows = state, rows
        self.values = [(t, t.detach().clone()) for t in state.model.state_dict().values()]
        self.moments = {
            (p, name): value.clone()
            for p, slots in state.optimizer.state.items()
            for name, value in slots.items()
            if isinstance(value, Tensor)
        }
        self.weights = None if state.weights is None else state.weights[rows].clone()

    @torch.no_grad()
    def restore(self) -> None:
        """Put it back; moments that did not exist yet become zero, which is how they start."""
        for value, old in self.values:
            value.copy_(old)
        for p, slots in self.state.optimizer.state.items():
            for name, value in slots.items():
                if isinstance(value, Tensor):
                    old = self.moments.get((p, name))
                    value.zero_() if old is None else value.copy_(old)
        if self.state.weights is not None and self.weights is not None:
            self.state.weights[self.rows] = self.weights


def _capturable(state: Training, settings: Settings, rate: Tensor) -> torch.optim.Optimizer:
    """The same optimiser with one fused kernel, and a learning rate that lives on the device."""
    parameters, decay = list(state.model.parameters()), settings.weight_decay
    new: torch.optim.Optimizer
    if settings.optimizer == "adam":
        new = torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True, capturable=True)
    else:
        new = torch.optim.SGD(
            parameters, lr=rate, weight_decay=decay, momentum=settings.momentum, fused=True
        )
    old = state.optimizer.state_dict()
    if old["state"]:
        fresh = new.state_dict()
        new.load_state_dict({"state": old["state"], "param_groups": fresh["param_groups"]})
        for group in new.param_groups:
            group["lr"] = rate
    return new


class _WideConvolution(nn.Conv2d):
    """A convolution that sees its few input channels padded with zeros to eight."""

    def forward(self, input: Tensor) -> Tensor:
        missing = -input.shape[1] % 8
        x = F.pad(input, (0, 0, 0, 0, 0, missing))
        weight = F.pad(self.weight, (0, 0, 0, 0, 0, missing))
        scores: Tensor = self._conv_forward(x, weight, self.bias)
        return scores


@contextmanager
def wide_input(model: nn.Module) -> Iterator[None]:
    """Inside, convolutions of fewer than 8 channels compute on 8, as matrix units want it.

    The numbers do not change: the padding is zero.

    >>> layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 5, 5)
    >>> with wide_input(layer):
    ...     wide = layer(x)
    >>> bool(torch.allclose(wide, layer(x), atol=1e-6))
    True
    """
    narrow = [m for m in model.modules() if type(m) is nn.Conv2d and m.in_channels < 8]
    for layer in narrow:
        layer.__class__ = _WideConvolution
    try:
        yield
    finally:
        for layer in narrow:
            layer.__class__ = nn.Conv2d


@contextmanager
def _cudnn_tuning(tune: bool) -> Iterator[None]:
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = tune
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before
