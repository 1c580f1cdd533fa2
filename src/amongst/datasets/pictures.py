"""Set sizes and co-occurrence of candidates: computed here, drawn by whoever wants to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets, co_occurrence, uniform
from amongst.datasets.dataset import Dataset
from amongst.errors import InputError
from amongst.optional import optional_import

__all__ = ["Picture", "draw_picture", "picture"]

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
    target = Path(path)
    if target.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"path={str(path)!r} must end in .png, .svg or .pdf.")
    figures = optional_import("matplotlib.figure", extra="plot", purpose="drawing candidate sets")
    figure = figures.Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _draw_sizes(left, drawn)
    _draw_shares(figure, right, drawn)
    figure.suptitle(drawn.title)
    try:
        figure.savefig(target, dpi=150)
    except (OSError, ValueError) as error:
        raise InputError(f"path={str(path)!r} cannot be written: {error}") from error
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
