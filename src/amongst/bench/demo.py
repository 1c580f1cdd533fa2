"""The demo: what scikit-learn's digits most likely are, shown with their pictures; then methods compared."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.bench.execute import Options
from amongst.bench.export import read_records
from amongst.bench.figures import draw_panels, variant_figure
from amongst.bench.plans import Request
from amongst.bench.report import build_report, to_html
from amongst.bench.runner import run_request
from amongst.bench.tables import Table
from amongst.candidates import uniform
from amongst.errors import AmongstWarning, MissingDependencyError
from amongst.estimators import LWClassifier
from amongst.estimators.ensemble import explain
from amongst.files import write_atomically
from amongst.markup import Section, element, section
from amongst.optional import optional_import
from amongst.trust import Explanation, gallery

METHODS = ("rc", "cc", "proden", "lw-cross_entropy")
"""LW's other form, the sigmoid one, is no default; ``amongst reproduce demo`` has it."""

RATE = 0.5
"""Probability with which each wrong label becomes a candidate."""

FIRST, DOUBTFUL = 10, 5
"""Rows that are shown: from the start of the file, and of the least sure ones."""

CHOICE = f"Here are the first {FIRST}, and the {DOUBTFUL} least sure of the others."
COLUMNS = 5
RIGHT, WRONG = "#0a7f62", "#b3243b"


@dataclass(frozen=True, eq=False)
class Found:
    """Pictures with candidate labels, what they were found to be, and what they are."""

    images: npt.NDArray[Any]
    truth: npt.NDArray[Any]
    explained: Explanation

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether each label is right, shape (n,)."""
        return np.asarray(self.explained.rows["label"].to_numpy() == self.truth)

    @property
    def shown(self) -> list[int]:
        """Rows to show: the first ones, and the least sure of the others."""
        asked = self.explained.rows["rank"].to_numpy().argsort()
        others = [int(row) for row in asked if row >= FIRST]
        return [*range(min(FIRST, len(asked))), *others[:DOUBTFUL]]

    def in_words(self) -> str:
        """What was asked, and how much was found."""
        sets, right = self.explained.sets, int(self.right.sum())
        return (
            f"{len(sets):,} pictures of digits, with {sets.sizes.mean():.1f} possible labels each on "
            "average, of which one is right. No true label was shown; the right one was found for "
            f"{right:,}, {right / len(sets):.1%}."
        )


def run_demo(folder: Path) -> tuple[Found, Table, list[Path]]:
    """Train, compare, and write ``demo.png`` (with Matplotlib), ``demo.html`` and ``demo.sqlite`` into a folder.

    The folder is made if it is not there; run again, the demo goes on from what is in it. Gives the labels
    found, the table, and the files.
    """
    store, page = folder / "demo.sqlite", folder / "demo.html"
    plan, _ = run_request(Request("demo", methods=METHODS), store, Options(device="cpu"))
    found, report = find_labels(), build_report(read_records(store), [plan], source=store.name)
    picture = picture_of(found, report.tables[0], folder / "demo.png")
    opening = None if picture is None else _opening(found)
    write_atomically(page, to_html(report, title=plan.title, opening=opening).encode())
    return found, report.tables[0], [*([picture] if picture else []), page, store]


def find_labels(rows: int | None = None, epochs: int = 30, ensemble: int = 5) -> Found:
    """`LWClassifier` on digits whose labels were made ambiguous.

    >>> find_labels(rows=100, epochs=1, ensemble=2).explained.rows.shape
    (100, 9)
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    X, truth = digits.data[:rows], digits.target[:rows]
    sets = uniform(truth, RATE, classes=range(10), seed=0)
    model = LWClassifier(epochs=epochs, device="cpu", random_state=0).fit(X, sets)
    return Found(digits.images[:rows], truth, explain(model, X, sets, ensemble))


def picture_of(found: Found, table: Table, path: Path) -> Path | None:
    """Draw pictures with their labels, and the table; without Matplotlib, a warning that names the
    extra, and None."""
    try:
        figures = optional_import("matplotlib.figure", extra="plot", purpose="drawing the demo")
    except MissingDependencyError as error:
        warnings.warn(f"there is no picture: {error}", AmongstWarning, stacklevel=2)
        return None
    sheet = figures.Figure(figsize=(9.5, 12), layout="constrained")
    upper, lower = sheet.subfigures(2, 1, height_ratios=(2.6, 1))
    draw_rows(upper, found)
    chart = draw_panels(lower, variant_figure(table))[0]
    chart.set_title("Methods compared, on pictures that they have not seen")
    chart.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    target = io.BytesIO()
    sheet.savefig(target, format="png", dpi=110)
    write_atomically(path, target.getvalue())
    return path


def draw_rows(sheet: Any, found: Found) -> None:
    """Draw pictures with their candidates, the label found and how sure it is, into a figure."""
    sheet.suptitle(f"{found.in_words()} {CHOICE}".replace(". ", ".\n"), fontsize=13)
    axes = sheet.subplots((FIRST + DOUBTFUL) // COLUMNS, COLUMNS).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, row in zip(axes, found.shown, strict=False):
        axis.imshow(found.images[row], cmap="gray_r", interpolation="bicubic")
        told, colour = found.explained.rows.iloc[row], RIGHT if found.right[row] else WRONG
        candidates = " ".join(str(label) for label in sorted(told["candidates"]))
        axis.set_title(f"possible: {candidates}", fontsize=9, color="#555555")
        doubted = told["margin"] < 0  # models that have not seen the row prefer another candidate
        sure = f"perhaps {told['runner_up']}" if doubted else f"{told['confidence']:.0%} sure"
        said = f"found: {told['label']}, {sure}"
        end = "right" if found.right[row] else f"wrong: it is {found.truth[row]}"
        axis.text(0.5, -0.04, f"{said}\n{end}", transform=axis.transAxes, ha="center", va="top",
                  fontsize=10, color=colour)  # fmt: skip


def _opening(found: Found) -> Section:
    """The part of the page before the comparison."""
    drawn = optional_import("matplotlib.image", extra="plot", purpose="drawing the demo")

    def picture(row: int) -> tuple[str, bytes]:
        target = io.BytesIO()
        drawn.imsave(target, found.images[row], cmap="gray_r", format="png")
        return "image/png", target.getvalue()

    note = (
        f"{CHOICE} The share beside a possible label is its probability, by models that have not seen "
        "the row."
    )
    cards = gallery(found.explained, found.shown, picture=picture, truth=found.truth)
    told = [element("p", found.in_words()), element("p", note, class_="note")]
    return section("found", "What was found", *told, cards)
