"""Markdown for the page of the reproduction: paragraphs, tables, and the cells of a sheet."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

from amongst.bench.conditions import REAL
from amongst.bench.places import Place, Row, method_title, model_title
from amongst.bench.tables import Entry
from amongst.bench.words import number, p_text, signed
from lw2021.reproduction.margins import Margin
from lw2021.reproduction.sheet import BELOW, REPRODUCED, Sheet, Shown

__all__ = [
    "LEGEND",
    "bullets",
    "figure_text",
    "listed",
    "margin_text",
    "paragraph",
    "pipe_table",
    "plain",
    "sheet_table",
]

_CODE, _HOLD = re.compile(r"`[^`]+`"), "\ue000"
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_LIST = re.compile(r" (?=(?:\d+[.)]|[-+*#>]+)(?: |$))")
ROOMY, NARROW = 3, 5
"""Columns that have room for a line of a cell, and for a figure, on a page of GitHub."""
OWN_SETS = "the data's own candidate sets"
MARKS = {REPRODUCED: " ✓", BELOW: " ✗"}
LEGEND = (
    "Test accuracy in %, mean ± standard deviation over the repeats; 1/5: so many of the repeats "
    "that the paper has. Bold: our best of that data and condition. ✓: at least the paper's mean "
    "minus two of its standard deviations; ✗: below that. ‡: settings were not searched. °: trained "
    "on all training rows, none held out. …: trials of the cell are still to run. *oracle*: the same "
    "search, settings chosen by true labels of held-out rows. In brackets: ours minus the paper's."
)


def paragraph(text: str, first: str = "", other: str = "") -> str:
    """Lines of a page's width; code is never broken, and no line begins as a list would.

    >>> paragraph("word " * 19 + "all 6. More").splitlines()[1]
    'all 6. More'
    >>> print(paragraph("word " * 18 + "`code that stays together`"))
    word word word word word word word word word word word word word word word word word word
    `code that stays together`
    """
    held = _CODE.sub(lambda code: code[0].replace(" ", _HOLD), text)
    held = _LIST.sub(_HOLD, held)
    lines = textwrap.TextWrapper(
        100,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.fill(held).replace(_HOLD, " ")


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(paragraph(item, "- ", "  ") for item in items)


def pipe_table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """A table whose first columns are texts and whose others are numbers.

    >>> print(pipe_table(["a", "b"], [["x", "1"]]))
    | a | b |
    | --- | ---: |
    | x | 1 |
    """
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def listed(names: Iterable[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    found = list(names)
    return found[0] if len(found) == 1 else ", ".join(found[:-1]) + " and " + found[-1]


def plain(text: str) -> str:
    """Without the marks of Markdown: a link is its words, code its letters.

    >>> plain("[a study](defaults.md#few-rows) with `--search equal`")
    'a study with --search equal'
    """
    return _LINK.sub(r"\1", text).replace("`", "")


def figure_text(entry: Entry) -> str:
    """Mean ± standard deviation, and how many repeats there are if some lack."""
    spread = f" ± {number(entry.std)}" if entry.n > 1 else ""
    count = f" {entry.n}/{entry.planned}" if entry.n < entry.planned else ""
    return f"{number(entry.mean)}{spread}{count}"


def margin_text(margin: Margin | None) -> str:
    """A margin, p where there is one, and who is compared: LW by its ψ."""
    if margin is None:
        return "–"
    who = f"{method_title(margin.winner).removeprefix('LW-')} − {method_title(margin.rival)}"
    p = f" ({p_text(margin.p)})" if margin.tested else ""
    some = "" if margin.whole else " …"
    return f"{signed(margin.value)}{'*' * abs(margin.side)}{some}{p}<br>{who}"


def sheet_table(
    sheet: Sheet, letters: Mapping[Place, str], *, only: Collection[Place] | None = None
) -> str:
    """The cells of a sheet.

    Parameters
    ----------
    sheet : see `Sheet`.
    letters : place → letter of the reason why there is no number.
    only : places to show, without rows and columns that have none of them; None for all.
    """
    wanted = set(sheet.layout.places if only is None else only)
    rows = [row for row in sheet.layout.rows if wanted & set(row.places)]
    columns = sheet.layout.columns
    kept = [i for i in range(len(columns)) if any(row.places[i] in wanted for row in rows)]
    best, models = {entry.place for entry in sheet.best}, _models(rows)
    lines, group = [], ""
    for row in rows:
        model, places = models[row.group], (row.places[i] for i in kept)
        cells = [_cell(sheet.cells[p], letters, best) if p in wanted else "" for p in places]
        cells = [_unbroken(cell, len(kept)) for cell in cells]
        head = ", ".join(dict.fromkeys(filter(None, (row.group, model))))
        lines.append([head if row.group != group else "", _without(row.label, model), *cells])
        group = row.group
    heads = [OWN_SETS if columns[i] == REAL else columns[i] for i in kept]
    return pipe_table(["", "", *heads], lines, 2 + len(kept))


def _unbroken(cell: str, columns: int) -> str:
    """No-break spaces where there is room: in a whole line, or within a figure.

    >>> _unbroken("paper 9 ± 1", 5)
    'paper 9\\xa0±\\xa01'
    """
    if columns <= ROOMY:
        return cell.replace(" ", "\u00a0")
    return cell.replace(" ± ", "\u00a0±\u00a0") if columns <= NARROW else cell


def _models(rows: Iterable[Row]) -> dict[str, str]:
    """The base model of each group that has but one."""
    found: dict[str, set[str]] = {}
    for row in rows:
        names = {model_title(place.model) for place in row.places if place}
        found[row.group] = found.get(row.group, set()) | names
    return {group: names.pop() if len(names) == 1 else "" for group, names in found.items()}


def _without(label: str, model: str) -> str:
    """The label of a row whose group has the model.

    >>> _without("LW-Sigmoid, MLP, β=auto", "MLP")
    'LW-Sigmoid, β=auto'
    """
    return ", ".join(part for part in label.split(", ") if part != model)


def _cell(shown: Shown, letters: Mapping[Place, str], best: set[Place]) -> str:
    place, parts = shown.entry.place, []
    if shown.entry.n:
        text = figure_text(shown.entry)
        text = f"**{text}**" if place in best else text
        untuned = shown.untuned and shown.entry.published
        flags = {" ‡": untuned, " °": shown.on_all_rows, " …": shown.unfinished}
        more = "".join(mark for mark, there in flags.items() if there)
        parts.append(text + MARKS.get(shown.verdict, "") + more)
    else:
        gap = f"not run ({letters[place]})" if place in letters else "–"
        parts.append("failed" if shown.entry.failed else gap)
    if shown.oracle is not None:
        parts.append(f"*oracle* {figure_text(shown.oracle)}")
    return "<br>".join(parts + _paper(shown))


def _paper(shown: Shown) -> list[str]:
    paper = shown.entry.published
    if paper is None:
        return []
    gap = f" ({signed(shown.entry.difference)})" if shown.entry.n else ""
    return [f"paper {number(paper.mean)} ± {number(paper.std)}{gap}"]
