"""The Triton kernel of the losses: a member's whole batch in one program.

Every loss but CC's is Eq. (3) with weights from somewhere: stored ones (LW, and RC and PRODEN with
β = 0), 1/|s| (Average), all on the best candidate (Minimum, and CLPL with 1 outside).
"""

# mypy: ignore-errors

import triton
import triton.language as tl

FAR = tl.constexpr(-3.0e38)


@triton.jit
def _row_softmax(g, mask):
    """softmax over the entries of each row that the mask admits, 0 elsewhere; and logsumexp."""
    top = tl.max(tl.where(mask, g, FAR), 1)
    e = tl.where(mask, tl.exp(g - top[:, None]), 0.0)
    total = tl.sum(e, 1)
    share = e / tl.where(total > 0, total, 1.0)[:, None]
    return tl.where(total[:, None] == total[:, None], share, total[:, None]), top + tl.log(total)


@triton.jit
def _margin(t, PSI: tl.constexpr):
    """ψ(t) and ψ'(t) of a binary loss of the margin."""
    if PSI == "sigmoid":
        value = 1.0 / (1.0 + tl.exp(t))
        value = tl.where(t > 80.0, 0.0, value)
        slope = -value * (1.0 - value)
    elif PSI == "ramp":
        value = (1.0 - t) * 0.5
        slope = tl.where((value >= 0) & (value <= 1), -0.5, 0.0)
        value = tl.where(value < 0, 0.0, tl.where(value > 1, 1.0, value))
    elif PSI == "logistic":
        decay = tl.exp(-tl.abs(t))
        value = tl.where(t < 0, -t, 0.0) + tl.log(1.0 + decay)
        value = tl.where(t == t, value, t)
        slope = -tl.where(t < 0, 1.0, decay) / (1.0 + decay)
    elif PSI == "hinge":
        value = tl.where(t > 1, 0.0, 1.0 - t)
        slope = tl.where(t < 1, -1.0, 0.0)
    elif PSI == "squared_hinge":
        value = tl.where(t > 1, 0.0, 1.0 - t)
        slope = -2.0 * value
        value = value * value
    else:
        tl.static_assert(PSI == "exponential")
        slope = -tl.exp(tl.where(t < -30.0, 30.0, -t))
        value = -slope * (1.0 + tl.where(t < -30.0, -t - 30.0, 0.0))
    return value, slope


@triton.jit
def _cross_entropy(g, real, toward, away):
    """Loss rows and slopes of Σ toward_z (−log p_z) + Σ away_z (−log(1 − p_z))."""
    z = tl.arange(0, g.shape[1])
    p, lse = _row_softmax(g, real)
    is_top = (z[None, :] == tl.argmax(tl.where(real, g, FAR), 1)[:, None]) & real
    others = real & (is_top == 0)
    q, rest = _row_softmax(g, others)
    small = tl.where(is_top, 0.0, p)
    surprise = tl.where(is_top, (lse - rest)[:, None], -tl.log(1.0 - small))
    losses = tl.sum(toward * (lse[:, None] - g) + away * surprise, 1)
    odds = away * small / (1.0 - small)
    on_top = tl.sum(tl.where(is_top, away, 0.0), 1)[:, None]
    slopes = p * (tl.sum(toward, 1) - tl.sum(odds, 1))[:, None] - toward + odds
    return losses, slopes + on_top * (p - q)


@triton.jit
def _new_weights(g, inside, outside, BOTH: tl.constexpr):
    """softmax over s inside, and over the complement outside where both sides are wanted."""
    new, _ = _row_softmax(g, inside)
    if BOTH:
        other, _ = _row_softmax(g, outside)
        new += other
    return new


@triton.jit
def _load_rows(
    scores, rows, index, codes, first_code, own, m, sizes, K, BLOCK_B: tl.constexpr, BLOCK_K
):
    """Scores, candidates and other classes of a batch, all classes there are; and each one's place among
    the weights."""
    n_rows, batch, capacity, k_padded = sizes
    r, z = tl.arange(0, BLOCK_B), tl.arange(0, BLOCK_K)
    used = r < batch
    real = used[:, None] & (z < K)[None, :]
    g = tl.load(scores + (m * capacity + r)[:, None] * k_padded + z[None, :], mask=real, other=0.0)
    row = tl.load(index + m * capacity + r, mask=used, other=0).to(tl.int64)
    code = tl.load(codes + tl.load(first_code + m) + row, mask=used, other=0).to(tl.int64)
    inside = (((code[:, None] >> z[None, :].to(tl.int64)) & 1) == 1) & real
    outside = real & (inside == 0)
    row = tl.load(rows + m * capacity + r, mask=used, other=0).to(tl.int64)
    spot = (own * n_rows + row)[:, None] * K + z[None, :]
    return g, inside, outside, real, spot


