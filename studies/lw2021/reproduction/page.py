"""The sections of the reproduction's page: sentences with computed numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amongst.bench.paper import PLAN_TITLES
from amongst.bench.places import Row
from amongst.bench.plans import reproduce_command
from amongst.bench.request import EPOCHS
from lw2021.plans import short_title
from lw2021.reproduction.below import below_table, settings_words, why_table
from lw2021.reproduction.beyond import automatic, beyond_margins
from lw2021.reproduction.cost_text import cost_section
from lw2021.reproduction.findings import (
    counts_table,
    in_detail,
    in_short,
    margins_table,
    peaks,
)
from lw2021.reproduction.found import FIGURES, TABLES, Reproduction, run_title
from lw2021.reproduction.gaps import find_gaps, still_to_run
from lw2021.reproduction.sheet import BELOW, Sheet, make_sheet
from lw2021.reproduction.text import (
    LEGEND,
    bullets,
    margin_text,
    paragraph,
    pipe_table,
    sheet_table,
)
from lw2021.reproduction.ways import UNEQUAL, WAYS
from lw2021.runs import Run, search_words

__all__ = ["picture", "reproduction_markdown"]

Section = Callable[[Reproduction], Sequence[str]]
MARGINS = (
    "The best LW minus the best of RC, CC and PRODEN, in percentage points, over comparisons (data, "
    "condition and base model) in which each method has two repeats or more; significant: two-sided "
    "paired t test over the repeats, p ≤ 0.05."
)
BELOW_TITLE = "Cells below the paper"
ORDER = (
    "A cell that several runs have is shown from a finished one; then the whole grid of a method "
    "comes before published settings, these before a grid that a short round cut, then defaults, "
    "then one grid for all; of two such runs, the one on all rows. Short rounds were put behind "
    "published settings after it was seen what they drop (In more detail); what is not shown here is under "
    "Other settings of the same cells."
)


def reproduction_markdown(found: Reproduction) -> str:
    """The page as text: the same evidence gives the same text, anywhere."""
    sections = [_head, _in_short, _in_detail, _what_was_run, *(_table(plan) for plan in TABLES), _below,
                _others, _margins, *(_figure(plan) for plan in FIGURES), _beyond, cost_section,
                _commands, _evidence]  # fmt: skip
    parts = [part for section in sections for part in section(found) if part]
    return "\n\n".join(parts) + "\n"


def _head(found: Reproduction) -> list[str]:
    return [
        "# The paper, run again",
        paragraph(
            f"Made by `amongst evidence pages {found.folder}` from the files in `{found.folder}` "
            "and measurements beside it alone; a test compares. The paper is Wen et al., *Leveraged Weighted Loss for Partial "
            "Label Learning*, ICML 2021. [reproduction.html](reproduction.html), opened from a clone, "
            "sorts, filters, and shows the trials and learning curves behind each number."
        ),
    ]


def _in_short(found: Reproduction) -> list[str]:
    why = why_table(found.tables, found.reasons)
    margins = margins_table(found.contests)
    lead = f"Cells with a number, by method; each cell is under [{BELOW_TITLE}](#{_anchor(BELOW_TITLE)})."
    return [
        "## In short",
        bullets(in_short(found)),
        counts_table(found.tables),
        *([paragraph(lead), why] if why else []),
        *([paragraph(MARGINS), margins] if margins else []),
    ]


def _in_detail(found: Reproduction) -> list[str]:
    told = bullets(in_detail(found))
    return ["## In more detail", told] if told else []


def _below(found: Reproduction) -> list[str]:
    """Every cell that is not reproduced, folded."""
    table = below_table(found.tables, found.reasons)
    count = sum(sheet.count(BELOW) for sheet in found.tables)
    lead = f"<details>\n<summary>{count} cells, by table and data</summary>"
    return [f"## {BELOW_TITLE}", lead, table, "</details>"] if table else []


def _anchor(title: str) -> str:
    """As GitHub makes it."""
    return title.lower().replace(" ", "-")


def _what_was_run(found: Reproduction) -> list[str]:
    rows = [_run_row(run) for run in found.runs if run.records]
    owned = sum(len(run.records) for run in found.runs)
    rest = len(found.evidence.records) - owned
    more = f" {rest:,} more trials belong to no table of this page." if rest else ""
    head = ["plan", "settings", "trained on", "revision", "dates", "epochs", "repeats", "cells",
            "trials"]  # fmt: skip
    text = (
        f"{len(found.evidence.records):,} trials, none left out.{more} A trial that two runs share "
        f"is counted with the first.{_held_out(found)}"
    )
    return ["## What was run", paragraph(text), pipe_table(head, rows, 5), _environments(found)]


def _held_out(found: Reproduction) -> str:
    """What part of the training rows nobody trained on."""
    shares = {r.trial.settings.get("validation", 0) for r in found.evidence.records} - {0}
    if not shares:
        return ""
    parts = " or ".join(f"{100 * float(share):g} %" for share in sorted(shares))
    some = any(run.request.refit for run in found.runs)
    lead = "Except for runs on all rows, every number" if some else "Every number"
    return (
        f" {lead} here, those of published settings too, is of networks that never saw {parts} of "
        "their training rows: these choose settings. The paper holds out as many for its search and "
        "does not say whether it gives them back for the final training."
    )


def _environments(found: Reproduction) -> str:
    """Devices and versions; revisions are with the runs."""
    counts: dict[str, int] = {}
    for facts in found.evidence.manifest["environments"]:
        parts = [f"{name} {version}" for name, version in facts["versions"].items()]
        where = f"{facts['device']}, engine {facts['engine']}: {', '.join(parts) or 'unknown'}"
        counts[where] = counts.get(where, 0) + facts["trials"]
    return bullets(f"{where}; {count:,} trials" for where, count in counts.items())


def _run_row(run: Run) -> list[str]:
    records, request = run.records, run.request
    days = sorted({record.created[:10] for record in records})
    cells, done = run.table.filled, [e for e in run.table.filled if not run.unfinished[e.place]]
    counts = {f"{e.n} of {e.planned}" if e.n < e.planned else str(e.n) for e in cells}
    return [
        short_title(request.plan),
        search_words(request),
        ", ".join([*sorted({record.device for record in records}), request.precision]),
        ", ".join(sorted({record.revision[:7] or "unknown" for record in records})),
        " to ".join(dict.fromkeys((days[0], days[-1]))).replace("-", "\u2011"),
        str(request.epochs or EPOCHS["paper"]),
        " or ".join(sorted(counts)) or "–",
        f"{len(done)}" + (f" + {rest} unfinished" if (rest := len(cells) - len(done)) else ""),
        f"{len(records):,}",
    ]


def _table(plan: str) -> Section:
    def section(found: Reproduction) -> list[str]:
        first = plan == TABLES[0]
        legend = [paragraph(LEGEND), paragraph(ORDER)] if first else ["Marks as in Table 1."]
        return [f"## {PLAN_TITLES[plan]}", *legend, *_sheet(found, plan)]

    return section


def _sheet(found: Reproduction, plan: str, whole: bool = True) -> list[str]:
    """The cells of a plan, where their settings come from, and what is missing."""
    sheet = found.sheets[plan]
    gaps = find_gaps(sheet, found.runs, found.reasons, found.evidence.records)
    letters = {place: gap.letter for gap in gaps for place in gap.places}
    rows = [row for row in sheet.layout.rows if whole or _any(sheet, row)]
    places = [place for row in rows for place in row.places if place]
    table = sheet_table(sheet, letters, only=places) if places else ""
    left = still_to_run(sheet)
    lead = "Without a number, or without all repeats:" if left else "Without a number:"
    words = paragraph(settings_words(sheet.filled)) if plan in TABLES else ""
    lines = [*(gap.text for gap in gaps), *left]
    return [table, words, *([lead, bullets(lines)] if lines else [])]


def _any(sheet: Sheet, row: Row) -> bool:
    return any(place and sheet.cells[place].entry.n for place in row.places)


def _others(found: Reproduction) -> list[str]:
    """The cells of runs that the tables above show from another run."""
    runs = [run for run in found.runs if run.request.plan in TABLES]
    parts = [part for run in runs for part in _rest(run, found.sheets[run.request.plan])]
    lead = "Marks as in Table 1; bold is the best of the run."
    return ["## Other settings of the same cells", lead, *parts] if parts else []


def _rest(run: Run, above: Sheet) -> list[str]:
    """The cells of a run that the sheet has from another."""
    sheet = make_sheet(run.request.plan, [run])
    rest = {
        place: cell
        for place, cell in sheet.cells.items()
        if cell.entry.n and above.cells[place].run is not run
    }
    if not rest:
        return []
    words = settings_words(list(rest.values()))
    return [f"### {run_title(run)}", paragraph(words), sheet_table(sheet, {}, only=rest)]


def _margins(found: Reproduction) -> list[str]:
    heads = WAYS | UNEQUAL
    ways = [way for way in heads if any(way in contest.ours for contest in found.contests)]
    if not ways:
        return []
    text = (
        "The best LW, named by its ψ, minus the best of RC, CC and PRODEN on the same data and "
        "condition, in percentage points. In the paper, and here by way of tuning. p: two-sided paired t test over the repeats; *: p ≤ 0.05. Folds of one data set "
        "share training rows, so that p of Table 2 is too small. …: some repeats are still to run. –: "
        "a method is missing."
    )
    rows = [
        [c.where, margin_text(c.paper), *(margin_text(c.ours.get(way)) for way in ways)]
        for c in found.contests
        if c.ours
    ]
    head = ["data", "paper", *(heads[way] for way in ways)]
    return [
        "## LW's margin, by way of tuning",
        paragraph(text),
        pipe_table(head, rows),
    ]


def _figure(plan: str) -> Section:
    def section(found: Reproduction) -> list[str]:
        title = PLAN_TITLES[plan]
        sheet = found.sheets[plan]
        shown = [f"![{title}]({picture(plan)})", paragraph(peaks(sheet))] if sheet.filled else []
        return [f"## {title}", *shown, *_sheet(found, plan)]

    return section


def _beyond(found: Reproduction) -> list[str]:
    return [
        f"## {PLAN_TITLES['beyond']}",
        paragraph(automatic(found)),
        paragraph(beyond_margins(found, "published")),
        *_sheet(found, "beyond", whole=False),
    ]


def _commands(found: Reproduction) -> list[str]:
    asked = map(reproduce_command, found.plans)
    lines = dict.fromkeys(filter(None, asked))
    text = (
        "As remembered by the stores, oldest first; `--store FILE` keeps the results, and where they "
        "run (`--device`, `--engine`) is for the person to say."
    )
    return ["## Commands", paragraph(text), "\n".join(["```", *lines, "```"])]


def _evidence(found: Reproduction) -> list[str]:
    curves = found.evidence.manifest["curves"]
    dropped = f" ({', '.join(curves['dropped'])})" if curves["dropped"] else ""
    text = (
        f"`{found.folder}/trials.parquet` has every trial: settings, metrics, error, seconds, device, "
        "engine, versions, revision, date, digest of the data. `curves.parquet` has the test accuracy "
        f"after each epoch of the {curves['trials']:,} trials that a table reports; the other curves"
        f"{dropped}, and those of the other trials, were dropped. `manifest.json` has the requests and "
        "the environments; `reasons.json`, by hand, why cells are missing."
    )
    more = (
        f"`amongst report {found.folder}` and `amongst results {found.folder}` read the folder as "
        f"they read a store; `amongst evidence unpack {found.folder} --store runs.sqlite` makes a "
        "store of it, from which `amongst reproduce … --store runs.sqlite` goes on."
    )
    return ["## Evidence", paragraph(text), paragraph(more)]


def picture(plan: str) -> str:
    """The file of a figure, beside the page."""
    return f"reproduction-{plan}.png"
