"""Triton kernels of the fused path: one program holds a member's whole batch.

A tile has all rows of a batch (at most 256) and some columns of a layer, so that batch norm's
statistics never leave the program; and a tile of a weight's gradient is turned into the new weight
where it was computed, so that gradients never reach memory. Sizes: `capacity` rows are allocated
for each member's activations, `batch` of them are in use; stacked tensors are contiguous.

Only imported where Triton is installed.
"""

# mypy: ignore-errors

import triton
import triton.language as tl

from amongst.engine.population.update_kernels import optimizer_step

__all__ = ["backward_layer", "forward_layer", "gather_rows", "head_scores"]


@triton.jit
def gather_rows(
    values,
    shift,
    scale,
    order,
    subset,
    tick,
    rows_out,
    index_out,
    out,
    n_rows,
    n_columns,
    width,
    batch,
    capacity,
    stride,
    HAS_SUBSET: tl.constexpr,
    HAS_SHIFT: tl.constexpr,
    HAS_SCALE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Draw the next rows of a member and write what the network sees of them."""
    m = tl.program_id(1).to(tl.int64)
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    used = r < batch
    begin = tl.load(tick) * stride
    row = tl.load(order + m * n_rows + begin + r, mask=used, other=0).to(tl.int64)
    index = row
    if HAS_SUBSET:
        index = tl.load(subset + m * n_rows + row, mask=used, other=0)
    tl.store(rows_out + m * capacity + r, row.to(tl.int32), mask=used)
    tl.store(index_out + m * capacity + r, index.to(tl.int32), mask=used)
    for start in range(0, width, BLOCK_D):
        d = start + tl.arange(0, BLOCK_D)
        real = used[:, None] & (d < n_columns)[None, :]
        x = tl.load(values + index[:, None] * n_columns + d[None, :], mask=real, other=0)
        x = x.to(tl.float32)
        if HAS_SHIFT:
            x = x - tl.load(shift + d, mask=d < n_columns, other=0.0)[None, :]
        if HAS_SCALE:
            x = x / tl.load(scale + d, mask=d < n_columns, other=1.0)[None, :]
        x = tl.where(real, x, 0.0)
        place = (m * capacity + r)[:, None] * width + d[None, :]
        tl.store(out + place, x.to(out.dtype.element_ty), mask=used[:, None] & (d < width)[None, :])


@triton.jit
def _product(
    x, w, rows, columns, batch, fan_in, fan_out, PRECISION: tl.constexpr, BLOCK_K: tl.constexpr
):
    """Σ_k x[row, k] w[k, column] over one member's x (rows × fan_in) and w (fan_in × fan_out)."""
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((rows.shape[0], columns.shape[0]), dtype=tl.float32)
    for start in range(0, fan_in, BLOCK_K):
        inner = start + k
        a = tl.load(
            x + rows[:, None] * fan_in + inner[None, :],
            mask=(rows < batch)[:, None] & (inner < fan_in)[None, :],
            other=0.0,
        )
        b = tl.load(
            w + inner[:, None] * fan_out + columns[None, :],
            mask=(inner < fan_in)[:, None] & (columns < fan_out)[None, :],
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
    return total


@triton.jit
def forward_layer(
    x,
    w,
    scale,
    shift,
    active,
    normal,
    spread,
    running_mean,
    running_var,
    alive,
    first,
    batch,
    capacity,
    fan_in,
    fan_out,
    momentum,
    eps,
    PRECISION: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Product, batch norm with the batch's statistics, ReLU; the running statistics follow."""
    m = (first + tl.program_id(1)).to(tl.int64)
    r = tl.arange(0, BLOCK_B)
    c = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    used, real = r < batch, c < fan_out
    h = _product(
        x + m * capacity * fan_in,
        w + m * fan_in * fan_out,
        r,
        c,
        batch,
        fan_in,
        fan_out,
        PRECISION,
        BLOCK_K,
    )
    mean = tl.sum(h, 0) / batch
    h = tl.where(used[:, None], h - mean[None, :], 0.0)
    variance = tl.sum(h * h, 0) / batch
    rstd = 1.0 / tl.sqrt(variance + eps)
    h = h * rstd[None, :]
    v = m * fan_out + c
    g = tl.load(scale + v, mask=real, other=0.0)
    b = tl.load(shift + v, mask=real, other=0.0)
    y = h * g[None, :] + b[None, :]
    y = tl.where(y < 0, 0.0, y)
    place = r[:, None] * fan_out + c[None, :]
    here = m * capacity * fan_out
    inside = used[:, None] & real[None, :]
    tl.store(normal + here + place, h.to(normal.dtype.element_ty), mask=inside)
    tl.store(active + here + place, y.to(active.dtype.element_ty), mask=inside)
    tl.store(spread + v, rstd, mask=real)
    keep = real & (tl.load(alive + m) != 0) & (variance < float("inf"))
    unbiased = variance * (batch / tl.maximum(batch - 1, 1))
    old = tl.load(running_mean + v, mask=keep, other=0.0)
    tl.store(running_mean + v, old * (1 - momentum) + mean * momentum, mask=keep)
    old = tl.load(running_var + v, mask=keep, other=0.0)
    tl.store(running_var + v, old * (1 - momentum) + unbiased * momentum, mask=keep)


@triton.jit
def head_scores(
    x,
    w,
    bias,
    scores,
    first,
    batch,
    capacity,
    fan_in,
    fan_out,
    PRECISION: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """The last, affine layer: scores in float32."""
    m = (first + tl.program_id(1)).to(tl.int64)
    r = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    c = tl.arange(0, BLOCK_N)
    total = _product(
        x + m * capacity * fan_in,
        w + m * fan_in * fan_out,
        r,
        c,
        batch,
        fan_in,
        fan_out,
        PRECISION,
        BLOCK_K,
    )
    total += tl.load(bias + m * fan_out + c, mask=c < fan_out, other=0.0)[None, :]
    place = (m * capacity + r)[:, None] * fan_out + c[None, :]
    tl.store(scores + place, total, mask=(r < batch)[:, None] & (c < fan_out)[None, :])


@triton.jit
def backward_layer(
    slopes,
    w,
    normal,
    spread,
    out,
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
    batch,
    capacity,
    fan_in,
    fan_out,
    HAS_ADAM: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Slopes of a layer's output through its weight, ReLU and batch norm; scale and shift move.

    `w` (fan_in × fan_out) leads from this layer, of width fan_in, to the next.
    """
    m = tl.program_id(1).to(tl.int64)
    r = tl.arange(0, BLOCK_B)
    c = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    used, real = r < batch, c < fan_in
    total = tl.zeros((BLOCK_B, BLOCK_N), dtype=tl.float32)
    source = slopes + m * capacity * fan_out
    weight = w + m * fan_in * fan_out
    for start in range(0, fan_out, BLOCK_K):
        inner = start + k
        a = tl.load(
            source + r[:, None] * fan_out + inner[None, :],
            mask=used[:, None] & (inner < fan_out)[None, :],
            other=0.0,
        )
        b = tl.load(
            weight + c[None, :] * fan_out + inner[:, None],
            mask=(inner < fan_out)[:, None] & real[None, :],
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
    v = m * fan_in + c
    place = r[:, None] * fan_in + c[None, :]
    here = m * capacity * fan_in
    inside = used[:, None] & real[None, :]
    g = tl.load(scale + v, mask=real, other=0.0)
    b = tl.load(shift + v, mask=real, other=0.0)
    h = tl.load(normal + here + place, mask=inside, other=0.0).to(tl.float32)
    total = tl.where(inside & (h * g[None, :] + b[None, :] > 0), total, 0.0)
    to_shift = tl.sum(total, 0)
    to_scale = tl.sum(total * h, 0)
    total -= (to_shift[None, :] + h * to_scale[None, :]) / batch
    total *= (g * tl.load(spread + v, mask=real, other=0.0))[None, :]
    tl.store(out + here + place, total.to(out.dtype.element_ty), mask=inside)
    keep = real & (tl.load(alive + m) != 0)
    optimizer_step(
        scale,
        scale_trace,
        scale_square,
        c,
        keep,
        to_scale,
        m,
        fan_in,
        n_sgd,
        lr,
        weight_decay,
        momentum,
        corrections,
        tick,
        HAS_ADAM,
    )
    optimizer_step(
        shift,
        shift_trace,
        shift_square,
        c,
        keep,
        to_shift,
        m,
        fan_in,
        n_sgd,
        lr,
        weight_decay,
        momentum,
        corrections,
        tick,
        HAS_ADAM,
    )
