"""Figures: their data against plain numpy, and files that are what their names say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from amongst.bench import Record, demo, figures
from amongst.bench.figures import (
    Figure,
    Panel,
    Series,
    curve_figure,
    draw,
    report_figures,
    variant_figure,
)
from amongst.bench.plans import Request, make_plan
from amongst.bench.tables import collect
from amongst.errors import AmongstWarning, InputError, MissingDependencyError

Maker = Callable[..., list[Record]]


def test_figure_one_is_accuracy_over_beta(synthetic: Maker) -> None:
    plan = make_plan(Request("figure1"))
    records = synthetic(plan, epochs=15)
    figure = variant_figure(collect(records, plan))
    assert [panel.title for panel in figure.panels] == [
        "MNIST, q=0.1",
        "Fashion-MNIST, q=0.3",
        "CIFAR-10, q=0.3",
        "Kuzushiji-MNIST, q=0.5",
    ]
    found = [
        100 * r.metrics["accuracy_last10"]
        for r in records
        if r.trial.dataset == "cifar10" and r.trial.settings["beta"] == 4
    ]
    line = figure.panels[2].series[0]
    assert len(found) == 5
    assert line.mean[3] == pytest.approx(np.mean(found))
    assert line.high[3] - line.mean[3] == pytest.approx(np.std(found, ddof=1))


def test_figure_two_has_a_place_for_each_pair(synthetic: Maker) -> None:
    plan = make_plan(Request("figure2", datasets=("mnist",)))
    figure = variant_figure(collect(synthetic(plan, epochs=15), plan))
    assert "α=1, β=0" in figure.categories
    assert not figure.joined
    assert not np.isnan(figure.panels[0].series[0].mean).any()


def test_curves_are_mean_and_range_over_the_repeats(synthetic: Maker) -> None:
    plan = make_plan(Request("table1", datasets=("mnist",), methods=("rc", "cc")))
    records = synthetic(plan, epochs=15)
    figure = curve_figure(records, collect(records, plan))
    stack = 100 * np.array(
        [
            r.curves["accuracy_test"]
            for r in records
            if (r.trial.method, r.trial.condition) == ("cc", "q=0.3")
        ]
    )
    line = next(s for s in figure.panels[1].series if s.label == "CC")
    assert line.x == tuple(range(1, 16))
    np.testing.assert_allclose(line.mean, stack.mean(0))
    np.testing.assert_allclose([line.low, line.high], [stack.min(0), stack.max(0)])


def test_an_unknown_curve_names_those_there_are(synthetic: Maker) -> None:
    plan = make_plan(Request("demo", methods=("rc",), seeds=1))
    records = synthetic(plan, epochs=3)
    with pytest.raises(InputError, match="accuracy_test, approximated_val, loss"):
        curve_figure(records, collect(records, plan), "acuracy")


def test_files_are_pictures(synthetic: Maker, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plan = make_plan(Request("figure1", datasets=("mnist",), seeds=2))
    records = synthetic(plan, epochs=12)
    paths = report_figures(records, [collect(records, plan)], tmp_path)
    assert sorted(path.name for path in paths) == [
        "figure1-curves.png",
        "figure1-curves.svg",
        "figure1.png",
        "figure1.svg",
    ]
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n")
        else:
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_every_table_has_figures_of_its_own(synthetic: Maker, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plans = [make_plan(Request("demo", seeds=2, methods=(m,))) for m in ("cc", "rc", "proden")]
    records = [record for plan in plans for record in synthetic(plan, epochs=3)]
    tables = [collect(records, plan) for plan in plans]
    names = {path.stem for path in report_figures(records, tables, tmp_path)}
    assert names == {"demo-curves", "demo-2-curves", "demo-3-curves"}


def test_without_true_labels_curves_show_the_covering_rate(
    synthetic: Maker, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    plan = make_plan(Request("demo", seeds=2, methods=("cc",)))
    records = [
        replace(record, curves={"covering_test": record.curves["accuracy_test"], "loss": [1.0]})
        for record in synthetic(plan, epochs=3)
    ]
    drawn = report_figures(records, [collect(records, plan)], tmp_path)
    assert {path.name for path in drawn} == {"demo-curves.png", "demo-curves.svg"}
    figure = curve_figure(records, collect(records, plan), "covering_test")
    assert figure.ylabel == "covering rate of test rows, %"
    bare = [replace(record, curves={}) for record in records]
    assert report_figures(bare, [collect(bare, plan)], tmp_path / "none") == []


def test_no_two_lines_look_alike() -> None:
    one = (0.0,)
    lines = tuple(Series(f"m{i}", one, one, one, one) for i in range(20))
    figure = Figure("many", "x", "y", (Panel("p", lines),))
    styles = [tuple(style.values()) for style in figures._styles(figure).values()]
    assert len(set(styles)) == 20
    drawn = [(style["color"], style["ls"]) for style in figures._styles(figure).values()]
    assert len(set(drawn)) == 20


@pytest.mark.parametrize("n", [2, 6, 14])
def test_the_legend_lies_inside_the_picture(n: int, tmp_path: Path) -> None:
    images = pytest.importorskip("matplotlib.image")
    two = (1.0, 2.0)
    names = [f"LW-Cross entropy, Linear {i}" for i in range(n)]
    lines = tuple(Series(name, two, two, two, two) for name in names)
    figure = Figure("t", "x", "test accuracy, %", (Panel("Lost", lines),))
    picture = images.imread(draw(figure, tmp_path / "wide.png"))
    border = [picture[0], picture[-1], picture[:, 0], picture[:, -1]]
    assert all((side == 1).all() for side in border)
    rows = (picture[:, :, :3] < 1).any(2).sum(1)
    frame = np.flatnonzero(rows > 0.7 * picture.shape[1])  # top and bottom of the panel
    assert frame.max() - frame.min() > 200


def test_dollar_signs_are_not_mathematics(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    line = Series("$a_{", (1.0, 2.0), (1.0, 2.0), (1.0, 2.0), (1.0, 2.0))
    other = Series("$b", (1.0, 2.0), (1.0, 2.0), (1.0, 2.0), (1.0, 2.0))
    draw(Figure("t", "x", "y", (Panel("$\\frac", (line, other)),)), tmp_path / "odd.png")
    assert (tmp_path / "odd.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["figure.gif", "figure"])
def test_only_endings_that_can_be_drawn(name: str, tmp_path: Path) -> None:
    figure = Figure("t", "x", "y", ())
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        draw(figure, tmp_path / name)
    with pytest.raises(InputError, match="no panel"):
        draw(figure, tmp_path / "figure.png")


def test_without_matplotlib_the_extra_is_named(
    synthetic: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plan = make_plan(Request("figure1", datasets=("mnist",), seeds=1))
    figure = variant_figure(collect(synthetic(plan, epochs=12), plan))
    with pytest.raises(MissingDependencyError, match=r"amongst\[plot\]"):
        draw(figure, tmp_path / "figure.png")


def test_a_demo_without_matplotlib_says_why_it_has_no_picture(
    synthetic: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    plan = make_plan(Request("demo", seeds=1))
    table, found = collect(synthetic(plan, epochs=12), plan), demo.find_labels(60, 1, 2)
    with pytest.warns(AmongstWarning, match=r"no picture: .*amongst\[plot\]"):
        assert demo.picture_of(found, table, tmp_path / "demo.png") is None