@triton.jit
def batch_loss(
    scores,
    slopes,
    rows,
    index,
    codes,
    first_code,
    weights,
    alpha,
    beta,
    alive,
    totals,
    first,
    n_rows,
    batch,
    capacity,
    k_padded,
    K: tl.constexpr,
    KIND: tl.constexpr,
    PSI: tl.constexpr,
    REFRESH: tl.constexpr,
    BOTH: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Losses, slopes of their mean, new weights from the same scores, and the epoch's totals."""
    own = tl.program_id(0).to(tl.int64)
    m = own + first
    r, z = tl.arange(0, BLOCK_B), tl.arange(0, BLOCK_K)
    used = r < batch
    sizes = (n_rows, batch, capacity, k_padded)
    g, inside, outside, real, spot = _load_rows(
        scores, rows, index, codes, first_code, own, m, sizes, K, BLOCK_B, BLOCK_K
    )
    best = tl.argmax(tl.where(inside, g, FAR), 1)
    if KIND == "consistent":
        p, lse = _row_softmax(g, real)
        q, part = _row_softmax(g, inside)
        losses, slope = lse - part, p - q
    else:
        if KIND == "stored":
            w = tl.load(weights + spot, mask=real, other=0.0)
        elif KIND == "uniform":
            w = inside.to(tl.float32) / tl.sum(inside.to(tl.float32), 1)[:, None]
        else:
            w = tl.where(inside, (z[None, :] == best[:, None]).to(tl.float32), 1.0)
        toward = w * inside.to(tl.float32) * tl.load(alpha + own)
        away = w * outside.to(tl.float32) * tl.load(beta + own)
        if PSI == "cross_entropy":
            losses, slope = _cross_entropy(g, real, toward, away)
        else:
            value, rise = _margin(g, PSI)
            other, fall = _margin(-g, PSI)
            losses = tl.sum(tl.where(real, toward * value + away * other, 0.0), 1)
            slope = toward * rise - away * fall
    losses = tl.where(used, losses, 0.0)
    total = tl.sum(losses, 0)
    live = (tl.load(alive + m) != 0) & (tl.abs(total) < float("inf"))
    tl.store(alive + m, live)
    place = (m * capacity + r)[:, None] * k_padded + z[None, :]
    tl.store(slopes + place, (slope / batch).to(slopes.dtype.element_ty), mask=real)
    if REFRESH:
        tl.store(weights + spot, _new_weights(g, inside, outside, BOTH), mask=real & live)
    guess = tl.argmax(tl.where(real, g, FAR), 1)
    hit = tl.where(inside & (z[None, :] == guess[:, None]), 1.0, 0.0)
    covered = tl.sum(tl.sum(hit, 1), 0)
    tl.store(totals + 2 * m, tl.load(totals + 2 * m) + total.to(tl.float64))
    tl.store(totals + 2 * m + 1, tl.load(totals + 2 * m + 1) + covered.to(tl.float64))


@triton.jit
def new_weights(
    scores,
    rows,
    index,
    codes,
    first_code,
    weights,
    alive,
    first,
    n_rows,
    batch,
    capacity,
    k_padded,
    K: tl.constexpr,
    BOTH: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """New weights of the batch's rows, from the scores of a second pass."""
    own = tl.program_id(0).to(tl.int64)
    m = own + first
    sizes = (n_rows, batch, capacity, k_padded)
    g, inside, outside, real, spot = _load_rows(
        scores, rows, index, codes, first_code, own, m, sizes, K, BLOCK_B, BLOCK_K
    )
    live = tl.load(alive + m) != 0
    tl.store(weights + spot, _new_weights(g, inside, outside, BOTH), mask=real & live)
