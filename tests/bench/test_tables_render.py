"""Every rendering says the same as the computed table, and hostile text stays text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from amongst.bench import Record, Trial
from amongst.bench.plans import Request, make_plan
from amongst.bench.render import _figure, to_csv, to_latex, to_markdown, to_rich
from amongst.bench.report import found_plan
from amongst.bench.tables import Table, collect

HOSTILE = "a|b*<script>_\\&%$#{}~^ [bold]x[/bold]"


@pytest.fixture
def mnist(synthetic: Callable[..., list[Record]]) -> Table:
    plan = make_plan(Request("table1", datasets=("mnist",)))
    return collect(synthetic(plan, epochs=12), plan)


@pytest.fixture
def hostile() -> Table:
    trials = [Trial(HOSTILE, HOSTILE, HOSTILE, HOSTILE, seed) for seed in range(2)]
    records = [Record(trial, {"accuracy_last10": 0.5 + 0.1 * trial.seed}) for trial in trials]
    return collect(records, found_plan(records, HOSTILE))


def printed(table: Table, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(to_rich(table))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_csv_holds_every_number_of_every_cell(mnist: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(mnist))))
    assert len(rows) == len(mnist.entries) == 15
    for row, place in zip(rows, mnist.layout.places, strict=True):
        entry = mnist.entries[place]
        assert (row["dataset"], row["condition"], row["method"]) == place[:3]
        assert float(row["mean"]) == pytest.approx(entry.mean, abs=1e-7)
        assert float(row["difference"]) == pytest.approx(entry.difference, abs=1e-7)
        assert entry.published is not None
        assert float(row["paper_mean"]) == entry.published.mean
        assert row["star"] == str(entry.star)
        assert json.loads(row["values"]) == pytest.approx(entry.values, abs=1e-5)
        assert json.loads(row["settings"]) == dict(entry.settings)
        assert (row["p"] == "") == entry.best


@pytest.mark.parametrize("render", [to_markdown, to_latex, printed])
def test_ours_the_papers_and_the_difference_stand_in_every_form(
    mnist: Table, render: Callable[[Table], str]
) -> None:
    text = render(mnist).replace("$\\pm$", "±").replace("$-$", "−").replace("\\*", "*")
    for entry in mnist.filled:
        assert "".join(_figure(entry)).rstrip("*") in text
        assert entry.published is not None
        assert f"{entry.published.mean:.2f} ± {entry.published.std:.2f}" in text
        assert f"{abs(entry.difference):.2f}" in text
    assert "one-sided Wilcoxon signed-rank" in " ".join(text.split())
    assert "least p is 0.031" in " ".join(text.split())


def test_marks_in_markdown_and_latex(mnist: Table) -> None:
    markdown, latex = to_markdown(mnist), to_latex(mnist)
    best = [entry for entry in mnist.filled if entry.best]
    assert markdown.count("**") == 2 * len(best) == 6
    assert markdown.count("<u>") == latex.count("\\underline{") == 3
    assert latex.count("\\textbf{") == 3


def test_markdown_rows_keep_their_columns_whatever_the_names(hostile: Table) -> None:
    lines = [line for line in to_markdown(hostile).splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(bars) == 1
    assert "<script>" not in to_markdown(hostile)


def test_latex_escapes_every_special_letter(hostile: Table) -> None:
    body = to_latex(hostile)
    cells = [line for line in body.splitlines() if "script" in line and "caption" not in line]
    assert cells
    for line in cells:
        assert not re.search(r"(?<!\\)[%#_$]", line.replace("$\\pm$", "").replace("$-$", ""))
    name = r"a\textbar{}b*\textless{}script\textgreater{}\_\textbackslash{}\&\%\$\#\{\}\textasciitilde{}"
    assert name in body, "in LaTeX's old encoding <, > and | print as other letters"


def test_the_terminal_shows_names_as_they_are(hostile: Table) -> None:
    text = printed(hostile, 200)
    assert "[bold]x[/bold]" in "".join(text.split("\n"))


def test_table_one_fits_eighty_columns(mnist: Table) -> None:
    lines = printed(mnist).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("98.44 ± 0.11*" in line and "98.29 ± 0.05*" in line for line in lines)


def test_methods_of_the_demo_have_a_line_each(synthetic: Callable[..., list[Record]]) -> None:
    plan = make_plan(Request("demo"))
    table = collect(synthetic(plan, epochs=12), plan)
    lines = printed(table).splitlines()
    assert max(map(len, lines)) <= 80
    (rows,) = table.layout.groups.values()
    assert [line.split("  ")[0] for line in lines if ", MLP" in line] == [r.label for r in rows]


@pytest.mark.parametrize("width", [80, 40])
def test_a_wide_table_in_a_narrow_terminal_loses_no_letter(
    synthetic: Callable[..., list[Record]], width: int
) -> None:
    plan = make_plan(Request("figure1"))
    text = printed(collect(synthetic(plan, epochs=12), plan), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    names = "".join(re.findall(r"^\S+", text, flags=re.MULTILINE))
    assert "Kuzushiji-MNIST" in names


def test_notes_take_the_whole_width_beside_a_narrow_table(
    synthetic: Callable[..., list[Record]],
) -> None:
    plan = make_plan(Request("table2", datasets=("lost",), methods=("rc", "cc"), epochs=12))
    table = collect(synthetic(plan, epochs=12), plan)
    lines = [line.rstrip() for line in printed(table, 120).splitlines()]
    assert lines[0] == "Table 2: accuracy on real datasets"
    assert "Second line: the paper's figure" in " ".join(lines)
    assert any(len(line) > 100 for line in lines)


@pytest.mark.parametrize("epochs", [12, None])
def test_other_epochs_than_the_papers_are_said(
    synthetic: Callable[..., list[Record]], epochs: int | None
) -> None:
    plan = make_plan(Request("table2", datasets=("lost",), methods=("rc",), epochs=epochs))
    said = to_markdown(collect(synthetic(plan, epochs=12), plan))
    assert ("Ours: 12 epochs, not 250." in said) == (epochs is not None)


def test_the_oracles_dagger_is_in_every_form() -> None:
    plan = make_plan(Request("demo", methods=("rc",), seeds=1, search="grid", criterion="oracle"))
    records = [
        Record(t, {"accuracy_last10": 0.9, "accuracy_val_last10": 0.01 * i})
        for i, t in enumerate(plan.trials)
    ]
    table = collect(records, plan)
    for text in (to_markdown(table), to_latex(table).replace("$\\dagger$", "†"), printed(table)):
        assert text.count("†") == 4
    assert all(row["oracle"] == "True" for row in csv.DictReader(io.StringIO(to_csv(table))))


def test_empty_and_diverged_cells_are_told_apart() -> None:
    plan = make_plan(Request("demo", methods=("rc", "cc"), seeds=1))
    records = [Record(t, error="NaN") for t in plan.trials if t.method == "rc"]
    text = to_markdown(collect(records, plan))
    assert text.count("failed |") == 3
    assert text.count("– |") == 3


def test_a_reason_is_text_that_latex_takes() -> None:
    plan = make_plan(Request("demo", methods=("rc",), seeds=1))
    table = collect([Record(t, error="refused: lower tau_ (τ) by 5 %") for t in plan.trials], plan)
    assert r"refused: lower tau\_ ($\tau$) by 5 \%" in to_latex(table)
