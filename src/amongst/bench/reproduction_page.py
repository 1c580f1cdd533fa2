"""The sections of the reproduction's page: sentences with computed numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amongst.bench.commands import reproduce_command
from amongst.bench.estimate import readable
from amongst.bench.plans import Request, make_plan, plan_titles
from amongst.bench.points import EPOCHS
from amongst.bench.reproduction_cost import Cost, PublicStyle, cost
from amongst.bench.reproduction_findings import (
    UNEQUAL,
    WAYS,
    automatic,
    below_table,
    counts_table,
    findings,
    peaks,
)
from amongst.bench.reproduction_found import FIGURES, TABLES, Reproduction, run_title
from amongst.bench.reproduction_gaps import find_gaps
from amongst.bench.reproduction_runs import Run, search_words
from amongst.bench.reproduction_sheet import make_sheet
from amongst.bench.reproduction_text import (
    LEGEND,
    bullets,
    margin_text,
    paragraph,
    pipe_table,
    sheet_table,
)

__all__ = ["picture", "reproduction_markdown"]

Section = Callable[[Reproduction], Sequence[str]]


def reproduction_markdown(found: Reproduction) -> str:
    """The page as text: the same evidence gives the same text, anywhere."""
    sections = [_head, _in_short, _what_was_run, *(_table(plan) for plan in TABLES), _others,
                _margins, *(_figure(plan) for plan in FIGURES), _beyond, _cost, _commands,
                _evidence]  # fmt: skip
    parts = [part for section in sections for part in section(found) if part]
    return "\n\n".join(parts) + "\n"


def _head(found: Reproduction) -> list[str]:
    return [
        "# The paper, run again",
        paragraph(
            f"Made by `amongst evidence pages {found.folder}` from the files in `{found.folder}` "
            "alone; a test compares. The paper is Wen et al., *Leveraged Weighted Loss for Partial "
            "Label Learning*, ICML 2021. [reproduction.html](reproduction.html), opened from a clone, "
            "sorts, filters, and shows the trials and learning curves behind each number."
        ),
    ]


def _in_short(found: Reproduction) -> list[str]:
    sheets = [found.sheets[plan] for plan in TABLES]
    said = findings(sheets, found.contests, found.evidence.records)
    below = below_table(sheets, plan_titles(), found.reasons)
    return [
        "## In short",
        bullets(said),
        counts_table(sheets, plan_titles()),
        *(["### What is not reproduced", below] if below else []),
    ]


def _what_was_run(found: Reproduction) -> list[str]:
    rows = [_run_row(run) for run in found.runs if run.records]
    owned = sum(len(run.records) for run in found.runs)
    rest = len(found.evidence.records) - owned
    more = f" {rest:,} more trials belong to no table of this page." if rest else ""
    head = ["plan", "settings", "device", "precision", "revision", "dates", "epochs", "repeats",
            "cells", "trials"]  # fmt: skip
    text = (
        f"{len(found.evidence.records):,} trials, none left out.{more} A trial that two runs share "
        "is counted with the first."
    )
    return ["## What was run", paragraph(text), pipe_table(head, rows, 6), _environments(found)]


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
    counts = {entry.planned for entry in run.table.filled}
    return [
        plan_titles()[request.plan].partition(":")[0],
        search_words(request),
        ", ".join(sorted({record.device for record in records})),
        request.precision,
        ", ".join(sorted({record.revision[:7] or "unknown" for record in records})),
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        str(request.epochs or EPOCHS["paper"]),
        " or ".join(map(str, sorted(counts))) or "–",
        f"{len(run.table.filled)} of {len(run.plan.cells)}",
        f"{len(records):,}",
    ]


def _table(plan: str) -> Section:
    def section(found: Reproduction) -> list[str]:
        legend = paragraph(LEGEND) if plan == TABLES[0] else "Marks as in Table 1."
        return [f"## {plan_titles()[plan]}", legend, *_sheet(found, plan)]

    return section


def _sheet(found: Reproduction, plan: str, whole: bool = True) -> list[str]:
    """The cells of a plan, and what is missing."""
    sheet = found.sheets[plan]
    gaps = find_gaps(sheet, found.runs, found.reasons, found.evidence.records)
    letters = {str(place): gap.letter for gap in gaps for place in gap.places}
    table = sheet_table(sheet, letters, whole=whole) if whole or sheet.filled else ""
    lead = "Without a number:" if gaps else ""
    return [table, lead, bullets(gap.text for gap in gaps)]


def _others(found: Reproduction) -> list[str]:
    """Runs whose numbers the tables above do not show, or not all of them."""
    parts = []
    for run in found.runs:
        if run.request.plan not in TABLES or not run.table.filled:
            continue
        shown = {id(cell.run) for cell in found.sheets[run.request.plan].filled}
        sheet = make_sheet(run.request.plan, [run])
        used = sum(c.run is run for c in found.sheets[run.request.plan].filled)
        if id(run) not in shown or used < len(sheet.filled):
            notes = sorted({c.entry.note for c in sheet.filled if c.entry.note})
            said = f"{'; '.join(notes).capitalize()}." if notes else ""
            parts += [
                f"### {run_title(run)}",
                paragraph(said),
                sheet_table(sheet, {}, whole=False),
            ]
    return ["## Other settings of the same cells", "Marks as in Table 1.", *parts] if parts else []


def _margins(found: Reproduction) -> list[str]:
    heads = WAYS | UNEQUAL
    ways = [way for way in heads if any(way in contest.ours for contest in found.contests)]
    if not ways:
        return []
    text = (
        "The best LW minus the best of RC, CC and PRODEN on the same data and condition, in "
        "percentage points. In the paper; and here, where every method was tuned on a grid in the "
        "same way. p: two-sided paired t test over the repeats; *: p ≤ 0.05. Folds of one data set "
        "share training rows, so that p of Table 2 is too small. –: a method is missing."
    )
    rows = [
        [c.where, margin_text(c.paper), *(margin_text(c.ours.get(way)) for way in ways)]
        for c in found.contests
        if c.ours
    ]
    head = ["data", "paper", *(heads[way] for way in ways)]
    return [
        "## LW's margin when every method is tuned alike",
        paragraph(text),
        pipe_table(head, rows),
    ]


def _figure(plan: str) -> Section:
    def section(found: Reproduction) -> list[str]:
        title = plan_titles()[plan]
        sheet = found.sheets[plan]
        shown = [f"![{title}]({picture(plan)})", paragraph(peaks(sheet))] if sheet.filled else []
        return [f"## {title}", *shown, *_sheet(found, plan, whole=False)]

    return section


def _beyond(found: Reproduction) -> list[str]:
    told = automatic(found.sheets["beyond"], found.sheets["table1"])
    return [
        f"## {plan_titles()['beyond']}",
        paragraph(told),
        *_sheet(found, "beyond", whole=False),
    ]


def _cost(found: Reproduction) -> list[str]:
    rows, total = [], []
    for plan in dict.fromkeys(run.request.plan for run in found.runs):
        records = [r for run in found.runs if run.request.plan == plan for r in run.records]
        total += records
        rows.append(_cost_row(plan_titles()[plan].partition(":")[0], cost(records, found.style)))
    rows.append(_cost_row("together", cost(total, found.style)))
    head = ["", "networks", "epochs in all", "GPU", "CPU", "methods without a network",
            "public-code style, extrapolated", "times"]  # fmt: skip
    return ["## Cost", paragraph(_cost_words(found.style)), pipe_table(head, rows)]


def _cost_row(name: str, found: Cost) -> list[str]:
    ours = found.gpu + found.cpu
    public = "–" if found.public != found.public else readable(found.public)
    times = f"{found.public / ours:,.0f}×" if ours and public != "–" else "–"
    spent = [readable(s) if s else "–" for s in (found.gpu, found.cpu, found.classical)]
    return [name, f"{found.trials:,}", f"{found.epochs:,}", *spent, public, times]


def _cost_words(style: PublicStyle | None) -> str:
    text = (
        "Time of training and evaluation, from the records; a model in a population has its share of "
        "the population's."
    )
    if style is None:
        return text
    return (
        f"{text} Public-code style was measured for one epoch and model ({style.mlp:.2f} s for an MLP "
        f"on 60,000 rows, {style.convnet:.2f} s for a ConvNet on 50,000; {style.machine}) and "
        "**extrapolated**: × epochs × trials × share of these rows; linear models are counted as "
        "MLPs. It was not run. It scores the training rows, too, and takes new weights from a second "
        "forward pass."
    )


def _commands(found: Reproduction) -> list[str]:
    asked = (make_plan(Request(**request)) for request in found.evidence.requests)
    lines = dict.fromkeys(filter(None, map(reproduce_command, asked)))
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
