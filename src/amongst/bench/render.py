"""A computed table as Markdown, LaTeX, CSV, or for the terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from amongst.bench.leftovers import FoundPlan
from amongst.bench.notes import notes
from amongst.bench.paper import Published
from amongst.bench.tables import Entry, Table

__all__ = [
    "cell_text",
    "number",
    "p_text",
    "paper_text",
    "signed",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_rich",
]

MISSING = "–"
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "−": r"$-$", "–": "--", "≤": r"$\le$", "†": r"$\dagger$", "α": r"$\alpha$",
    "β": r"$\beta$", "μ": r"$\mu$", "τ": r"$\tau$", "ψ": r"$\psi$",
}  # fmt: skip


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign; a dash for NaN.

    >>> number(-0.5), number(float("nan"))
    ('−0.50', '–')
    """
    return MISSING if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.125), signed(-0.02), signed(0.001)
    ('+0.12', '−0.02', '0.00')
    """
    text = number(value)
    if text.strip("−0.") == "":
        return text.removeprefix("−")
    return text if value < 0 or text == MISSING else f"+{text}"


def p_text(p: float) -> str:
    """A p value for people, held together by no-break spaces.

    >>> p_text(0.03125)
    'p\\xa0=\\xa00.031'
    """
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.2g}"


def cell_text(entry: Entry) -> str:
    """Mean ± standard deviation and its marks, without typography."""
    if not entry.n:
        return "failed" if entry.failed else MISSING
    spread = "" if math.isnan(entry.std) else f" ± {number(entry.std)}"
    return f"{number(entry.mean)}{spread}{marks(entry)}"


def marks(entry: Entry) -> str:
    """The star, the dagger of the oracle, and how many repeats there are if some lack."""
    count = f" {entry.n}/{entry.planned}" if 0 < entry.n < entry.planned else ""
    return ("*" if entry.star else "") + ("†" if entry.oracle else "") + count


def paper_text(entry: Entry) -> str:
    """The paper's figure and the difference; empty where the paper has none."""
    if entry.published is None:
        return ""
    gap = f" ({signed(entry.difference)})" if entry.n else ""
    return f"paper {published_text(entry.published)}{gap}"


def published_text(published: Published) -> str:
    """The paper's figure as printed, with its star."""
    star = "*" if published.star else ""
    return f"{number(published.mean)} ± {number(published.std)}{star}"


def to_markdown(table: Table) -> str:
    """A pipe table with its notes; the paper's figure stands below ours.

    >>> from amongst.bench.plans import Request, make_plan
    >>> from amongst.bench.tables import collect
    >>> plan = make_plan(Request("table1", datasets=("mnist",), methods=("rc",)))
    >>> print(to_markdown(collect([], plan)).splitlines()[4])
    | MNIST | RC, MLP | –<br>paper 98.44 ± 0.11* | –<br>paper 98.29 ± 0.05* | ...
    """
    head = ["", "Method", *table.layout.columns]
    lines = [_pipes(map(_markdown, head)), _pipes(["---"] * len(head))]
    for group, rows in table.layout.groups.items():
        for i, row in enumerate(rows):
            names = [_markdown(group if i == 0 else ""), _markdown(row.label)]
            lines.append(_pipes([*names, *(_markdown_cell(table.at(p)) for p in row.places)]))
    said = "\n".join(f"- {_markdown(note)}" for note in notes(table))
    return f"### {_markdown(table.plan.title)}\n\n" + "\n".join(lines) + f"\n\n{said}\n"


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
            lines.append(
                " & ".join([*names, *(_latex_cell(table.at(p)) for p in row.places)]) + r" \\"
            )
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])


