"""The report's HTML: static text and tables here, scripts and styles from ``templates``."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from amongst.bench.commands import reproduce_command
from amongst.bench.layout import Place, Row, is_figure
from amongst.bench.notes import notes
from amongst.bench.payload import script_json
from amongst.bench.render import number, p_text, signed
from amongst.bench.summary import Overview
from amongst.bench.tables import Entry, Table
from amongst.wording import counted

__all__ = ["assemble", "attributes", "element"]

SCRIPTS = ("base.js", "charts.js", "tables.js", "curves.js", "trials.js", "main.js")
_VOID = ("meta", "br")


class Markup(str):
    """Text that is HTML already; any other string is escaped when it enters an element."""

    __slots__ = ()


def element(tag: str, *children: str | None, **names: object) -> Markup:
    """An element; children are escaped unless they are `Markup`, attributes always.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    inside = "".join(_text(child) for child in children if child is not None)
    close = "" if tag in _VOID else f"{inside}</{tag}>"
    return Markup(f"<{tag}{attributes(names)}>{close}")


def attributes(names: dict[str, Any]) -> str:
    """Attributes from keywords: ``class_`` → class, ``data_cell`` → data-cell; None is left out.

    >>> attributes({"data_cell": 'a"b', "hidden": True, "title": None})
    ' data-cell="a&quot;b" hidden'
    """
    shown = {name.strip("_").replace("_", "-"): value for name, value in names.items()}
    return "".join(
        f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
        for name, value in shown.items()
        if value is not None and value is not False
    )


def assemble(
    title: str,
    lead: str,
    summary: Overview,
    tables: Sequence[Table],
    data: dict[str, Any],
    made: str,
) -> str:
    """The whole page, one file that needs no other."""
    script = _script()
    parts = {
        "title": html.escape(title),
        "lead": html.escape(lead),
        "made": html.escape(made),
        "style": template("page.css"),
        "script": script,
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "data": script_json(data),
        "summary": _summary(summary),
        "tables": _join(_article(f"t{i}", table) for i, table in enumerate(tables)),
        "environments": _environments(data),
    }
    page = template("page.html")
    pieces = page.split("{{")
    return pieces[0] + "".join(_filled(piece, parts) for piece in pieces[1:])


@cache
def template(name: str) -> str:
    """A file of ``templates``."""
    return files("amongst.bench").joinpath("templates", name).read_text("utf-8")


