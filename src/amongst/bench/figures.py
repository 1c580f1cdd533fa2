"""Figures: their data first, as plain values; drawing comes after and is optional."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from amongst.bench.places import Row, method_title
from amongst.bench.record import Record
from amongst.bench.tables import Entry, Table
from amongst.errors import InputError
from amongst.files import write_atomically
from amongst.optional import optional_import

Floats = tuple[float, ...]
_MARKERS = "os^DvP*X"
_DASHES = ("-", "--", ":", "-.")
_COLOURS = ("#0b6fb4", "#c8500a", "#0a7f62", "#a9418d", "#8a6a00", "#3b3f8f", "#b3243b", "#5c6670")
NOT_RUN = "not run"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.4}
_PERCENT = ("accuracy", "covering", "approximated")
_WORDS = {"accuracy_test": "test accuracy", "covering_test": "covering rate of test rows"}
TEST_CURVES = ("accuracy_test", "covering_test")
"""What learning curves show: the second where no true label is known."""
ACCURACY = "test accuracy, %"
SIDESTEP = 0.06
"""Between lines over categories, so that their bars do not cover each other."""


@dataclass(frozen=True)
class Series:
    """One line: x, the mean there, and the ends of its bar or band; NaN where nothing is."""

    label: str
    x: Floats
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `note` stands in it where it has nothing to show."""

    title: str
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """Panels with common axes."""

    title: str
    xlabel: str
    ylabel: str
    panels: tuple[Panel, ...]
    categories: tuple[str, ...] = ()  # names of x = 0, 1, …, where x is not a number
    joined: bool = True  # whether a line joins the points
    limits: tuple[float, float] | None = None  # of the vertical axis, the same in all panels
    written: bool = False  # whether the means are written beside their points


def variant_figure(table: Table) -> Figure:
    """Accuracy over the columns of a table: the variants of Figure 1 (β) or Figure 2 (α, β), or
    conditions. A panel for each group, a line for each row; bars are ± std.

    >>> from amongst.bench.plans import Request, make_plan
    >>> from amongst.bench.tables import collect
    >>> figure = variant_figure(collect([], make_plan(Request("figure1"))))
    >>> figure.xlabel, figure.categories, len(figure.panels)
    ('β', ('0', '1', '2', '4', '8', '16', '32'), 4)
    """
    columns, title = table.layout.columns, table.plan.title
    panels = tuple(
        _panel(group, tuple(_over_columns(table, row) for row in rows))
        for group, rows in table.layout.groups.items()
    )
    if not table.layout.is_figure:
        return Figure(title, "how candidate sets arise", ACCURACY, panels, columns)
    heads = {column.partition("=")[0] for column in columns}
    if len(heads) == 1 and all(column.count("=") == 1 for column in columns):
        names = tuple(column.partition("=")[2] for column in columns)
        return Figure(title, heads.pop(), ACCURACY, panels, names)
    return Figure(title, "weights of the two parts", ACCURACY, panels, columns, joined=False)


def curve_figure(records: Iterable[Record], table: Table, curve: str = "accuracy_test") -> Figure:
    """Learning curves behind a table: a panel for each contest, a line for each method, which is the mean
    over the repeats with their range as a band; shares in percent."""
    by_key = {record.key: record for record in records}
    panels: dict[str, list[Series]] = {}
    for entry in table.filled:
        curves = [c for key in entry.keys if len(c := by_key[key].curves.get(curve, ()))]
        if curves:
            panels.setdefault(entry.place.where, []).append(_over_epochs(entry, curve, curves))
    if not panels:
        known = sorted({name for record in by_key.values() for name in record.curves})
        raise InputError(f"no record has the curve {curve!r}; there are: {', '.join(known)}.")
    words = _WORDS.get(curve, curve.replace("_", " "))
    ylabel = f"{words}{', %' if curve.startswith(_PERCENT) else ''}"
    drawn = tuple(Panel(title, tuple(series)) for title, series in panels.items())
    return Figure(f"{table.plan.title}: learning curves", "epoch", ylabel, drawn)


