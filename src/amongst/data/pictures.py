"""Set sizes and co-occurrence of candidates: computed here, drawn by whoever wants to; and rows that are
images, with what was chosen for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets, co_occurrence, uniform
from amongst.data.dataset import Dataset
from amongst.errors import InputError
from amongst.optional import optional_import

MOST_TICKS = 30


@dataclass(frozen=True, eq=False)
class Picture:
    """What is drawn of candidate sets.

    Attributes
    ----------
    title : whose sets they are, and whether they were generated.
    size_counts : (K+1,) rows that have 0, 1, …, K candidates.
    shares : (K, K) P(k ∈ s | j ∈ s), the share of j's rows that also have k; 0 where j never
        occurs.
    counts : (K, K) rows that have both j and k.
    class_names : K names.
    """

    title: str
    size_counts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    class_names: tuple[str, ...]

    def pairs(self, most: int = 8) -> list[tuple[str, str, int, float]]:
        """(j, k, rows with both, larger share of the two) of the pairs that share most rows.

        >>> from amongst import as_candidates
        >>> picture(as_candidates(["a|b", "a|b", "b|c"]), "three rows").pairs(1)
        [('a', 'b', 2, 1.0)]
        """
        above = np.triu(self.counts, k=1)
        order = np.argsort(above, axis=None, kind="stable")[::-1][:most]
        places = zip(*np.unravel_index(order, above.shape), strict=True)
        return [
            (
                self.class_names[j],
                self.class_names[k],
                int(above[j, k]),
                float(max(self.shares[j, k], self.shares[k, j])),
            )
            for j, k in places
            if above[j, k]
        ]


def picture(
    source: Dataset | CandidateSets, title: str | None = None, *, q: float = 0.3, seed: int = 0
) -> Picture:
    """Compute what `draw_picture` and the terminal show.

    Parameters
    ----------
    source : candidate sets, or a dataset; where that has none they are generated from its true
        labels, uniformly with probability `q`, and the title says so.
    title : None to make one.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> picture(as_candidates(["a|b", "a"]), "two rows").size_counts
    array([0, 1, 1])
    """
    sets, default, names = _sets(source, q, seed)
    counts = co_occurrence(sets)
    total = np.diag(counts)
    shares = counts / np.maximum(total, 1)[:, None]
    sizes = np.bincount(sets.sizes, minlength=sets.n_classes + 1)
    return Picture(title or default, sizes, shares, counts, names)


def draw_picture(drawn: Picture, path: str | Path) -> Path:
    """Write a picture as a file; the ending says the format (.png, .svg, .pdf).

    Needs matplotlib.

    >>> import tempfile
    >>> from amongst import as_candidates
    >>> drawn = picture(as_candidates(["a|b", "b"]), "two rows")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_picture(drawn, f"{folder}/sets.svg").name
    'sets.svg'
    """
    target = _drawable(path)
    figures = optional_import("matplotlib.figure", extra="plot", purpose="drawing candidate sets")
    figure = figures.Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_sizes(left, drawn)
    _draw_shares(figure, right, drawn)
    figure.suptitle(drawn.title)
    return _saved(figure, target)


def rows_to_draw(confidence: npt.NDArray[Any], most: int = 24) -> npt.NDArray[np.intp]:
    """So many rows, evenly from the least sure to the surest."""
    order = np.argsort(confidence, kind="stable")
    rows: npt.NDArray[np.intp] = order[np.unique(np.linspace(0, len(order) - 1, most).astype(int))]
    return rows


def draw_rows(
    X: npt.NDArray[Any],
    candidates: CandidateSets,
    answer: pd.DataFrame,
    path: str | Path,
    most: int = 24,
) -> Path:
    """Write a picture of some rows that are images: what was chosen, how sure that is, and the other
    candidates.

    Parameters
    ----------
    X : bytes, shape (n, channels, height, width).
    candidates : of the n rows.
    answer : what `disambiguate` gives.
    """
    target = _drawable(path)
    figures = optional_import("matplotlib.figure", extra="plot", purpose="drawing rows")
    rows = rows_to_draw(answer["confidence"].to_numpy(), most)
    wide = min(6, len(rows))
    tall = -(-len(rows) // wide)
    figure = figures.Figure(figsize=(2.1 * wide, 2.6 * tall), layout="constrained")
    for place, row in enumerate(rows):
        axes = figure.add_subplot(tall, wide, place + 1)
        pixels = X[row].transpose(1, 2, 0)
        axes.imshow(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels, cmap="gray")
        axes.set_axis_off()
        chosen, sure = answer["label"].iloc[row], answer["confidence"].iloc[row]
        others = [str(label) for label in candidates[int(row)].to_lists()[0] if label != chosen]
        axes.set_title(f"{chosen} {sure:.0%}", fontsize=10, fontweight="bold", parse_math=False)
        told = _shortened(", ".join(others)) or "no other"
        axes.text(
            0.5,
            -0.02,
            told,
            ha="center",
            va="top",
            fontsize=7,
            transform=axes.transAxes,
            parse_math=False,
        )
    return _saved(figure, target)


def _shortened(text: str, most: int = 34) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _drawable(path: str | Path) -> Path:
    target = Path(path)
    if target.suffix not in (".png", ".svg", ".pdf"):
        problem = "must end in .png, .svg or .pdf."
        raise InputError(problem, code="ending", argument="path", got=str(path))
    return target


def _saved(figure: Any, target: Path) -> Path:
    try:
        figure.savefig(target, dpi=150)
    except (OSError, ValueError) as error:
        problem = f"cannot be written: {error}"
        raise InputError(problem, code="unwritable", argument="path", got=str(target)) from error
    return target


def _sets(
    source: Dataset | CandidateSets, q: float, seed: int
) -> tuple[CandidateSets, str, tuple[str, ...]]:
    if isinstance(source, CandidateSets):
        return source, f"{len(source):,} rows", tuple(map(str, source.classes.tolist()))
    rows = slice(None, source.n_train)
    if source.candidates is not None:
        return source.candidates, f"{source.name}, its candidate sets", source.class_names
    sets = uniform(source.labels[rows], q, classes=source.classes.tolist(), seed=seed)
    return sets, f"{source.name}, generated candidates (uniform, q = {q:g})", source.class_names


def _draw_sizes(axes: Any, drawn: Picture) -> None:
    last = int(np.flatnonzero(drawn.size_counts)[-1]) if drawn.size_counts.any() else 1
    sizes = np.arange(1, last + 1)
    bars = axes.bar(sizes, drawn.size_counts[1 : last + 1], color="#3b6ea5")
    if last <= 12:
        axes.bar_label(bars, fmt="{:,.0f}", fontsize=8)
        axes.set_xticks(sizes)
    mean = float((np.arange(len(drawn.size_counts)) * drawn.size_counts).sum())
    mean /= max(int(drawn.size_counts.sum()), 1)
    axes.axvline(mean, color="#c0504d", linestyle="--", linewidth=1, label=f"mean {mean:.2f}")
    axes.legend(frameon=False)
    axes.set(xlabel="candidates of a row", ylabel="rows", title="Set sizes")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_shares(figure: Any, axes: Any, drawn: Picture) -> None:
    shown = drawn.shares.copy()
    np.fill_diagonal(shown, np.nan)
    image = axes.imshow(shown, cmap="magma_r", vmin=0, aspect="equal", interpolation="nearest")
    figure.colorbar(image, ax=axes, label="share of j's rows that also have k")
    axes.set(xlabel="k", ylabel="j", title="Co-occurrence of candidates")
    if len(drawn.class_names) <= MOST_TICKS:
        places = range(len(drawn.class_names))
        turned = 90 if max(map(len, drawn.class_names)) > 2 else 0
        axes.set_xticks(places, drawn.class_names, rotation=turned, fontsize=8)
        axes.set_yticks(places, drawn.class_names, fontsize=8)
