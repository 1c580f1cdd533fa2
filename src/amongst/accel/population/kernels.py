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
    batch,
    capacity,
    stride,
    WIDTH: tl.constexpr,
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
    if subset is not None:
        index = tl.load(subset + m * n_rows + row, mask=used, other=0)
    tl.store(rows_out + m * capacity + r, row.to(tl.int32), mask=used)
    tl.store(index_out + m * capacity + r, index.to(tl.int32), mask=used)
    for start in range(0, WIDTH, BLOCK_D):
        d = start + tl.arange(0, BLOCK_D)
        real = used[:, None] & (d < n_columns)[None, :]
        x = tl.load(values + index[:, None] * n_columns + d[None, :], mask=real, other=0)
        x = x.to(tl.float32)
        if shift is not None:
            x = x - tl.load(shift + d, mask=d < n_columns, other=0.0)[None, :]
        if scale is not None:
            x = x / tl.load(scale + d, mask=d < n_columns, other=1.0)[None, :]
        x = tl.where(real, x, 0.0)
        place = (m * capacity + r)[:, None] * WIDTH + d[None, :]
        tl.store(out + place, x.to(out.dtype.element_ty), mask=used[:, None] & (d < WIDTH)[None, :])


@triton.jit
def _product(x, w, rows, columns, n_rows, n_inner, n_columns, down, across, PRECISION, BLOCK_K):
    """Σ_k x[row, k] w[k, column] of one member; in w the next k is `down` places on, the next column
    `across`."""
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((rows.shape[0], columns.shape[0]), dtype=tl.float32)
    for start in range(0, n_inner, BLOCK_K):
        inner = start + k
        known = (rows < n_rows)[:, None] & (inner < n_inner)[None, :]
        a = tl.load(x + rows[:, None] * n_inner + inner[None, :], mask=known, other=0.0)
        known = (inner < n_inner)[:, None] & (columns < n_columns)[None, :]
        b = tl.load(w + inner[:, None] * down + columns[None, :] * across, mask=known, other=0.0)
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
    means,
    variances,
    first,
    eps,
    BATCH: tl.constexpr,
    CAPACITY: tl.constexpr,
    FAN_IN: tl.constexpr,
    FAN_OUT: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Product, batch norm with the batch's statistics, ReLU."""
    m = (first + tl.program_id(1)).to(tl.int64)
    r = tl.arange(0, BLOCK_B)
    c = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    used, real = r < BATCH, c < FAN_OUT
    v = m * FAN_OUT + c
    own, weight = x + m * CAPACITY * FAN_IN, w + m * FAN_IN * FAN_OUT
    h = _product(own, weight, r, c, BATCH, FAN_IN, FAN_OUT, FAN_OUT, 1, PRECISION, BLOCK_K)
    mean = tl.sum(h, 0) / BATCH
    h = tl.where(used[:, None], h - mean[None, :], 0.0)
    variance = tl.sum(h * h, 0) / BATCH
    tl.store(means + v, mean, mask=real)
    tl.store(variances + v, variance, mask=real)
    h = h * (1.0 / tl.sqrt(variance + eps))[None, :]
    here = m * CAPACITY * FAN_OUT
    place = r[:, None] * FAN_OUT + c[None, :]
    inside = used[:, None] & real[None, :]
    tl.store((normal + here) + place, h.to(normal.dtype.element_ty), mask=inside)
    g = tl.load(scale + v, mask=real, other=0.0)
    b = tl.load(shift + v, mask=real, other=0.0)
    y = h * g[None, :] + b[None, :]
    y = tl.where(y < 0, 0.0, y)
    tl.store((active + here) + place, y.to(active.dtype.element_ty), mask=inside)


@triton.jit
def head_scores(
    x,
    w,
    bias,
    scores,
    first,
    BATCH: tl.constexpr,
    CAPACITY: tl.constexpr,
    FAN_IN: tl.constexpr,
    FAN_OUT: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """The last, affine layer: scores in float32."""
    m = (first + tl.program_id(1)).to(tl.int64)
    r = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    c = tl.arange(0, BLOCK_N)
    own, weight = x + m * CAPACITY * FAN_IN, w + m * FAN_IN * FAN_OUT
    total = _product(own, weight, r, c, BATCH, FAN_IN, FAN_OUT, FAN_OUT, 1, PRECISION, BLOCK_K)
    total += tl.load(bias + m * FAN_OUT + c, mask=c < FAN_OUT, other=0.0)[None, :]
    place = r[:, None] * FAN_OUT + c[None, :]
    inside = (r < BATCH)[:, None] & (c < FAN_OUT)[None, :]
    tl.store((scores + m * CAPACITY * FAN_OUT) + place, total, mask=inside)


@triton.jit
def backward_layer(
    slopes,
    w,
    normal,
    variances,
    scale,
    shift,
    out,
    to_scale,
    to_shift,
    eps,
    BATCH: tl.constexpr,
    CAPACITY: tl.constexpr,
    FAN_IN: tl.constexpr,
    FAN_OUT: tl.constexpr,
    PRECISION: tl.constexpr,
    EARLY: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Slopes of a layer's output through its weight, ReLU and batch norm.

    `w` (FAN_IN × FAN_OUT) leads from this layer, of width FAN_IN, to the next.
    """
    m = tl.program_id(1).to(tl.int64)
    r = tl.arange(0, BLOCK_B)
    c = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    used, real = r < BATCH, c < FAN_IN
    v = m * FAN_IN + c
    here = m * CAPACITY * FAN_IN
    place = r[:, None] * FAN_IN + c[None, :]
    inside = used[:, None] & real[None, :]
    if EARLY:
        h = tl.load((normal + here) + place, mask=inside, other=0.0)
    own, weight = slopes + m * CAPACITY * FAN_OUT, w + m * FAN_IN * FAN_OUT
    total = _product(own, weight, r, c, BATCH, FAN_OUT, FAN_IN, 1, FAN_OUT, PRECISION, BLOCK_K)
    if not EARLY:
        h = tl.load((normal + here) + place, mask=inside, other=0.0)
    h = h.to(tl.float32)
    g = tl.load(scale + v, mask=real, other=0.0)
    b = tl.load(shift + v, mask=real, other=0.0)
    total = tl.where(inside & (h * g[None, :] + b[None, :] > 0), total, 0.0)
    sums, products = tl.sum(total, 0), tl.sum(total * h, 0)
    tl.store(to_shift + v, sums, mask=real)
    tl.store(to_scale + v, products, mask=real)
    total -= (sums[None, :] + h * products[None, :]) * (1.0 / BATCH)
    variance = tl.load(variances + v, mask=real, other=1.0)
    total *= (g / tl.sqrt(variance + eps))[None, :]
    tl.store((out + here) + place, total.to(out.dtype.element_ty), mask=inside)
