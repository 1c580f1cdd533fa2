"""Ways to run a cohort's steps: as they are, captured in a CUDA graph, compiled, or fused.

``eager`` runs anywhere. ``graph`` captures the same operations, one graph for each batch size;
``compiled`` lets torch.compile fuse them first; ``fused`` uses hand-written Triton kernels. The
last three need a GPU (``compiled`` also works on a CPU with a C++ compiler). ``alone`` trains
member after member with the single engine.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from amongst.accel.graphs import WARM_UPS, capture, why_not_built
from amongst.accel.population.cohort import Cohort
from amongst.accel.population.step import advance
from amongst.accel.stacked import StackedDense
from amongst.algorithms._base import first_line
from amongst.checks import check_choice
from amongst.errors import AmongstWarning, InputError

BACKENDS = ("auto", "eager", "graph", "compiled", "fused", "alone")
MOST_CLASSES = 256
"""Of the fused kernels: with more, the last layer's tiles do not fit the shared memory of a GPU."""
WORTH_COMPILING = 1e13
"""Floating-point operations of a training on a CPU, about three minutes on two cores, below which
compiling for half a minute does not pay."""
COMPILES_RIGHT = torch.torch_version.TorchVersion(torch.__version__) >= "2.12"
"""On a CPU, torch.compile before 2.12 gave members wrong weights, without a word, where two of them
differ in method or β; one method alone came out right, and so did all on a GPU."""
INDUCTOR: dict[str, Any] = {"max_fusion_size": 4}
"""Options of torch.compile on a CPU: with larger fusions it loses buffers of populations in which a
method takes a second pass, and stops with a KeyError; the speed is about the same."""

Stepper = Callable[[int], None]
"""Takes the number of rows in the next batch, and runs the step."""

Advance = Callable[[Cohort, int], None]


def choose_backend(backend: str, cohort: Cohort) -> str:
    """The backend that a name means for this cohort.

    ``"auto"`` is fused where the fused kernels apply, else a graph on a GPU; on a CPU compiled where
    the training is long enough for that to pay, else eager.
    """
    check_choice("backend", backend, BACKENDS)
    on_gpu = cohort.device.type == "cuda"
    if backend == "auto" and on_gpu:
        return "fused" if why_not_fused(cohort) is None else "graph"
    if backend == "auto":
        return "compiled" if _worth_compiling(cohort) else "eager"
    if backend in ("graph", "fused") and not on_gpu:
        raise InputError(f"backend={backend!r} needs a GPU; use backend='eager' or 'auto'.")
    if backend == "compiled" and not isinstance(cohort.network, StackedDense):
        raise InputError(
            "backend='compiled' is for the linear model and the MLP; other modules go through vmap, "
            "with backend='eager', or 'graph' on a GPU. Use 'auto'."
        )
    if backend == "compiled" and not on_gpu and not COMPILES_RIGHT:
        raise InputError(
            f"backend='compiled' on a CPU needs torch 2.12 or newer, this is {torch.__version__}: "
            "before, torch.compile gave members wrong weights. Use 'auto'."
        )
    reason = why_not_fused(cohort) if backend == "fused" else None
    if reason is not None:
        raise InputError(f"backend='fused' cannot train this population: {reason}. Use 'auto'.")
    return backend


def why_not_fused(cohort: Cohort) -> str | None:
    """Why the fused kernels do not apply, or None."""
    if (reason := why_not_built()) is not None:
        return reason
    if torch.version.hip is not None:
        return "it is written for GPUs of NVIDIA"
    if not isinstance(cohort.network, StackedDense):
        return "it is for the linear model and the MLP"
    if any(group.known is not None for group in cohort.groups):
        return "it knows no weights of candidates"
    if max(cohort.sizes) > 256:
        return "a batch has more than 256 rows"
    if cohort.network.n_classes > MOST_CLASSES:
        return f"there are more than {MOST_CLASSES} classes"
    return None if cohort.precision == "bf16" else "it computes in bf16 only"


def _worth_compiling(cohort: Cohort) -> bool:
    """Whether a training on a CPU is long, and there is a C++ compiler to shorten it."""
    weights = sum(p.numel() for p in cohort.network.parameters if p.dim() == 3)
    work = 6.0 * weights * cohort.n_rows * cohort.epochs
    known = COMPILES_RIGHT and isinstance(cohort.network, StackedDense)
    if work < WORTH_COMPILING or not known:
        return False
    may_start_others = not multiprocessing.current_process().daemon
    return may_start_others and any(map(shutil.which, (os.environ.get("CXX", "g++"), "clang++")))


def make_stepper(
    cohort: Cohort, backend: str, *, fallback: bool = False, **options: Any
) -> Stepper:
    """Something that runs one step of the cohort.

    Parameters
    ----------
    cohort, backend : see `choose_backend`.
    fallback : where compiling fails, warn and go on as it is, in place of an error.
    options : for the fused kernels.
    """
    if backend == "eager":
        return partial(advance, cohort)
    step: Advance = advance
    if backend == "compiled":
        fusing = INDUCTOR if cohort.device.type == "cpu" else None
        step = torch.compile(advance, fullgraph=True, dynamic=False, options=fusing)
        step = _guarded(step, fallback)
    elif backend == "fused":
        from amongst.accel.population.fused import FusedStep

        step = FusedStep(cohort, **options)
    if cohort.device.type != "cuda":
        return partial(step, cohort)
    return _Graphs(cohort, step)


def _guarded(step: Advance, fallback: bool) -> Advance:
    """A compiler that is missing or fails costs one clear sentence, before anything has moved."""

    def run(cohort: Cohort, size: int) -> None:
        nonlocal step
        try:
            step(cohort, size)
        except torch._dynamo.exc.TorchDynamoException as error:
            if fallback:
                warnings.warn(
                    f"torch.compile could not compile the step ({first_line(error)}); the training goes on as "
                    "it is, slower.",
                    AmongstWarning,
                    stacklevel=2,
                )
                step = advance
                return step(cohort, size)
            raise InputError(
                f"backend='compiled' cannot compile here ({first_line(error)}). "
                "Use backend='auto', or install a compiler."
            ) from error

    return run


class _Graphs:
    """One captured CUDA graph for each batch size.

    Warm-up and capture run with every member marked dead, so that nothing moves but the counts, and
    the random numbers of dropout, which are put back.
    """

    def __init__(self, cohort: Cohort, step: Advance) -> None:
        self.cohort, self.step = cohort, step
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, size: int) -> None:
        if size not in self.graphs:
            self.graphs[size] = self._captured(size)
        self.graphs[size].replay()

    def _captured(self, size: int) -> torch.cuda.CUDAGraph:
        cohort = self.cohort
        counts = (cohort.alive, cohort.totals, cohort.tick)
        saved, random = [value.clone() for value in counts], torch.cuda.get_rng_state(cohort.device)
        cohort.alive.fill_(False)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                cohort.tick.copy_(saved[2])
                self.step(cohort, size)
        torch.cuda.current_stream().wait_stream(side)
        with capture(self.pool) as graph:
            self.step(cohort, size)
        for value, old in zip(counts, saved, strict=True):
            value.copy_(old)
        torch.cuda.set_rng_state(random, cohort.device)
        return graph