_COLUMNS: dict[str, Callable[[Entry], object]] = {
    "dataset": lambda e: e.place.dataset,
    "condition": lambda e: e.place.condition,
    "variant": lambda e: e.place.variant,
    "method": lambda e: e.place.method,
    "model": lambda e: e.place.model,
    "n": lambda e: e.n,
    "planned": lambda e: e.planned,
    "failed": lambda e: e.failed,
    "mean": lambda e: e.mean,
    "std": lambda e: e.std,
    "low95": lambda e: e.low,
    "high95": lambda e: e.high,
    "best": lambda e: e.best,
    "underlined": lambda e: e.second,
    "star": lambda e: e.star,
    "p": lambda e: e.p,
    "p_holm": lambda e: e.holm,
    "least_p": lambda e: e.least,
    "paper_mean": lambda e: e.published.mean if e.published else math.nan,
    "paper_std": lambda e: e.published.std if e.published else math.nan,
    "paper_star": lambda e: e.published.star if e.published else "",
    "paper_mark": lambda e: e.published.mark if e.published else "",
    "difference": lambda e: e.difference,
    "criterion": lambda e: e.criterion,
    "considered": lambda e: e.considered,
    "oracle": lambda e: e.oracle,
    "settings": lambda e: json.dumps(dict(e.settings)),
    "values": lambda e: json.dumps([round(value, 6) for value in e.values]),
}


def to_csv(table: Table) -> str:
    """One line for each planned cell, all that is known of it; NaN is left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["plan", "title", *_COLUMNS])
    plan = "" if isinstance(table.plan, FoundPlan) else table.plan.request.plan
    for place in table.layout.places:
        entry = table.entries[place]
        found = [read(entry) for read in _COLUMNS.values()]
        writer.writerow([plan, table.plan.title, *map(_csv, found)])
    return text.getvalue()


def to_rich(table: Table) -> Group:
    """For the terminal, 80 columns wide or more: ``rich.print(to_rich(table))``."""
    title, said = Text(table.plan.title, style="bold"), Text("\n".join(notes(table)), style="dim")
    return Group(title, _drawn(table), said)


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    drawn.add_column("Method", max_width=16, overflow="fold")
    for head in table.layout.columns:
        drawn.add_column(Text(head), overflow="fold")
    for group, rows in table.layout.groups.items():
        drawn.add_row(Text(group, style="bold"))
        for i, row in enumerate(rows):
            cells = [_rich_cell(table.at(place)) for place in row.places]
            drawn.add_row(Text(row.label), *cells, end_section=i == len(rows) - 1)
    return drawn


def _pipes(cells: object) -> str:
    return "| " + " | ".join(cells) + " |"  # type: ignore[arg-type]


def _markdown(text: str) -> str:
    """Text that Markdown leaves alone."""
    for mark in "\\`*_[]<>|~":
        text = text.replace(mark, {"<": "&lt;", ">": "&gt;"}.get(mark, f"\\{mark}"))
    return " ".join(text.split())


def _markdown_cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    text, tail = _split(entry)
    if entry.best:
        text = f"**{text}**"
    elif entry.second:
        text = f"<u>{text}</u>"
    below = _markdown(paper_text(entry)).replace("\\*", "*")
    return f"{text}{_markdown(tail)}" + (f"<br>{below}" if below else "")


def _split(entry: Entry) -> tuple[str, str]:
    """The figure, and the marks behind it."""
    tail = marks(entry) if entry.n else ""
    return cell_text(entry).removesuffix(tail), tail


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _latex_cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    figure, tail = _split(entry)
    text = _latex(figure)
    if entry.best:
        text = f"\\textbf{{{text}}}"
    elif entry.second:
        text = f"\\underline{{{text}}}"
    below = _latex(paper_text(entry))
    text += _latex(tail)
    return f"\\makecell[l]{{{text}\\\\ \\scriptsize {below}}}" if below else text


def _csv(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(round(value, 8))
    return value


def _rich_cell(entry: Entry | None) -> Text:
    """Two lines: ours; the paper's and the difference."""
    if entry is None:
        return Text("")
    figure, tail = _split(entry)
    text = Text(figure, style="bold" if entry.best else "underline" if entry.second else "")
    text.append(tail, style="not underline")
    if entry.published is None:
        return text
    below = f"\n{published_text(entry.published)}"
    text.append(below, style="dim not bold not underline")
    gap = f" {signed(entry.difference)}" if entry.n else ""
    return text.append(gap, style="not bold not underline")
