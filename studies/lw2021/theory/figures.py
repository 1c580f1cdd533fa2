"""The plots of the theory page, each as an SVG in a light and in a dark dress."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import case, class_dependent
from amongst.optional import optional_import
from amongst.theory.estimate import ClassRates, estimate_class_q
from amongst.theory.risk import corrected_risk, exact_risk, fixed_weights, printed_risk
from lw2021.theory.summary import TOPS, RegionMap, region_map, threshold_table
from lw2021.theory.verification import random_rows

__all__ = ["DRESSES", "Dress", "Figure", "figures"]

BETA_TICKS = (0.1, 1, 10, 100)
MAP_BETAS = np.geomspace(0.1, 100, 19)
MAP_QS = np.linspace(0.05, 0.95, 16)
KINDS = {
    "equal": "w = 1",
    "initial": "w = 1/|s|, 1/(K−|s|)",
    "following": "w follows scores",
    "misled": "follows, wrong start",
}


@dataclass(frozen=True)
class Dress:
    """Colours of a plot on a light or a dark page."""

    ink: str
    faint: str
    paper: str
    hues: tuple[str, str, str]
    shades: tuple[str, ...]


DRESSES = {
    "light": Dress(
        ink="#1f2328",
        faint="#8a929c",
        paper="#ffffff",
        hues=("#1f6fc9", "#c8500a", "#12805c"),
        shades=("#f0f1f3", "#c9dcf2", "#93bbe6", "#4f90d3", "#1459a6"),
    ),
    "dark": Dress(
        ink="#e6e8eb",
        faint="#8d96a1",
        paper="#16191d",
        hues=("#6aaef5", "#f59454", "#4cc79a"),
        shades=("#24282e", "#1f3f63", "#2a6099", "#4489cf", "#8cc0f5"),
    ),
}


@dataclass(frozen=True)
class Figure:
    """A plot with its words; `draw(axes_maker, dress)` fills a matplotlib figure."""

    title: str
    caption: str
    alt: str
    draw: Callable[[Any, Dress], None]
    size: tuple[float, float] = (9.0, 3.6)

    def svg(self, dress: Dress) -> bytes:
        """The plot as SVG in that dress."""
        matplotlib = optional_import("matplotlib", extra="plot", purpose="drawing the theory page")
        maker = optional_import("matplotlib.figure", extra="plot", purpose="drawing")
        with matplotlib.rc_context(_style(dress)):
            figure = maker.Figure(figsize=self.size, layout="constrained")
            self.draw(figure, dress)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()


def figures() -> list[Figure]:
    """All plots of the page, in order; each computes when it is drawn."""
    return [
        Figure(
            "The erratum, drawn",
            "Conditional risk of one problem (K = 5, sigmoid, β = 2, fixed weights) against a "
            "uniform q. Enumeration of all sets lies on the corrected form; the printed form "
            "meets it at q = 1/2 only.",
            "Risk against q: enumerated points lie on the corrected line; the printed line is far "
            "steeper and crosses it at one half.",
            _draw_erratum,
        ),
        Figure(
            "What β has to exceed",
            "K = 10. Left, margin losses: between the early threshold and one-versus-all a label "
            "rises when it should, before the scores have spoken; auto stays inside. Right, "
            "cross-entropy form: the odds q/(1−q), the reversal β, and auto.",
            "Two panels of beta against q on a log scale, with the automatic beta inside the "
            "window on the left and above the reversal line on the right.",
            _draw_thresholds,
        ),
        Figure(
            "Theorem 2: where the top score is the Bayes label",
            f"K = 5, uniform q. Colour: on how many of {len(TOPS)} posteriors (largest entry "
            f"{', '.join(map(str, TOPS))}) the minimiser ranks the Bayes label first, alone. The "
            "paper claims all of them for every β > 0 and symmetric ψ.",
            "Eight maps over q and beta: for the sigmoid a band agrees, for cross entropy all.",
            _draw_regions,
            (9.0, 5.2),
        ),
        Figure(
            "q from the candidate sets",
            "Class-dependent rates by EM from 20,000 sets and a calibrated posterior, K = 6, with "
            "intervals of two standard errors; no true label is used.",
            "Estimated against true rates with error bars, along the diagonal.",
            _draw_rates,
        ),
    ]


def _style(dress: Dress) -> dict[str, Any]:
    plain = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    sizes = {"font.size": 10, "axes.titlesize": 10.5, "lines.linewidth": 1.8}
    inked = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor")
    papers = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    return {
        **plain,
        **sizes,
        **dict.fromkeys(inked, dress.ink),
        **dict.fromkeys(papers, dress.paper),
        "axes.edgecolor": dress.faint,
        "svg.hashsalt": "amongst",
    }


def _draw_erratum(figure: Any, dress: Dress) -> None:
    rng = np.random.default_rng(3)
    g, w, beta = rng.normal(0, 1.5, 5), rng.uniform(0.5, 1.5, 5), 2.0
    qs = np.linspace(0, 1, 41)
    axes = figure.subplots()
    exact = [float(exact_risk(fixed_weights(w, "sigmoid", beta), g, q, 0)) for q in qs[::4]]
    right = [float(corrected_risk(g, w, q, 0, beta)) for q in qs]
    printed = [float(printed_risk(g, w, q, 0, beta)) for q in qs]
    axes.plot(qs, right, color=dress.hues[0], label="corrected form")
    axes.plot(qs, printed, color=dress.hues[1], ls="--", label="as printed")
    axes.plot(
        qs[::4], exact, "o", color=dress.ink, ms=5, clip_on=False, zorder=3, label="enumeration"
    )
    axes.axvline(0.5, color=dress.faint, lw=0.8)
    axes.set(xlabel="q", ylabel="risk given y", xlim=(0, 1))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_thresholds(figure: Any, dress: Dress) -> None:
    qs = np.linspace(0.02, 0.96, 95)
    rows = threshold_table(10, qs.tolist())

    def line(name: str) -> list[float]:
        return [max(getattr(row, name), 1e-3) for row in rows]

    left, right = figure.subplots(1, 2, sharey=True)
    window = dress.shades[1]
    left.fill_between(qs, line("early"), line("one_vs_all"), color=window, lw=0, label="window")
    left.plot(qs, line("neutral"), color=dress.faint, lw=1.2, ls=":", label="neutral")
    left.plot(qs, line("sigmoid"), color=dress.hues[0], label="auto")
    left.plot(qs, line("odds"), color=dress.hues[1], lw=1.2, ls="--", label="odds q/(1−q)")
    right.plot(qs, line("odds"), color=dress.hues[1], lw=1.2, ls="--", label="odds q/(1−q)")
    right.plot(qs, line("reversal"), color=dress.hues[2], lw=1.2, ls="-.", label="reversal")
    right.plot(qs, line("cross_entropy"), color=dress.hues[0], label="auto")
    left.set(title="margin losses (sigmoid)", ylabel="β", yscale="log", ylim=(0.05, 100))
    right.set(title="cross-entropy form")
    for axes in (left, right):
        axes.set_xlabel("q")
        axes.legend(loc="upper left", fontsize=9)


@cache
def _region(psi: str, weights: str) -> RegionMap:
    return region_map(psi, weights, MAP_BETAS, MAP_QS)


def _draw_regions(figure: Any, dress: Dress) -> None:
    colors = optional_import("matplotlib.colors", extra="plot", purpose="drawing")
    shades = colors.ListedColormap(dress.shades[: len(TOPS) + 1])
    grid = figure.subplots(2, len(KINDS), sharex=True, sharey=True)
    for row, psi in zip(grid, ("sigmoid", "cross_entropy"), strict=True):
        for axes, weights in zip(row, KINDS, strict=True):
            counts, top = _region(psi, weights).counts, len(TOPS) + 0.5
            mesh = axes.pcolormesh(
                MAP_QS, MAP_BETAS, counts, cmap=shades, vmin=-0.5, vmax=top, rasterized=True
            )
            axes.set(yscale="log", yticks=BETA_TICKS, xticks=(0.1, 0.5, 0.9))
        row[0].set_ylabel(f"{psi.replace('_', ' ')}\nβ")
    for axes, words in zip(grid[0], KINDS.values(), strict=True):
        axes.set_title(words, fontsize=9.5)
    for axes in grid[-1]:
        axes.set_xlabel("q")
    bar = figure.colorbar(mesh, ax=grid, ticks=range(len(TOPS) + 1), shrink=0.6)
    bar.set_label("posteriors that agree")
    bar.outline.set_visible(False)


@cache
def _rates() -> dict[str, tuple[npt.NDArray[np.float64], ClassRates]]:
    """The true rates and their estimates, by name."""
    rng, k = np.random.default_rng(0), 6
    p, y = random_rows(rng, k, 20_000)
    off = ~np.eye(k, dtype=bool)
    random = np.where(off, rng.random((k, k)), 1.0)
    named = {"case 3": case(3, k), "q = 0.9": np.where(off, 0.9, 1.0), "random rates": random}
    drawn = {name: class_dependent(y, Q, classes=range(k), seed=1) for name, Q in named.items()}
    return {name: (Q, estimate_class_q(drawn[name], p)) for name, Q in named.items()}


def _draw_rates(figure: Any, dress: Dress) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (name, (Q, found)) in zip(panels, _rates().items(), strict=True):
        off = ~np.eye(len(Q), dtype=bool)
        spread = np.linspace(-0.02, 0.02, off.sum()) * (name != "random rates")
        axes.plot([0, 1], [0, 1], color=dress.faint, lw=0.8)
        axes.errorbar(
            Q[off] + spread,
            found.matrix[off],
            2 * found.standard_error[off],
            fmt="o",
            ms=3,
            lw=0.9,
            color=dress.hues[0],
        )
        axes.set(title=name, xlabel="true rate", xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
        axes.set_box_aspect(1)
    panels[0].set_ylabel("estimated rate")
