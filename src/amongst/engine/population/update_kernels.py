"""Triton kernels that move parameters: a gradient never reaches memory.

Only imported where Triton is installed.
"""

# mypy: ignore-errors

import triton
import triton.language as tl

__all__ = ["optimizer_step", "update_weight"]


@triton.jit
def optimizer_step(
    parameter,
    trace,
    square,
    place,
    mask,
    gradient,
    m,
    size,
    n_sgd,
    lr,
    weight_decay,
    momentum,
    corrections,
    tick,
    HAS_ADAM: tl.constexpr,
):
    """The optimiser's step on some entries of member m; returns their new values.

    `size` is the number of entries of a member, and `place` those that are meant. Second moments
    exist from member n_sgd on only.
    """
    parameter += m * size
    trace += m * size
    rate = tl.load(lr + m)
    old = tl.load(parameter + place, mask=mask, other=0.0)
    memory = tl.load(trace + place, mask=mask, other=0.0)
    gradient += old * tl.load(weight_decay + m)
    if HAS_ADAM:
        if m >= n_sgd:
            step = tl.load(tick)
            first = memory + (gradient - memory) * 0.1
            square += (m - n_sgd) * size
            second = tl.load(square + place, mask=mask, other=0.0) * 0.999
            second += gradient * gradient * 0.001
            tl.store(square + place, second, mask=mask)
            root = tl.sqrt(second) / tl.load(corrections + 2 * step + 1) + 1e-8
            new = old - rate / tl.load(corrections + 2 * step) * first / root
        else:
            first = memory * tl.load(momentum + m) + gradient
            new = old - rate * first
    else:
        first = memory * tl.load(momentum + m) + gradient
        new = old - rate * first
    tl.store(trace + place, first, mask=mask)
    tl.store(parameter + place, new, mask=mask)
    return new


@triton.jit
def update_weight(
    x,
    slopes,
    weight,
    trace,
    square,
    copy,
    bias,
    bias_trace,
    bias_square,
    alive,
    lr,
    weight_decay,
    momentum,
    corrections,
    tick,
    n_sgd,
    batch,
    capacity,
    fan_in,
    fan_out,
    HAS_ADAM: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_COPY: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_I: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    """A tile of xᵀ slopes, and at once the optimiser's step on that tile of the weight."""
    m = tl.program_id(1).to(tl.int64)
    tiles = tl.cdiv(fan_out, BLOCK_N)
    i = tl.program_id(0) // tiles * BLOCK_I + tl.arange(0, BLOCK_I)
    c = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    r = tl.arange(0, BLOCK_R)
    total = tl.zeros((BLOCK_I, BLOCK_N), dtype=tl.float32)
    to_bias = tl.zeros((BLOCK_N,), dtype=tl.float32)
    left = x + m * capacity * fan_in
    right = slopes + m * capacity * fan_out
    for start in range(0, batch, BLOCK_R):
        row = start + r
        a = tl.load(
            left + row[None, :] * fan_in + i[:, None],
            mask=(row < batch)[None, :] & (i < fan_in)[:, None],
            other=0.0,
        )
        b = tl.load(
            right + row[:, None] * fan_out + c[None, :],
            mask=(row < batch)[:, None] & (c < fan_out)[None, :],
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
        if HAS_BIAS:
            to_bias += tl.sum(b.to(tl.float32), 0)
    live = tl.load(alive + m) != 0
    place = i[:, None] * fan_out + c[None, :]
    keep = (i < fan_in)[:, None] & (c < fan_out)[None, :] & live
    new = optimizer_step(
        weight,
        trace,
        square,
        place,
        keep,
        total,
        m,
        fan_in * fan_out,
        n_sgd,
        lr,
        weight_decay,
        momentum,
        corrections,
        tick,
        HAS_ADAM,
    )
    if HAS_COPY:
        tl.store(copy + m * fan_in * fan_out + place, new.to(copy.dtype.element_ty), mask=keep)
    if HAS_BIAS:  # noqa: SIM102 - decided at compile time, unlike the next
        if tl.program_id(0) < tiles:
            optimizer_step(
                bias,
                bias_trace,
                bias_square,
                c,
                (c < fan_out) & live,
                to_bias,
                m,
                fan_out,
                n_sgd,
                lr,
                weight_decay,
                momentum,
                corrections,
                tick,
                HAS_ADAM,
            )