def _script() -> str:
    body = "\n".join(template(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


def _filled(piece: str, parts: dict[str, str]) -> str:
    name, _, rest = piece.partition("}}")
    return parts[name] + rest


def _text(child: str) -> str:
    return child if isinstance(child, Markup) else html.escape(child)


def _join(parts: Iterable[str]) -> Markup:
    return Markup("".join(map(_text, parts)))


def _summary(summary: Overview) -> Markup:
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
    told = _listed(summary.findings)
    return _join([element("dl", *figures, class_="figures"), *alerts, told, *folded])


def _listed(findings: Sequence[tuple[str, str]]) -> Markup:
    """A list, or a paragraph for one."""
    if len(findings) == 1:
        return element("p", *_strong(findings[0]))
    items = [element("li", *_strong(finding)) for finding in findings]
    return element("ul", _join(items), class_="findings") if items else Markup("")


def _strong(finding: tuple[str, str]) -> tuple[Markup, str]:
    title, text = finding
    return element("strong", f"{title}. ") if title else Markup(""), text


def _article(name: str, table: Table) -> Markup:
    """A table with its controls, plots, notes and command."""
    command = reproduce_command(table.plan)
    body = [
        element("h3", table.plan.title),
        element("div", class_="panels", id=f"{name}-panels") if is_figure(table.layout.places) else None,
        element("div", class_="controls", hidden=True),
        element("div", _grid(name, table), class_="scroll", tabindex="0", role="region",
                aria_label=table.plan.title),
        _legend(table),
        _plots(table),
        element("p", "To make it again: ", element("code", command), class_="note") if command else None,
    ]  # fmt: skip
    return element("article", *body, id=name)


def _legend(table: Table) -> Markup:
    told = notes(table)
    if table.published:
        told.append("Bold differences are further than two standard errors from the paper.")
    return element("ul", *(element("li", note) for note in told), class_="note")


def _plots(table: Table) -> Markup:
    parts: list[Markup] = []
    if any(entry.published for entry in table.filled):
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
    ids: dict[Place | None, str] = {
        place: f"{name}-{i}" for i, place in enumerate(table.layout.places)
    }
    width = len(table.layout.columns)
    bodies = [
        element("tbody", _group(group, width), *(_row(row, table, ids) for row in rows))
        for group, rows in table.layout.groups.items()
    ]
    heads = [
        _head("name", "Method"),
        *(_head(str(i), c) for i, c in enumerate(table.layout.columns)),
    ]
    tested = any(entry.pairs for entry in table.filled)
    return element(
        "table",
        element("caption", table.plan.title, class_="hidden"),
        element("thead", element("tr", *heads)),
        *bodies,
        class_="results holm" if table.significance.correction == "holm" else "results",
        data_paper="yes" if table.published else None,
        data_holm="yes" if tested and table.significance.correction == "none" else None,
    )


def _group(group: str, columns: int) -> Markup:
    return element(
        "tr", element("th", group, class_="group", scope="rowgroup", colspan=columns + 1)
    )


def _row(row: Row, table: Table, ids: Mapping[Place | None, str]) -> Markup:
    head = element(
        "th", *_row_name(row.label), scope="row", data_column="name", data_sort=row.label
    )
    cells = [
        _cell(i, ids.get(place, ""), table.at(place), table.significance.alpha)
        for i, place in enumerate(row.places)
    ]
    return element("tr", head, *cells, class_="row", data_text=f"{row.group} {row.label}")


def _row_name(label: str) -> tuple[str, Markup | None]:
    method, _, model = label.partition(", ")
    return method, element("small", model) if model else None


def _head(key: str, label: str) -> Markup:
    button = element("button", label, type="button")
    return element("th", button, scope="col", aria_sort="none", data_column=key)


def _cell(column: int, name: str, entry: Entry | None, alpha: float) -> Markup:
    key = {"data_column": str(column)}
    if entry is None:
        return element("td", data_sort="", **key)
    if not entry.n:
        missing = element(
            "span", "failed" if entry.failed else "–", _second_line(entry), class_="none"
        )
        return element("td", missing, data_sort="", **key)
    marks = "best" if entry.best else "second" if entry.second else None
    button = element(
        "button",
        _figure(entry, alpha),
        _second_line(entry),
        type="button",
        class_="cell",
        data_cell=name,
    )
    return element("td", button, class_=marks, data_sort=f"{entry.mean:.6f}", **key)


def _figure(entry: Entry, alpha: float) -> Markup:
    return element(
        "span",
        element("span", number(entry.mean), class_="mean"),
        None if entry.n < 2 else element("span", f" ± {number(entry.std)}", class_="std"),
        element("span", "*", class_="star raw") if entry.p <= alpha else None,
        element("span", "*", class_="star corrected") if entry.holm <= alpha else None,
        element("span", "†", class_="star", title="chosen by the oracle") if entry.oracle else None,
        element("span", f" {entry.n}/{entry.planned}", class_="short")
        if entry.n < entry.planned
        else None,
        class_="ours",
    )


def _second_line(entry: Entry) -> Markup | None:
    paper = entry.published
    if paper is None:
        return None
    side = "" if entry.agrees or not entry.n else "above" if entry.difference > 0 else "below"
    gap = (
        element("span", signed(entry.difference), class_=f"diff {side}".strip())
        if entry.n
        else None
    )
    spread = element("span", f" ± {number(paper.std)}", class_="std")
    star = "*" if paper.star else None
    shown = element(
        "span",
        element("span", "paper ", class_="hidden"),
        number(paper.mean),
        spread,
        star,
        class_="paper",
    )
    return element("span", shown, gap, class_="second-line")


def _environments(data: dict[str, Any]) -> Markup:
    blocks = []
    counts = data["trials"].get("environment", [])
    for i, found in enumerate(data["environments"]):
        pairs = [element("div", element("dt", k), element("dd", str(v))) for k, v in found.items()]
        head = f"No. {i + 1}: {found['device']}, {counted(counts.count(i), 'trial')}"
        blocks.append(element("details", element("summary", head),
                              element("dl", *pairs, class_="pairs"), open=i == 0))  # fmt: skip
    return _join(blocks)
