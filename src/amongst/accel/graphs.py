"""One model at full speed on a GPU: channels-last, compiled, and captured in CUDA graphs.

`GraphedStep` stands in for `train.loop.step`: the same mathematics, with no word to the host between
the first batch of an epoch and the last.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms import LossAlgorithm, Method
from amongst.algorithms._base import changed_beyond_leaves, check_losses, new_weights
from amongst.data.features import Features
from amongst.devices import autocast, products_in
from amongst.models import PAPER
from amongst.train.loop import make_optimizer
from amongst.train.run import Settings, Training, TrainingData, batch_bounds, weighed


def why_not_built() -> str | None:
    """Why Triton, and with it torch.compile on a GPU, can build no kernels here, or None.

    It links each kernel to Python with the machine's C compiler, which many have not got.
    """
    if importlib.util.find_spec("triton") is None:
        return "the package triton is not installed"
    if os.name == "nt":  # where it brings a compiler along
        return None
    compilers = [os.environ["CC"]] if os.environ.get("CC") else ["gcc", "clang"]
    if not any(map(shutil.which, compilers)):
        return f"triton needs a C compiler, and there is no {' or '.join(compilers)}"
    headers = Path(sysconfig.get_paths("posix_prefix")["include"], "Python.h")
    return None if headers.exists() else "triton needs Python's headers (python3-dev)"


WARM_UPS = 3
WORTH_CAPTURING = 100
"""Steps of a training below which capturing costs more than it saves."""
WORTH_COMPILING = 4000
"""Steps of a training on images below which compiling costs more than it saves."""

INDUCTOR: dict[str, Any] = {"realize_reads_threshold": 16}
"""Options of torch.compile: slopes that go back through an activation into a batch norm are worked
out again where they are read, in place of being written and read twice."""
PROGRAMS = 64
"""How many networks and losses of other shapes one process may compile; torch.compile allows 8 and
then, with a line in the log, stops compiling."""

Seen = Callable[[Tensor], Tensor]
Judged = Callable[..., tuple[Tensor, Tensor, Tensor]]


def graphed_step(run: Training, data: TrainingData, settings: Settings) -> GraphedStep | None:
    """The fast way to step where it applies: on a GPU, for a network of this package, in a training
    that is long enough; else None.

    A module of a person's own may speak to the host, which cannot be captured; a method of a
    person's own may change during training in ways that a graph does not read; and in place of an
    optimiser of a person's own a captured step would have the one of the settings.
    """
    algorithm = run.algorithm
    if data.features.device.type != "cuda" or not isinstance(algorithm, LossAlgorithm):
        return None
    if type(algorithm.network) not in PAPER or not _is_usual(run, settings):
        return None
    if changed_beyond_leaves(algorithm.method):
        return None
    steps = settings.epochs * len(batch_bounds(len(data), settings.batch_size))
    if steps < WORTH_CAPTURING:
        return None
    long = len(data.features.shape) == 3 and steps >= WORTH_COMPILING
    return GraphedStep(run, data, settings, compile=long and why_not_built() is None)


def _is_usual(state: Training, settings: Settings) -> bool:
    """Whether the optimiser does what one of these settings does."""
    usual = make_optimizer(state.algorithm, settings)
    return type(state.optimizer) is type(usual) and _rules(state.optimizer) == _rules(usual)


def _rules(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """What says how it moves which parameters, but for the learning rate, which a step reads."""
    only_speed = ("lr", "foreach", "fused", "capturable")
    return [
        {name: value for name, value in group.items() if name not in only_speed}
        | {"params": [id(parameter) for parameter in group["params"]]}
        for group in optimizer.param_groups
    ]


@contextmanager
def capture(pool: Any) -> Iterator[torch.cuda.CUDAGraph]:
    """Capture what is launched inside.

    Python's garbage collector waits meanwhile: were it to free the graph of an earlier training, the
    driver would call the capture off.
    """
    graph, collects, stream = torch.cuda.CUDAGraph(), gc.isenabled(), torch.cuda.current_stream()
    gc.collect()
    gc.disable()
    try:
        with torch.cuda.graph(graph, pool=pool):
            yield graph
    finally:
        torch.cuda.set_stream(stream)  # a capture that fails leaves its own behind
        if collects:
            gc.enable()


class GraphedStep:
    """An optimiser step on given rows, replayed from a CUDA graph: one graph for each batch size.

    Parameters
    ----------
    state : of a `LossAlgorithm`, on a GPU. It gets an optimiser that can be captured, with the old
        one's state.
    data, settings : as for `train`.
    compile : let torch.compile fuse the full batch's step first, with these options of its if a
        dict: the network, which every training in this process shares, and the method's loss. The
        last, smaller batch of an epoch runs as it is.
    tune : how many algorithms cuDNN may try for each convolution, 0 for all it has, None for none.

    Notes
    -----
    Call it with the rows of a batch; it returns (sum of losses, rows covered), shape (2,), in a
    buffer that the next call overwrites. On a CPU it runs the same operations uncaptured.
    """

    def __init__(
        self,
        state: Training,
        data: TrainingData,
        settings: Settings,
        *,
        compile: bool | dict[str, Any] = True,
        tune: int | None = 10,
    ) -> None:
        self.state, self.data, self.settings = state, data, settings
        algorithm = state.algorithm
        assert isinstance(algorithm, LossAlgorithm)
        self.method, self.changes = _changing(algorithm.method, data.features)
        self.images = len(data.features.shape) == 3
        self.on_gpu = data.features.device.type == "cuda"
        if self.images:
            state.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.rate = torch.tensor(settings.lr, device=data.features.device)
        state.optimizer = _capturable(state, settings, self.rate)
        self.full = max(b - a for a, b in batch_bounds(len(data), settings.batch_size))
        self.see: Seen = self._see
        self.judge: Judged = self._judge
        if compile:
            options = compile if isinstance(compile, dict) else INDUCTOR
            self.see = torch.compile(self._see, dynamic=False, options=options)
            self.judge = torch.compile(self._judge, dynamic=False, options=options)
        self.tune = tune
        self.pool = torch.cuda.graph_pool_handle() if self.on_gpu else None
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Tensor]] = {}

    def __call__(self, rows: Tensor) -> Tensor:
        self._read_rate()
        self.changes(self.state.epoch / self.settings.epochs)
        if not self.on_gpu:
            with torch._dynamo.config.patch(recompile_limit=PROGRAMS):
                return self._body(rows)
        if len(rows) not in self.graphs:
            with self._surroundings():
                self.graphs[len(rows)] = self._captured(rows)
        graph, place, out = self.graphs[len(rows)]
        place.copy_(rows)
        graph.replay()
        return out

    def _body(self, rows: Tensor) -> Tensor:
        state, method = self.state, self.method
        is_full = len(rows) == self.full
        see, judge = (self.see, self.judge) if is_full else (self._see, self._judge)
        inside = self.data.inside[rows]
        weights = None if state.weights is None else state.weights[rows]
        scores = see(rows)
        known, importance = self.data.known_of(rows), self.data.importance_of(rows)
        loss, counts, new = judge(scores, inside, weights, importance, known)
        state.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        state.optimizer.step()
        with torch.no_grad():
            if weights is not None and method.when == "post":
                new = new_weights(method, see(rows), inside, weights, known)
            if state.weights is not None and method.when in ("same", "post"):
                state.weights[rows] = new
        return counts

    def _see(self, rows: Tensor) -> Tensor:
        """Scores of these rows."""
        x = self.data.features.batch(rows)
        x = x.contiguous(memory_format=torch.channels_last) if self.images else x
        with autocast(x.device, self.settings.precision, cache=False):
            scores: Tensor = self.state.model(x)
        return scores.to(self.data.features.dtype)

    def _judge(
        self,
        scores: Tensor,
        inside: Tensor,
        weights: Tensor | None,
        importance: Tensor | None,
        known: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Mean loss, counts, and the new weights that the same scores ask for."""
        method = self.method
        losses = method.loss(scores, inside, weights)
        check_losses(losses, inside, method.name)
        losses = weighed(losses, importance)
        with torch.no_grad():
            scores = scores.detach()
            covered = inside.gather(-1, scores.argmax(-1, keepdim=True)).sum()
            counts = torch.stack((losses.detach().sum(), covered)).double()
            new = scores
            if weights is not None and method.when == "same":
                new = new_weights(method, scores, inside, weights, known)
        return losses.mean(), counts, new

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        """What decides which kernels are captured: precision, cuDNN's search, wide inputs."""
        with ExitStack() as stack:
            stack.enter_context(torch._dynamo.config.patch(recompile_limit=PROGRAMS))
            stack.enter_context(products_in(self.settings.precision))
            if self.images:
                stack.enter_context(_tuned(self.tune))
                stack.enter_context(wide_input(self.state.model))
            yield

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
        with capture(self.pool) as graph:
            out = self._body(place)
        saved.restore()
        return graph, place, out

    def _read_rate(self) -> None:
        """A learning rate that was set as a number goes where the graphs read it."""
        for group in self.state.optimizer.param_groups:
            if group["lr"] is not self.rate:
                self.rate.fill_(float(group["lr"]))
                group["lr"] = self.rate


