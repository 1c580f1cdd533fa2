"""Triton kernels that move parameters: a gradient never reaches memory.

Only imported where Triton is installed.
"""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def read_state(parameter, trace, place, mask):
    """Values and traces of some entries; asked for early, they are there when they are needed."""
    old = tl.load(parameter + place, mask=mask, other=0.0, eviction_policy="evict_first")
    return old, tl.load(trace + place, mask=mask, other=0.0, eviction_policy="evict_first")


@triton.jit
def optimizer_step(
    parameter,
    trace,
    square,
    old,
    memory,
    gradient,
    place,
    mask,
    m,
    n_sgd,
    lr,
    weight_decay,
    momentum,
    corrections,
    tick,
    HAS_ADAM: tl.constexpr,
):
    """The optimiser's step on some entries of member m; returns their new values.

    `parameter` and `trace` point to the member, `place` says which entries, `old` and `memory` are
    what `read_state` found there. `square` points to the first member with Adam, of number n_sgd.
    """
    rate = tl.load(lr + m)
    gradient += old * tl.load(weight_decay + m)
    if HAS_ADAM:
        if m >= n_sgd:
            step = tl.load(tick)
            first = memory + (gradient - memory) * 0.1
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
    tl.store(trace + place, first, mask=mask, eviction_policy="evict_first")
    tl.store(parameter + place, new, mask=mask, eviction_policy="evict_first")
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
    BATCH: tl.constexpr,
    CAPACITY: tl.constexpr,
    FAN_IN: tl.constexpr,
    FAN_OUT: tl.constexpr,
    HAS_ADAM: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_COPY: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_I: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    """A tile of xᵀ slopes, and at once the optimiser's step on that tile of the weight.

    The tile is flattened before the step: in its own layout each of the five arrays would take a
    detour through shared memory, flattened only the tile does.
    """
    m = tl.program_id(1).to(tl.int64)
    TILES: tl.constexpr = (FAN_OUT + BLOCK_N - 1) // BLOCK_N
    SIZE: tl.constexpr = FAN_IN * FAN_OUT
    top = tl.program_id(0) // TILES * BLOCK_I
    edge = tl.program_id(0) % TILES * BLOCK_N
    i, c, r = top + tl.arange(0, BLOCK_I), edge + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_R)
    total = tl.zeros((BLOCK_I, BLOCK_N), dtype=tl.float32)
    to_bias = tl.zeros((BLOCK_N,), dtype=tl.float32)
    left = x + m * CAPACITY * FAN_IN
    right = slopes + m * CAPACITY * FAN_OUT
    for start in range(0, BATCH, BLOCK_R):
        row = start + r
        a = tl.load(
            left + row[None, :] * FAN_IN + i[:, None],
            mask=(row < BATCH)[None, :] & (i < FAN_IN)[:, None],
            other=0.0,
        )
        b = tl.load(
            right + row[:, None] * FAN_OUT + c[None, :],
            mask=(row < BATCH)[:, None] & (c < FAN_OUT)[None, :],
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
        if HAS_BIAS:
            to_bias += tl.sum(b.to(tl.float32), 0)
    live = tl.load(alive + m) != 0
    total = tl.reshape(total, (BLOCK_I * BLOCK_N,))
    flat = tl.arange(0, BLOCK_I * BLOCK_N)
    row, column = top + flat // BLOCK_N, edge + flat % BLOCK_N
    place = row * FAN_OUT + column
    keep = (row < FAN_IN) & (column < FAN_OUT) & live
    here, memories = weight + m * SIZE, trace + m * SIZE
    old, memory = read_state(here, memories, place, keep)
    new = optimizer_step(
        here,
        memories,
        square + (m - n_sgd) * SIZE,
        old,
        memory,
        total,
        place,
        keep,
        m,
        n_sgd,
        lr,
        weight_decay,
        momentum,
        corrections,
        tick,
        HAS_ADAM,
    )
    if HAS_COPY:
        spot = (copy + m * SIZE) + tl.max_contiguous(place, 4)
        tl.store(spot, new.to(copy.dtype.element_ty), mask=keep, eviction_policy="evict_first")
    if HAS_BIAS:  # noqa: SIM102 - decided at compile time, unlike the next
        if tl.program_id(0) < TILES:
            own, own_trace = bias + m * FAN_OUT, bias_trace + m * FAN_OUT
            used = (c < FAN_OUT) & live
            value, before = read_state(own, own_trace, c, used)
            optimizer_step(
                own,
                own_trace,
                bias_square + (m - n_sgd) * FAN_OUT,
                value,
                before,
                to_bias,
                c,
                used,
                m,
                n_sgd,
                lr,
                weight_decay,
                momentum,
                corrections,
                tick,
                HAS_ADAM,
            )
