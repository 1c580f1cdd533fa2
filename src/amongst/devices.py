"""Where and how PyTorch computes: devices, threads, precision, and chance that a seed fixes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from amongst.errors import AmongstWarning, InputError, named, warn

UNUSABLE = (RuntimeError, ValueError, AssertionError, TypeError)
"""What PyTorch raises for a device that is not there, or that cannot do what is asked of it."""


def as_device(device: str | torch.device) -> torch.device:
    """A device that computes: ``"auto"`` means a GPU if there is one.

    >>> as_device("cpu")
    device(type='cpu')
    """
    if device == "auto" and not torch.cuda.is_available():
        return torch.device("cpu")
    try:
        return _tried("cuda" if device == "auto" else device)
    except UNUSABLE as error:
        if device == "auto":  # a GPU that fails, as in a process forked from one that has used it
            warn(
                AmongstWarning(f"the GPU cannot be used ({_said(error)}); this goes on on the CPU.")
            )
            return torch.device("cpu")
        problem, remedy = (
            f"cannot be used here ({_said(error)}).",
            (f"use {named('device', 'cpu')}", named("device", "auto")),
        )
        raise InputError(
            problem, code="unusable", argument="device", got=device, remedy=remedy
        ) from error


def current(device: torch.device) -> AbstractContextManager[Any]:
    """Inside, a GPU is the current one: streams, graphs and Triton's kernels are made for that one,
    wherever their tensors are."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Of a GPU, or of the machine: PyTorch says them in two ways, and of a capture that ran out of
    memory it may say last that it failed.

    >>> is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory")), is_out_of_memory(ValueError())
    (True, False)
    """
    if error is None:
        return False
    if "capture" in str(error) and is_out_of_memory(error.__context__):
        return True
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


@contextmanager
def made_on_cpu() -> Iterator[None]:
    """On the CPU inside, and for a function that it decorates: the code below moves to a GPU what
    belongs there, and after ``torch.set_default_device("cuda")`` the rest would be there, too."""
    if torch.get_default_device().type == "cpu":
        yield
        return
    with torch.device("cpu"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread inside: tiny products are slower on several, on a busy machine many times."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Forked:
    """Whether this process was forked after the import: OpenMP's threads, which it has not, would be
    waited for without end."""

    here = False


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=lambda: setattr(_Forked, "here", True))


def threads_that_are_there() -> AbstractContextManager[None]:
    """One thread inside where this process was forked, as web servers fork after loading a model."""
    return one_thread() if _Forked.here else nullcontext()


def _tried(device: str | torch.device) -> torch.device:
    """One number there and back, in float64, in which the engines count."""
    chosen = torch.device(device)
    torch.ones(1, dtype=torch.float64, device=chosen).cpu()
    return chosen


def _said(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def autocast(
    device: torch.device, precision: str, cache: bool | None = None
) -> AbstractContextManager[Any]:
    """bfloat16 products inside, where that is the precision, on a GPU."""
    if precision == "bf16" and device.type == "cuda":
        return torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=cache)
    return nullcontext()


Switch = tuple[Callable[[], Any], Callable[[Any], None], Any, Any]
"""How to read and to write something of PyTorch's, and its values for full and for fast products."""


def warn_of_precision(precision: str, device: torch.device) -> None:
    """Say so where training will be in float32, though less was asked for."""
    if precision in ("bf16", "tf32") and device.type == "cpu":
        problem = "is for a GPU; on a CPU training is in float32."
        warn(AmongstWarning(problem, code="gpu-only", argument="precision", got=precision))


_SWITCHING = threading.Lock()

_UNDER_WAY: list[list[Callable[[], None]]] = []
"""What puts the switches back after each training and prediction under way, of all threads: a process
has one switch for them."""


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """float32 products of matrices, and convolutions, as tf32 inside where that is asked for, else
    in full; and as they were outside. By itself PyTorch takes tf32 for convolutions on a GPU."""
    mine: list[Callable[[], None]] = []
    with _SWITCHING:
        _UNDER_WAY.append(mine)
        _switch(_of_matrices(), precision == "tf32", mine)
        _switch(_of_convolutions(), precision in ("tf32", "bf16"), mine)
    try:
        yield
    finally:
        with _SWITCHING:
            at = next(i for i, other in enumerate(_UNDER_WAY) if other is mine)
            later = _UNDER_WAY[at + 1 : at + 2]
            del _UNDER_WAY[at]
            if later:  # of another thread, which began later: it will put back what was here first
                later[0][:] = mine
            else:
                for put_back in reversed(mine):
                    put_back()


@contextmanager
def convolutions_tuned(tuned: bool) -> Iterator[None]:
    """Inside, cuDNN tries several algorithms for each shape of a convolution, and takes the fastest."""
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark
    cudnn.benchmark = before or tuned
    try:
        yield
    finally:
        cudnn.benchmark = before


def _switch(ways: Iterable[Switch], fast: bool, back: list[Callable[[], None]]) -> None:
    """The first of the ways that can be read, and how to undo it."""
    for get, put, slow_value, fast_value in ways:
        try:
            back.append(partial(put, get()))
        except RuntimeError:
            continue
        put(fast_value if fast else slow_value)
        return


def _of_matrices() -> Iterator[Switch]:
    """PyTorch has two ways to say it. Where a person has used the newer one, the older one cannot be
    read; but compilers read it, so that it goes first."""
    get, put = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    yield get, put, "highest", "high"
    yield _attribute(torch.backends.cuda.matmul, "fp32_precision", "ieee", "tf32")


def _of_convolutions() -> Iterator[Switch]:
    yield _attribute(torch.backends.cudnn, "allow_tf32", False, True)
    conv = torch.backends.cudnn.conv  # type: ignore[attr-defined]
    yield _attribute(conv, "fp32_precision", "ieee", "tf32")


def _attribute(owner: Any, name: str, full: Any, fast: Any) -> Switch:
    return partial(getattr, owner, name), partial(setattr, owner, name), full, fast


Roles = tuple[int, int, int]

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed number

_MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9

_MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


def split_seed(seed: int) -> Roles:
    """Independent seeds for (initial weights, order of rows, dropout).

    >>> len(set(split_seed(0)))
    3
    """
    words = np.random.SeedSequence(seed).generate_state(3, np.uint64) >> np.uint64(1)
    first, second, third = (int(word) for word in words)
    return first, second, third


def dropout_seed(seed: int, epoch: int) -> int:
    """Of the random numbers of an epoch's steps."""
    return (split_seed(seed)[2] + epoch) % 2**63


def permutation(
    seeds: int | Tensor, epoch: int, n: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Row orders of one epoch: shape (n,) for one seed, (M, n) for M seeds.

    >>> permutation(0, epoch=0, n=5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    base = torch.as_tensor(seeds, dtype=torch.int64, device=device)
    stream = _mix(_mix(base) + torch.tensor(epoch, device=device) * _GOLDEN)
    rows = torch.arange(n, dtype=torch.int64, device=device)
    return _mix(stream.unsqueeze(-1) + rows * _GOLDEN).argsort(dim=-1, stable=True)


def row_bits(rows: Tensor) -> Tensor:
    """0 or 1 for each row number, as by chance but always the same.

    >>> row_bits(torch.arange(6))
    tensor([0, 1, 0, 1, 0, 1])
    """
    return _mix(rows.long() * _GOLDEN) & 1


def _mix(x: Tensor) -> Tensor:
    """The finaliser of splitmix64, in wrapping 64-bit arithmetic."""
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    return (x >> bits) & ((1 << (64 - bits)) - 1)
