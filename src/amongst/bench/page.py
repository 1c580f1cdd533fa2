"""The report's HTML: static text and tables here, scripts and styles from ``templates``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from amongst.bench.payload import script_json
from amongst.bench.places import Place, Row
from amongst.bench.plans import reproduce_command
from amongst.bench.tables import Entry, Table
from amongst.bench.words import Overview, notes, number, p_text, signed
from amongst.markup import Markup, Section, document, element, join, section
from amongst.wording import counted

SCRIPTS = ("base.js", "charts.js", "tables.js", "curves.js", "trials.js", "main.js")
NEEDED = "Plots, sorting and the list of trials need JavaScript; the tables below do not."
TABLES = "A head sorts within each group. A cell opens its repeats, curves, settings and command."
BOLD = "Bold differences are further than two standard errors from the paper."
WHERE = "Where the trials ran, and with what."
TRIALS = "Every training run behind this page. Words narrow the list; settings are searched too."


def assemble(
    title: str,
    lead: str,
    summary: Overview,
    tables: Sequence[Table],
    data: dict[str, Any],
    made: str,
    opening: Section | None = None,
) -> str:
    """The whole page, one file that needs no other; its scripts fill what is empty here."""
    folder = files("amongst.bench").joinpath("templates")
    scripts = [folder.joinpath(name) for name in SCRIPTS]
    script = "\n".join(path.read_text("utf-8") for path in scripts)
    return document(
        title,
        lead,
        element("noscript", element("p", NEEDED, class_="alert")),
        *([opening] if opening else []),
        section("summary", "Summary", *_summary(summary)),
        section(
            "tables",
            "Tables",
            _note(TABLES, "note screen"),
            *(_article(f"t{i}", table) for i, table in enumerate(tables)),
        ),
        section(
            "curves",
            "Learning curves",
            _note("Mean over the repeats; the band is their range."),
            *(
                element("div", class_=name)
                for name in ("controls choices", "controls legend", "panels")
            ),
        ),
        section(
            "trials",
            "Trials",
            _note(TRIALS),
            element("div", class_="controls"),
            element("div", class_="scroll", tabindex="0", role="region", aria_label="All trials"),
            element("p", class_="more"),
            class_="screen",
        ),
        section("environment", "Environment", _note(WHERE), *_environments(data)),
        made=made,
        script=f'"use strict";\n(() => {{\n{script}\n}})();\n',
        data=script_json(data),
    )


def _note(text: str, class_: str = "note") -> Markup:
    return element("p", text, class_=class_)


def _summary(summary: Overview) -> list[Markup]:
    figures = [
        element(
            "div", element("dd", value, Markup(" "), element("small", unit)), element("dt", what)
        )
        for value, unit, what in summary.figures
    ]
    alerts = [element("p", alert, class_="alert") for alert in summary.alerts]
    folded = [
        element("details", element("summary", title), _listed(findings))
        for title, findings in summary.folded
        if findings
    ]
    top = element("dl", *figures, class_="figures")
    return [top, *alerts, _listed(summary.findings), *folded]


def _listed(findings: Sequence[tuple[str, str]]) -> Markup:
    """A list, or a paragraph for one."""
    if len(findings) == 1:
        return element("p", *_strong(findings[0]))
    items = [element("li", *_strong(finding)) for finding in findings]
    return element("ul", join(items), class_="findings") if items else Markup("")


def _strong(finding: tuple[str, str]) -> tuple[Markup, str]:
    title, text = finding
    return element("strong", f"{title}. ") if title else Markup(""), text


def _article(name: str, table: Table) -> Markup:
    """A table with its controls, plots, notes and command."""
    command = reproduce_command(table.plan)
    told = notes(table)
    if table.published:
        told.append(BOLD)
    body = [
        element("h3", table.plan.title),
        element("div", class_="panels", id=f"{name}-panels") if table.layout.is_figure else None,
        element("div", class_="controls", hidden=True),
        element("div", _grid(name, table), class_="scroll", tabindex="0", role="region",
                aria_label=table.plan.title),
        element("ul", *(element("li", note) for note in told), class_="note"),
        _plots(table),
        element("p", "To make it again: ", element("code", command), class_="note") if command else None,
    ]  # fmt: skip
    return element("article", *body, id=name)


def _plots(table: Table) -> Markup:
    shown = any(entry.published for entry in table.filled)
    parts: list[Markup] = []
    if shown:
        parts += [
            element("h4", "Distance to the paper"),
            element("div", class_="controls legend"),
            element("div", class_="differences"),
        ]
    if table.ranking is not None:
        told = (
            f"Mean ranks over {table.ranking.blocks} comparisons, 1 is best. Friedman: "
            f"{p_text(table.ranking.p)}; Nemenyi's critical difference {table.ranking.critical:.2f}."
        )
        parts += [
            element("h4", "Mean ranks"),
            element("p", told, class_="note"),
            element("div", class_="ranks"),
        ]
    return element("div", *parts, class_="plots")


def _grid(name: str, table: Table) -> Markup:
    columns = table.layout.columns
    ids: dict[Place | None, str] = {
        place: f"{name}-{i}" for i, place in enumerate(table.layout.places)
    }
    bodies = []
    for group, rows in table.layout.groups.items():
        head = element("th", group, class_="group", scope="rowgroup", colspan=len(columns) + 1)
        bodies.append(element("tbody", element("tr", head), *(_row(r, table, ids) for r in rows)))
    heads = [_head("name", "Method"), *(_head(str(i), c) for i, c in enumerate(columns))]
    holm = table.significance.correction == "holm"
    return element(
        "table",
        element("caption", table.plan.title, class_="hidden"),
        element("thead", element("tr", *heads)),
        *bodies,
        class_="results holm" if holm else "results",
        data_paper="yes" if table.published else None,
        data_holm="yes" if table.tested and not holm else None,
    )


def _row(row: Row, table: Table, ids: Mapping[Place | None, str]) -> Markup:
    method, _, model = row.label.partition(", ")
    small = element("small", model) if model else None
    head = element("th", method, small, scope="row", data_column="name", data_sort=row.label)
    cells = [
        _cell(i, ids.get(place, ""), table.at(place), table.significance.alpha)
        for i, place in enumerate(row.places)
    ]
    return element("tr", head, *cells, class_="row", data_text=f"{row.group} {row.label}")


def _head(key: str, label: str) -> Markup:
    button = element("button", label, type="button")
    return element("th", button, scope="col", aria_sort="none", data_column=key)


def _cell(column: int, name: str, entry: Entry | None, alpha: float) -> Markup:
    key = {"data_column": str(column)}
    if entry is None:
        return element("td", data_sort="", **key)
    below = _second_line(entry) if entry.published else None
    if not entry.n:
        missing = element("span", "failed" if entry.failed else "–", below, class_="none")
        return element("td", missing, data_sort="", **key)
    marks = "best" if entry.best else "second" if entry.second else None
    shown = _figure(entry, alpha)
    button = element("button", shown, below, type="button", class_="cell", data_cell=name)
    return element("td", button, class_=marks, data_sort=f"{entry.mean:.6f}", **key)


def _second_line(entry: Entry) -> Markup:
    """Below a mean: the paper's, and the difference."""
    paper = entry.published
    assert paper is not None
    side = "" if entry.agrees or not entry.n else "above" if entry.difference > 0 else "below"
    shown = element(
        "span",
        _part("hidden", "paper "),
        number(paper.mean),
        _part("std", f" ± {number(paper.std)}"),
        "*" if paper.star else None,
        class_="paper",
    )
    gap = _part(f"diff {side}".strip(), signed(entry.difference), entry.n > 0)
    return element("span", shown, gap, class_="second-line")


def _part(class_: str, text: str, shown: bool = True, title: str | None = None) -> Markup | None:
    """Of a cell."""
    return element("span", text, class_=class_, title=title) if shown else None


def _figure(entry: Entry, alpha: float) -> Markup:
    return element(
        "span",
        _part("mean", number(entry.mean)),
        _part("std", f" ± {number(entry.std)}", entry.n > 1),
        _part("star raw", "*", entry.p <= alpha),
        _part("star corrected", "*", entry.holm <= alpha),
        _part("star", "†", entry.oracle, "chosen by the oracle"),
        _part("short", f" {entry.n}/{entry.planned}", entry.n < entry.planned),
        class_="ours",
    )


def _environments(data: dict[str, Any]) -> list[Markup]:
    blocks = []
    counts = data["trials"].get("environment", [])
    for i, found in enumerate(data["environments"]):
        pairs = [element("div", element("dt", k), element("dd", str(v))) for k, v in found.items()]
        head = f"No. {i + 1}: {found['device']}, {counted(counts.count(i), 'trial')}"
        blocks.append(element("details", element("summary", head),
                              element("dl", *pairs, class_="pairs"), open=i == 0))  # fmt: skip
    return blocks