def draw(figure: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the ending of `path` (needs the extra ``plot``)."""
    target = Path(path)
    if target.suffix not in (".png", ".svg", ".pdf"):
        problem = "must end in .png, .svg or .pdf."
        raise InputError(problem, code="ending", argument="path", got=str(path))
    if not figure.panels:
        raise InputError("figure has no panel to draw.")
    optional_import("matplotlib", extra="plot", purpose="drawing a figure")
    pictures = optional_import("matplotlib.figure", extra="plot", purpose="drawing a figure")
    columns = min(len(figure.panels), 3 if len(figure.panels) % 3 == 0 else 2)
    rows = -(-len(figure.panels) // columns)
    sheet = pictures.Figure(figsize=(4.2 * columns, 3.0 * rows + 0.6), layout="constrained")
    _legend(sheet, draw_panels(sheet, figure, rows, columns), figure)
    target.parent.mkdir(parents=True, exist_ok=True)
    kind, content = target.suffix[1:], io.BytesIO()
    sheet.savefig(content, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    write_atomically(target, content.getvalue())
    return target


def draw_panels(sheet: Any, figure: Figure, rows: int = 1, columns: int = 1) -> Any:
    """Draw the panels on a sheet of Matplotlib's, and give their axes."""
    axes = sheet.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, figure.panels, strict=False):
        _draw_panel(axis, figure, panel)
    for axis in axes[len(figure.panels) :]:
        axis.set_axis_off()
    return axes


def report_figures(
    records: Sequence[Record], tables: Sequence[Table], folder: str | Path
) -> list[Path]:
    """Every figure of a report as PNG and SVG: variants where a plan has them, and curves."""
    sheets: dict[str, Figure] = {}
    seen: Counter[str] = Counter()
    for table in tables:
        name = table.plan.request.plan
        seen[name] += 1
        name += f"-{seen[name]}" * (seen[name] > 1)
        if table.layout.is_figure:
            sheets[name] = variant_figure(table)
        keys = {key for entry in table.filled for key in entry.keys}
        there = {curve for record in records if record.key in keys for curve in record.curves}
        if curve := next((c for c in TEST_CURVES if c in there), ""):
            sheets[f"{name}-curves"] = curve_figure(records, table, curve)
    return [
        draw(sheet, Path(folder) / f"{name}{ending}")
        for name, sheet in sheets.items()
        for ending in (".png", ".svg")
    ]


def _panel(title: str, lines: tuple[Series, ...]) -> Panel:
    """One without any point says so."""
    return Panel(title, lines, "" if np.isfinite([line.mean for line in lines]).any() else NOT_RUN)


def _over_columns(table: Table, row: Row) -> Series:
    """The means of a row, ± their standard deviations."""
    entries = [table.at(place) for place in row.places]
    method = next(place.method for place in row.places if place)
    label = method_title(method) if table.layout.is_figure else row.label
    mean = np.array([entry.mean if entry else np.nan for entry in entries])
    std = np.nan_to_num([entry.std if entry else np.nan for entry in entries])
    x = _floats(range(len(mean)))
    return Series(label, x, *map(_floats, (mean, mean - std, mean + std)))


def _over_epochs(entry: Entry, curve: str, curves: Sequence[Floats]) -> Series:
    shortest = min(map(len, curves))
    scale = 100.0 if curve.startswith(_PERCENT) else 1.0
    stack = scale * np.array([values[:shortest] for values in curves])
    x = _floats(np.arange(1, shortest + 1))
    return Series(entry.label, x, *map(_floats, (stack.mean(0), stack.min(0), stack.max(0))))


def _floats(values: Any) -> Floats:
    return tuple(float(value) for value in values)


