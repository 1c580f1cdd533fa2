"""Triton kernels that move parameters: a gradient never reaches memory.

Only imported where Triton is installed.
"""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def _step(parameter, trace, square, gradient, place, mask, m, rule, HAS_ADAM: tl.constexpr):
    """The optimiser's step on some entries of member m; returns their new values.

    `parameter` and `trace` point to the member, `place` says which entries. `square` points to the
    first member with Adam, whose number is the first of `rule`.
    """
    n_sgd, lr, weight_decay, momentum, corrections, tick = rule
    old = tl.load(parameter + place, mask=mask, other=0.0, eviction_policy="evict_first")
    memory = tl.load(trace + place, mask=mask, other=0.0, eviction_policy="evict_first")
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
    here, square = weight + m * SIZE, square + (m - n_sgd) * SIZE
    rule = (n_sgd, lr, weight_decay, momentum, corrections, tick)
    new = _step(here, trace + m * SIZE, square, total, place, keep, m, rule, HAS_ADAM)
    if HAS_COPY:
        spot = (copy + m * SIZE) + tl.max_contiguous(place, 4)
        tl.store(spot, new.to(copy.dtype.element_ty), mask=keep, eviction_policy="evict_first")
    if HAS_BIAS:  # noqa: SIM102 - decided at compile time, unlike the next
        if tl.program_id(0) < TILES:
            own, own_trace = bias + m * FAN_OUT, bias_trace + m * FAN_OUT
            own_square = bias_square + (m - n_sgd) * FAN_OUT
            used = (c < FAN_OUT) & live
            _step(own, own_trace, own_square, to_bias, c, used, m, rule, HAS_ADAM)


@triton.jit
def update_norm(
    means,
    variances,
    running_mean,
    running_var,
    to_scale,
    to_shift,
    scale,
    scale_trace,
    scale_square,
    shift,
    shift_trace,
    shift_square,
    alive,
    lr,
    weight_decay,
    momentum,
    corrections,
    tick,
    n_sgd,
    first,
    pace,
    BATCH: tl.constexpr,
    WIDTH: tl.constexpr,
    HAS_ADAM: tl.constexpr,
    MOVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Batch norm's running statistics follow the batch's; with MOVE its scale and shift move."""
    m = (first + tl.program_id(0)).to(tl.int64)
    c = tl.arange(0, BLOCK)
    v = m * WIDTH + c
    keep = (c < WIDTH) & (tl.load(alive + m) != 0)
    mean = tl.load(means + v, mask=keep, other=0.0)
    unbiased = tl.load(variances + v, mask=keep, other=0.0) * (BATCH / max(BATCH - 1, 1))
    old = tl.load(running_mean + v, mask=keep, other=0.0)
    tl.store(running_mean + v, old * (1 - pace) + mean * pace, mask=keep)
    old = tl.load(running_var + v, mask=keep, other=0.0)
    tl.store(running_var + v, old * (1 - pace) + unbiased * pace, mask=keep)
    if MOVE:
        there = n_sgd * WIDTH
        rule = (n_sgd, lr, weight_decay, momentum, corrections, tick)
        slope = tl.load(to_scale + v, mask=keep, other=0.0)
        _step(scale, scale_trace, scale_square - there, slope, v, keep, m, rule, HAS_ADAM)
        slope = tl.load(to_shift + v, mask=keep, other=0.0)
        _step(shift, shift_trace, shift_square - there, slope, v, keep, m, rule, HAS_ADAM)
