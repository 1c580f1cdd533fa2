"""Judging `auto_beta` on a sweep of fixed β: a table, a refit of its constants, a heat map.

A sweep is a CSV with the columns `COLUMNS`, one row for each trained model, accuracy in per cent.
Rows that were trained with β = auto may stand beside the fixed ones, marked by ``rule`` = "auto".
Each cell takes its best learning rate, by the mean over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import
from amongst.theory import size_law
from amongst.theory.auto import AUTO, AutoRule, beta_from_sizes

__all__ = [
    "COLUMNS",
    "cells",
    "compare",
    "draw_sweep",
    "fit_rule",
    "read_sweep",
    "to_markdown",
]

Array = npt.NDArray[np.float64]

COLUMNS = ("dataset", "psi", "q", "beta", "lr", "seed", "accuracy")
PROBLEM = ["dataset", "psi", "q"]
K = 10
"""Classes of the data that are swept."""
SMALL = (1.0, 2.0)
RULES = [
    AutoRule(lift, scale, floor, cap, low)
    for lift, scale, floor, cap, low in product(
        (1.0, 1.25, 1.5, 2.0, 2.5, 3.0), (1.0, 2.0, 3.0, 4.0, 6.0, 8.0), (1.0, 2.0, 4.0, 8.0, 16.0), (16.0, 32.0, 64.0),
        (1.25, 1.5, 1.75, 2.0, 2.5),
    )
]  # fmt: skip
"""The constants among which `fit_rule` chooses."""


def read_sweep(path: str | PathLike[str]) -> pd.DataFrame:
    """The rows of a sweep, checked; a column ``rule`` is added where it is missing."""
    try:
        frame = pd.read_csv(path)
    except FileNotFoundError as error:
        raise DataNotFoundError(
            f"there is no sweep at {path}; run studies/beta_sweep.py."
        ) from error
    missing = [column for column in COLUMNS if column not in frame]
    if missing:
        raise FileFormatError(
            f"{path} lacks the columns {', '.join(missing)}; a sweep has {', '.join(COLUMNS)}."
        )
    if "rule" not in frame:
        frame["rule"] = "fixed"
    bad = ~np.isfinite(frame[["q", "beta", "lr", "accuracy"]].to_numpy(dtype=float)).all(axis=1)
    if bad.any():
        raise FileFormatError(f"{path}: row {int(np.argmax(bad)) + 2} has a missing number.")
    return frame


def cells(frame: pd.DataFrame, rule: str = "fixed") -> pd.DataFrame:
    """Mean and standard deviation over seeds at the best learning rate of each cell.

    A cell is one (dataset, ψ, q, β); with ``rule="auto"`` one (dataset, ψ, q), its β the mean.

    Returns
    -------
    DataFrame with dataset, psi, q, beta, lr, mean, std, n.
    """
    rows = frame[frame["rule"] == rule]
    key = [*PROBLEM, "beta"] if rule == "fixed" else PROBLEM
    grouped = rows.groupby([*key, "lr"], as_index=False)
    found = grouped.agg(
        mean=("accuracy", "mean"),
        std=("accuracy", "std"),
        n=("accuracy", "size"),
        mean_beta=("beta", "mean"),
    )
    found["beta"] = found.pop("mean_beta")
    best = found.loc[found.groupby(key)["mean"].idxmax()] if len(found) else found
    return best.reset_index(drop=True)


def _between(column: pd.DataFrame, name: str, beta: float) -> float:
    """A value at a β between those of the sweep, linear in log β; ends are held.

    >>> column = pd.DataFrame({"beta": [1.0, 4.0], "mean": [90.0, 94.0]})
    >>> round(_between(column, "mean", 2.0), 6)
    92.0
    """
    at, values = _curve(column, name)
    return float(np.interp(np.log(beta), at, values))


def compare(frame: pd.DataFrame, rule: AutoRule = AUTO) -> pd.DataFrame:
    """Auto beside fixed β, one row for each (dataset, ψ, q).

    Where the sweep trained with auto's β (within 5 %), that is what is shown; elsewhere the fixed
    cells around it are interpolated, and `trained` is False.

    Returns
    -------
    DataFrame with dataset, psi, q, auto_beta, trained, auto, auto_std, best_beta, best, best_std,
    small (the better of β = 1 and 2), small_std, to_best and to_small (auto minus these), noise
    (two standard errors of the difference to_best, 2 √(s²/n + s′²/n′), each cell with its own
    number of seeds).
    """
    fixed, trained = cells(frame), cells(frame, "auto")
    groups = fixed.groupby(PROBLEM, sort=True)
    return pd.DataFrame([_line(key, column, trained, rule) for key, column in groups])


def _line(key: Any, column: pd.DataFrame, trained: pd.DataFrame, rule: AutoRule) -> dict[str, Any]:
    dataset, psi, q = key
    beta = beta_from_sizes(size_law(K, q), psi, rule)
    run = trained[(trained[PROBLEM] == list(key)).all(axis=1)] if len(trained) else trained
    near = bool(len(run)) and abs(float(run["beta"].iloc[0]) / beta - 1) < 0.05
    auto, std, n = (
        float(run[name].iloc[0]) if near else _between(column, name, beta)
        for name in ("mean", "std", "n")
    )
    best = column.loc[column["mean"].idxmax()]
    small = column[column["beta"].isin(SMALL)]
    if small.empty:
        raise InputError(f"the sweep has neither β = 1 nor 2 for {dataset}, {psi}, q = {q:g}.")
    least = small.loc[small["mean"].idxmax()]
    return {
        "dataset": dataset,
        "psi": psi,
        "q": q,
        "auto_beta": beta,
        "trained": near,
        "auto": auto,
        "auto_std": std,
        "best_beta": float(best["beta"]),
        "best": float(best["mean"]),
        "best_std": float(best["std"]),
        "small": float(least["mean"]),
        "small_std": float(least["std"]),
        "to_best": auto - float(best["mean"]),
        "to_small": auto - float(least["mean"]),
        "noise": 2 * float(np.sqrt(std**2 / n + best["std"] ** 2 / best["n"])),
    }


def fit_rule(frame: pd.DataFrame, datasets: Iterable[str]) -> tuple[AutoRule, float]:
    """The constants with the smallest mean loss against the best β, on these datasets only.

    Keep the dataset that is to check the rule out of `datasets`. Returns the rule and that loss in
    points of accuracy; among equals the one closest to the constants in use comes first.
    """
    chosen = list(datasets)
    fixed = cells(frame[frame["dataset"].isin(chosen)])
    if fixed.empty:
        raise InputError(f"the sweep has no rows of {', '.join(chosen) or 'no dataset'}.")
    curves = [(key[1], size_law(K, key[2]), *_curve(part)) for key, part in fixed.groupby(PROBLEM)]

    def loss(rule: AutoRule) -> float:
        losses = [
            means.max() - np.interp(np.log(beta_from_sizes(sizes, psi, rule)), at, means)
            for psi, sizes, at, means in curves
        ]
        return float(np.mean(losses))

    found = min(RULES, key=lambda rule: (round(loss(rule), 3), _distance(rule)))
    return found, loss(found)


def _curve(column: pd.DataFrame, name: str = "mean") -> tuple[Array, Array]:
    """log β and mean accuracy, or another column, in order of β."""
    known = column[column["beta"] > 0].sort_values("beta")
    return np.log(known["beta"].to_numpy()), known[name].to_numpy()


def _distance(rule: AutoRule) -> float:
    pairs = zip(vars(rule).values(), vars(AUTO).values(), strict=True)
    return float(sum(abs(np.log(new / old)) for new, old in pairs))


def to_markdown(table: pd.DataFrame) -> str:
    """The comparison as a Markdown table, mean ± std.

    An asterisk marks an auto that was interpolated, not trained.
    """
    lines = [
        "| data | ψ | q | auto β | auto | best of β = 1, 2 | best fixed β | auto − best |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in table.itertuples():
        star = "" if row.trained else "*"
        lines.append(
            f"| {row.dataset} | {row.psi.replace('_', ' ')} | {row.q:g} | {row.auto_beta:.2f} "
            f"| {row.auto:.2f} ± {row.auto_std:.2f}{star} | {row.small:.2f} ± {row.small_std:.2f} "
            f"| {row.best:.2f} ± {row.best_std:.2f} (β = {row.best_beta:g}) | {row.to_best:+.2f} |"
        )
    return "\n".join(lines)


def draw_sweep(frame: pd.DataFrame, path: str | PathLike[str], rule: AutoRule = AUTO) -> None:
    """A heat map for each dataset and ψ: accuracy in the cells, colour by distance to the best of
    its q, and auto drawn over it.

    Parameters
    ----------
    frame : what `read_sweep` gave.
    path : PNG, SVG or PDF file to write.
    """
    maker = optional_import("matplotlib.figure", extra="plot", purpose="drawing the sweep")
    fixed = cells(frame)
    datasets, psis = (sorted(fixed[name].unique()) for name in ("dataset", "psi"))
    figure = maker.Figure(
        figsize=(1.2 + 5.4 * len(psis), 0.8 + 3.6 * len(datasets)), layout="constrained"
    )
    grid, image = figure.subplots(len(datasets), len(psis), squeeze=False), None
    for (dataset, row), (psi, column) in product(enumerate(datasets), enumerate(psis)):
        part = fixed[(fixed["dataset"] == row) & (fixed["psi"] == column)]
        axes = grid[dataset][psi]
        image = _draw_part(axes, part, rule) if len(part) else image
        axes.set_title(f"{row}, {column.replace('_', ' ')}")
    if image is not None:
        figure.colorbar(image, ax=grid, shrink=0.5, label="points below the best β of this q")
    figure.savefig(path, dpi=150)


def _draw_part(axes: Any, part: pd.DataFrame, rule: AutoRule, worst: float = 10.0) -> Any:
    table = part.pivot_table(index="beta", columns="q", values="mean")
    values, betas = table.to_numpy(), table.index.to_numpy()
    below = values - np.nanmax(values, axis=0)
    image = axes.imshow(below, aspect="auto", origin="lower", cmap="Blues", vmin=-worst, vmax=0)
    for (i, j), value in np.ndenumerate(values):
        light = below[i, j] > -0.4 * worst
        axes.text(
            j,
            i,
            f"{value:.1f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if light else "black",
        )
    auto = [beta_from_sizes(size_law(K, q), part["psi"].iloc[0], rule) for q in table.columns]
    beside = np.arange(len(auto)) + 0.34
    axes.plot(beside, _heights(betas, auto), "o", color="#e8720c", mec="white", label="auto")
    axes.set_xticks(range(len(table.columns)), [f"{q:g}" for q in table.columns])
    axes.set_yticks(range(len(betas)), [f"{beta:g}" for beta in betas])
    axes.set(xlabel="q", ylabel="β")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
    return image


def _heights(betas: Any, auto: Sequence[float]) -> Any:
    """Where each β lies between the rows of the map, linear in log β."""
    positive = betas > 0
    return np.interp(np.log(auto), np.log(betas[positive]), np.flatnonzero(positive))