def _styles(figure: Figure) -> Mapping[str, dict[str, Any]]:
    """A colour and a marker for each label, the same in all panels; from the ninth label on they
    come again with another dash and the next marker."""
    labels = dict.fromkeys(line.label for panel in figure.panels for line in panel.series)
    return {
        label: {
            "color": _COLOURS[i % 8],
            "marker": _MARKERS[(i + i // 8) % 8],
            "ls": _DASHES[i // 8 % len(_DASHES)],
        }
        for i, label in enumerate(labels)
    }


def _draw_panel(axis: Any, figure: Figure, panel: Panel) -> None:
    axis.set(title=_literal(panel.title), xlabel=figure.xlabel, ylabel=figure.ylabel)
    if figure.categories:
        axis.set_xticks(range(len(figure.categories)), figure.categories)
        axis.tick_params("x", rotation=0 if figure.joined else 35)
        axis.set_xlim(-0.5, len(figure.categories) - 0.5)
    if figure.limits:
        axis.set_ylim(*figure.limits)
    if panel.note:
        _say(axis, panel.note)
        return
    beside = np.arange(len(panel.series)) - (len(panel.series) - 1) / 2
    for line, steps in zip(panel.series, beside, strict=True):
        _draw_line(axis, figure, line, SIDESTEP * steps if figure.categories else 0.0)
    if not figure.categories:
        axis.set_ylim(*_settled(panel))
    axis.grid(alpha=0.3)


def _draw_line(axis: Any, figure: Figure, line: Series, shift: float) -> None:
    style, x = _styles(figure)[line.label], np.array(line.x) + shift
    mean, low, high = map(np.array, (line.mean, line.low, line.high))
    if figure.categories:
        joined = style if figure.joined else style | {"ls": "none"}
        axis.errorbar(x, mean, [mean - low, high - mean], capsize=3, label=line.label, **joined)
    else:
        axis.plot(x, mean, color=style["color"], ls=style["ls"], lw=1.4, label=line.label)
        axis.fill_between(x, low, high, color=style["color"], alpha=0.15, lw=0)
    if figure.written:
        for at, top, value in zip(x, high, mean, strict=True):
            if np.isfinite(value):
                place = {"ha": "center", "va": "bottom", "fontsize": 7.5, "bbox": PAPER}
                axis.annotate(
                    f"{value:.2f}", (at, top), (0, 4), textcoords="offset points", **place
                )


def _say(axis: Any, note: str) -> None:
    """An empty panel that says why it is."""
    axis.set_yticks([])
    axis.set_facecolor("#f4f4f4")
    text = "\n".join(part for line in note.splitlines() for part in textwrap.wrap(line, 44) or [""])
    place = {"ha": "center", "va": "center", "fontsize": 9, "color": "#555555"}
    axis.text(0.5, 0.5, _literal(text), transform=axis.transAxes, **place)


def _settled(panel: Panel) -> tuple[float, float]:
    """Limits that show where the curves end; the first tenth of the epochs may leave the frame."""
    ends = np.concatenate(
        [end[len(line.x) // 10 :] for line in panel.series for end in (line.low, line.high)]
    )
    good = ends[np.isfinite(ends)]
    low, high = (float(good.min()), float(good.max())) if len(good) else (0.0, 1.0)
    pad = 0.1 * (high - low or 1.0)
    return low - pad, high + pad


LEGEND_INCHES, LEGEND_ROOM = 1.9, 0.8
"""Least width of an entry of the legend, and height that it may take from the panels."""


def _legend(sheet: Any, axes: Any, figure: Figure) -> None:
    """Below the panels, in as many columns as fit; a high one makes the sheet higher."""
    if len(_styles(figure)) < 2:
        return
    found = {
        _literal(label): handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    columns = min(len(found), max(1, int(sheet.get_figwidth() / LEGEND_INCHES)))
    box = _placed(sheet, found, columns)
    sheet.set_figheight(sheet.get_figheight() + max(0.0, box.height / sheet.dpi - LEGEND_ROOM))


def _placed(sheet: Any, found: Mapping[str, Any], columns: int) -> Any:
    """Put the legend on the sheet, with fewer columns where these are too wide; its extent."""
    place = {"loc": "outside lower center", "ncols": columns}
    legend = sheet.legend(list(found.values()), list(found), **place)
    box = legend.get_window_extent()
    if box.width <= sheet.bbox.width or columns == 1:
        return box
    legend.remove()
    return _placed(sheet, found, columns - 1)


def _literal(text: str) -> str:
    """A dollar sign would start mathematics."""
    return text.replace("$", r"\$")