def _changing(method: Method, features: Features) -> tuple[Method, Callable[[float], None]]:
    """The method with its numbers where graphs read them, so that one program serves all of them,
    and what sets them as they are once a share of the epochs is done."""
    if not method.leaves:
        return method, lambda progress: None
    places = {
        name: torch.tensor(float(getattr(method, name)), dtype=features.dtype).to(features.device)
        for name in method.leaves
    }
    fades, seen = method.at(1.0) != method, -1.0

    def change(progress: float) -> None:
        nonlocal seen
        if progress == seen or not fades:
            return
        seen, now = progress, method.at(progress)
        for name, place in places.items():
            place.fill_(float(getattr(now, name)))

    return replace(method, **places), change


class _Snapshot:
    """What a warm-up step changes, kept to be put back; the random numbers of dropout too, so that
    they depend on the seed and the epoch only, whether or not this epoch began with a capture."""

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
        self.random = torch.cuda.get_rng_state(rows.device) if rows.is_cuda else None

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
        if self.random is not None:
            torch.cuda.set_rng_state(self.random, self.rows.device)


def _capturable(state: Training, settings: Settings, rate: Tensor) -> torch.optim.Optimizer:
    """The same optimiser with one fused kernel, and a learning rate that lives on the device."""
    parameters, decay = list(state.model.parameters()), settings.weight_decay
    new: torch.optim.Optimizer
    if settings.optimizer == "adam":
        capturable = rate.device.type == "cuda"
        new = torch.optim.Adam(
            parameters, lr=rate, weight_decay=decay, fused=True, capturable=capturable
        )
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
        _lay_alike(new)
    return new


@torch.no_grad()
def _lay_alike(optimizer: torch.optim.Optimizer) -> None:
    """Moments in memory as their parameters are: a file knows no channels-last, and a fused kernel on
    a GPU refuses to mix the two."""
    for parameter, slots in optimizer.state.items():
        for name, value in slots.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                slots[name] = torch.empty_like(parameter).copy_(value)


@contextmanager
def _tuned(tries: int | None) -> Iterator[None]:
    """Inside, cuDNN tries so many algorithms for each convolution, 0 for all, None for none."""
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.benchmark_limit
    cudnn.benchmark, cudnn.benchmark_limit = tries is not None, tries or 0
    try:
        yield
    finally:
        cudnn.benchmark, cudnn.benchmark_limit = before


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
