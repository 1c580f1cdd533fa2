"""A computed table as Markdown, LaTeX, CSV, or for the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from operator import attrgetter

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from amongst.bench.paper import Published
from amongst.bench.tables import Entry, Table
from amongst.bench.words import MISSING, notes, number, signed

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        "±": r"$\pm$", "−": r"$-$", "–": "--", "≤": r"$\le$", "†": r"$\dagger$", "α": r"$\alpha$",
        "β": r"$\beta$", "μ": r"$\mu$", "τ": r"$\tau$", "ψ": r"$\psi$",
    }
)  # fmt: skip
MARKDOWN = str.maketrans({m: f"\\{m}" for m in "\\`*_[]|~"} | {"<": "&lt;", ">": "&gt;"})
COLUMNS = {
    **{name: f"place.{name}" for name in ("dataset", "condition", "variant", "method", "model")},
    **{name: name for name in ("n", "planned", "failed", "mean", "std")},
    "low95": "low",
    "high95": "high",
    "best": "best",
    "underlined": "second",
    "star": "star",
    "p": "p",
    "p_holm": "holm",
    "least_p": "least",
    **{f"paper_{name}": f"published.{name}" for name in ("mean", "std", "star", "mark")},
    **{name: name for name in ("difference", "criterion", "considered", "oracle")},
    "settings": "settings",
    "values": "values",
}
"""Of a CSV file, and where in an entry they are."""


def published_text(published: Published) -> str:
    """The paper's figure as printed, with its star."""
    return f"{number(published.mean)} ± {number(published.std)}{'*' * published.star}"


def to_markdown(table: Table) -> str:
    """A pipe table with its notes; the paper's figure stands below ours.

    >>> from amongst.bench.plans import Request, make_plan
    >>> from amongst.bench.tables import collect
    >>> plan = make_plan(Request("table1", datasets=("mnist",), methods=("rc",)))
    >>> print(to_markdown(collect([], plan)).splitlines()[4])
    | MNIST | RC, MLP | –<br>paper 98.44 ± 0.11* | –<br>paper 98.29 ± 0.05* | ...
    """
    head = ["", "Method", *table.layout.columns]
    lines = [map(_markdown, head), ["---"] * len(head)]
    for group, rows in table.layout.groups.items():
        for i, row in enumerate(rows):
            names = [_markdown(group if i == 0 else ""), _markdown(row.label)]
            lines.append([*names, *(_markdown_cell(table.at(place)) for place in row.places)])
    drawn = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    said = "\n".join(f"- {_markdown(note)}" for note in notes(table))
    return f"### {_markdown(table.plan.title)}\n\n{drawn}\n\n{said}\n"


def to_latex(table: Table) -> str:
    """A ``tabular`` for the packages booktabs and makecell, with its notes as a caption."""
    columns = table.layout.columns
    lines = [
        "% needs \\usepackage{booktabs,makecell}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_latex(table.plan.title)}. {_latex(' '.join(notes(table)))}}}",
        f"\\begin{{tabular}}{{ll{'l' * len(columns)}}}",
        "\\toprule",
        " & ".join(["", "Method", *map(_latex, columns)]) + r" \\",
    ]
    for group, rows in table.layout.groups.items():
        lines.append("\\midrule")
        for i, row in enumerate(rows):
            names = [_latex(group if i == 0 else ""), _latex(row.label)]
            cells = [*names, *(_latex_cell(table.at(place)) for place in row.places)]
            lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])


def to_csv(*tables: Table) -> str:
    """One line for each planned cell of the tables, all that is known of it; NaN is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["plan", "title", *COLUMNS])
    for table in tables:
        names = ["" if table.plan.found else table.plan.request.plan, table.plan.title]
        for place in table.layout.places:
            found = [_csv(table.entries[place], path) for path in COLUMNS.values()]
            writer.writerow([*names, *found])
    return text.getvalue()


def to_rich(table: Table) -> Group:
    """For the terminal, 80 columns wide or more: ``rich.print(to_rich(table))``."""
    drawn = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    widest = max(16, 80 - 16 * len(table.layout.columns))
    drawn.add_column("Method", max_width=widest, overflow="fold")
    for head in table.layout.columns:
        drawn.add_column(Text(head), overflow="fold")
    for group, rows in table.layout.groups.items():
        drawn.add_row(Text(group, style="bold"))
        for i, row in enumerate(rows):
            cells = [_rich_cell(table.at(place)) for place in row.places]
            drawn.add_row(Text(row.label), *cells, end_section=i == len(rows) - 1)
    title, said = Text(table.plan.title, style="bold"), Text("\n".join(notes(table)), style="dim")
    return Group(title, drawn, said)


def _figure(entry: Entry) -> tuple[str, str]:
    """Mean ± standard deviation, and the marks behind: the star, the dagger of the oracle, and how
    many repeats there are if some lack."""
    if not entry.n:
        return "failed" if entry.failed else MISSING, ""
    spread = "" if math.isnan(entry.std) else f" ± {number(entry.std)}"
    count = f" {entry.n}/{entry.planned}" if entry.n < entry.planned else ""
    return f"{number(entry.mean)}{spread}", "*" * entry.star + "†" * entry.oracle + count


def _paper(entry: Entry) -> str:
    """The paper's figure and the difference; empty where the paper has none."""
    if entry.published is None:
        return ""
    gap = f" ({signed(entry.difference)})" if entry.n else ""
    return f"paper {published_text(entry.published)}{gap}"


def _markdown(text: str) -> str:
    """Text that Markdown leaves alone."""
    return " ".join(text.translate(MARKDOWN).split())


def _markdown_cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text, tail = _figure(entry)
    text = f"**{text}**" if entry.best else f"<u>{text}</u>" if entry.second else text
    below = _paper(entry)
    return text + tail.translate(MARKDOWN) + (f"<br>{below}" if below else "")


def _latex(text: str) -> str:
    return " ".join(text.split()).translate(LATEX)


def _latex_cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text, tail = (part.translate(LATEX) for part in _figure(entry))
    mark = "\\textbf" if entry.best else "\\underline" if entry.second else ""
    text = f"{mark}{{{text}}}" if mark else text
    below = _latex(_paper(entry))
    return f"\\makecell[l]{{{text}{tail}\\\\ \\scriptsize {below}}}" if below else text + tail


def _csv(entry: Entry, path: str) -> object:
    if path.startswith("published") and entry.published is None:
        return ""
    value = attrgetter(path)(entry)
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(round(value, 8))
    if isinstance(value, tuple):
        return json.dumps([round(item, 6) for item in value])
    return json.dumps(dict(value)) if isinstance(value, Mapping) else value


def _rich_cell(entry: Entry | None) -> Text:
    """Two lines: ours; the paper's and the difference."""
    if entry is None:
        return Text("")
    figure, tail = _figure(entry)
    text = Text(figure, style="bold" if entry.best else "underline" if entry.second else "")
    text.append(tail, style="not underline")
    if entry.published is None:
        return text
    text.append(f"\n{published_text(entry.published)}", style="dim not bold not underline")
    gap = f" {signed(entry.difference)}" if entry.n else ""
    return text.append(gap, style="not bold not underline")
