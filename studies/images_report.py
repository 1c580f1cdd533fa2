"""The page of the image experiments, made from committed evidence alone by ``amongst evidence pages``: every
algorithm trained alike beside what papers print, LW with views part by part, and the seconds of each cell.
A cell that nobody ran says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from amongst.bench.paper import IMAGE_PLANS
from amongst.bench.places import Place, dataset_title, method_title, model_title
from amongst.bench.plans import make_plan, remembered, reproduce_command
from amongst.bench.record import Record
from amongst.bench.request import Request
from amongst.bench.tables import Entry
from amongst.files import write_atomically
from amongst.wording import counted, readable
from lw2021.evidence import Evidence, is_evidence, read_evidence
from lw2021.plans import CONDITIONS, OWN, PARTS, WIDE_CONDITIONS
from lw2021.reproduction.text import paragraph, pipe_table
from lw2021.runs import Run, find_runs

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "results" / "images"
PUBLISHED = ROOT / "results" / "published_images.json"
PAGE = "images-results.md"
NOT_RUN = "not run"
VIEWS = "lw-views"
MINUTE = 60.0
GOALS = (
    ("images", "q=0.1", 96.0, MINUTE),
    ("images", "q=0.5", 95.5, MINUTE),
    ("images-wide", "q=0.1", 97.45, 15 * MINUTE),
    ("images-wide", "q=0.3", 97.28, 15 * MINUTE),
    ("images-wide", "q=0.5", 97.05, 15 * MINUTE),
    ("images-wide", "q=0.7", 95.77, 15 * MINUTE),
    ("images-wide", "q=0.8", 94.41, 15 * MINUTE),
    ("images-wide", "q=0.5 eta=0.1", 95.52, 15 * MINUTE),
    ("images-wide", "q=0.5 eta=0.2", 95.89, 15 * MINUTE),
    ("images-wide", "q=0.5 eta=0.3", 94.18, 15 * MINUTE),
)
"""What LW with views was to reach before anything ran: a plan, its sets, a mean of at least so many
percent (a record: of more), and seconds of training."""
DATA = "cifar10"
WIDTH = 5
"""Columns of conditions that a table has room for."""


@dataclass(frozen=True)
class Found:
    """What a folder holds of the image plans.

    Attributes
    ----------
    evidence : all of it; None where there is no folder yet.
    runs : in the order in which they were asked for.
    """

    evidence: Evidence | None
    runs: tuple[Run, ...]

    @classmethod
    def read(cls, folder: str | Path) -> Found:
        """Of a folder that may be missing."""
        if not is_evidence(folder):
            return cls(None, ())
        evidence = read_evidence(folder)
        runs = find_runs(remembered(evidence.requests), evidence.records)
        return cls(evidence, tuple(r for r in runs if r.request.plan in IMAGE_PLANS))

    def of(self, plan: str) -> list[Run]:
        """The runs of one plan."""
        return [run for run in self.runs if run.request.plan == plan]

    def records_of(self, entry: Entry) -> list[Record]:
        """Behind an entry."""
        keys = set(entry.keys)
        records = self.evidence.records if self.evidence else ()
        return [record for record in records if record.keys & keys]

    def metric(self, entry: Entry | None, name: str) -> list[float]:
        """One value for each repeat that has it."""
        if entry is None:
            return []
        return [r.metrics[name] for r in self.records_of(entry) if name in r.metrics]


def write_pages(folder: str | Path, docs: str | Path) -> list[Path]:
    """Write the page; nothing where the folder holds no trial of the image plans.

    Parameters
    ----------
    folder : of evidence.
    docs : folder of pages.
    """
    found, path = Found.read(folder), Path(docs) / PAGE
    if not any(run.records for run in found.runs):
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page(found).encode())
    return [path]


def page(found: Found) -> str:
    """The page as text: the same evidence gives the same text, anywhere."""
    parts = [*_head(found), *_goals(found), *_beside(found)]
    for plan in IMAGE_PLANS:
        parts += _section(found, plan)
    return "\n\n".join(part for part in [*parts, *_made(found)] if part) + "\n"


def headline(found: Found) -> str:
    """For the README: what papers print, and LW with views, at each rate that was run."""
    runs = _of_views(found)
    if not runs:
        return "Nothing was run by now: `amongst reproduce images`."
    head = ["CIFAR-10", "best published", "with a ResNet-18", *map(_views_words, runs)]
    rows = []
    for condition in dict.fromkeys(row["condition"] for row in _published()):
        cells = [_with_seconds(found, run, condition) for run in runs]
        if any(cell != NOT_RUN for cell in cells):
            there = [row for row in _published() if row["condition"] == condition]
            small = [row for row in there if row["network"] == "ResNet-18"]
            best = [max(some, key=_value, default=None) for some in (there, small)]
            rows.append(
                [condition, *("–" if row is None else _printed(row) for row in best), *cells]
            )
    return pipe_table(head, rows, 3)


def _head(found: Found) -> list[str]:
    lines = [
        "# Images: what came out",
        paragraph(
            "Made by `amongst evidence pages results/images` from this folder and "
            "`results/published_images.json` alone; a test compares. Test accuracy in percent after the last epoch, mean ± standard deviation "
            "over seeds; with views at prediction, where the plan has them. No true label chose "
            "anything: settings are fixed by the plan, and every row trains. Seconds are of training, "
            "the test rows scored after each epoch among them; reading the data is not."
        ),
    ]
    if found.evidence is None:
        lines.append(paragraph("Nothing was run by now. `amongst reproduce images` runs it."))
    return lines


def _goals(found: Found) -> list[str]:
    """What was to be reached, and what was."""
    rows = []
    for plan, condition, least, limit in GOALS:
        reached = [
            (_accuracy([v / 100 for v in entry.values]), mean(entry.values), seconds)
            for run in found.of(plan)
            if (entry := _entry_of_views(run, condition)) is not None
            for seconds in [mean(found.metric(entry, "training_seconds"))]
        ]
        text, value, seconds = reached[0] if reached else (NOT_RUN, 0.0, 0.0)
        goal = f"{least:.2f} in {readable(limit)}"
        rows.append(
            [plan, condition, goal, text, *_said(value - least, seconds, limit, bool(reached))]
        )
    head = ["plan", "sets", "goal", "reached", "seconds", "outcome"]
    text = (
        "What LW with views was to reach, written down before anything ran: the mean of three seeds, and "
        "the mean seconds of training on one H200. The goals of 15 minutes are the best values that papers "
        "print, the first four with a WRN-34-10."
    )
    return ["## Goals", paragraph(text), pipe_table(head, rows, 3)]


def _said(over: float, seconds: float, limit: float, known: bool) -> list[str]:
    if not known:
        return ["–", "–"]
    late = f", {seconds - limit:.0f} s late" if seconds > limit else ""
    return [f"{seconds:.0f}", (f"missed by {-over:.2f}" if over < 0 else "reached") + late]


def _beside(found: Found) -> list[str]:
    """What papers print, and LW with views as the plans have it."""
    runs = _of_views(found)
    head = ["sets", "published", *map(_views_words, runs)]
    rows = [
        [
            row["condition"],
            _printed(row),
            *(_with_seconds(found, run, row["condition"]) for run in runs),
        ]
        for row in _published()
    ]
    text = (
        "Protocols differ: each line names the network and the epochs that a paper had. Papers as "
        f"read on {json.loads(PUBLISHED.read_text('utf-8'))['read']}."
    )
    return ["## Beside what papers print", paragraph(text), pipe_table(head, rows, 2)]


def _section(found: Found, plan: str) -> list[str]:
    title = IMAGE_PLANS[plan]
    runs = found.of(plan)
    lines = [f"## {_upper(title.partition(': ')[2])}", paragraph(_explained(plan))]
    if not runs:
        return [*lines, paragraph(f"Not run by now: `amongst reproduce {plan}`.")]
    for run in runs:
        lines.append(f"### {_upper(_run_words(run))}")
        lines += [*_tables(found, run), paragraph(_missing(run))]
    return lines


def _missing(run: Run) -> str:
    """What of the plan has no number in this run, and the command for all of it."""
    planned = _planned(run)
    filled = {(_label(p), _column(p)) for p, entry in run.table.entries.items() if entry.n}
    done = {label for label, _ in filled}, {column for _, column in filled}
    left = [list(dict.fromkeys(map(name, planned))) for name in (_label, _column)]
    none = [[n for n in names if n not in some] for names, some in zip(left, done, strict=True)]
    cells = len({(_label(p), _column(p)) for p in planned}) - len(filled)
    if not cells:
        return ""
    words = "; ".join(", ".join(names) for names in none if names)
    command = reproduce_command(replace(run.plan, request=replace(run.request, seeds=None)))
    which = f" ({words})" if words else ""
    return f"Not run by now: {counted(cells, 'cell')} of {len(set(planned))}{which}. All of them: `{command}`."


def _explained(plan: str) -> str:
    if plan == "images":
        return (
            "One network (FastNet), its augmentation, optimiser, schedule and epochs for all; each "
            "algorithm at the settings that its authors give. Epochs are alike and costs are not: an "
            "algorithm of two views sees each image twice an epoch, one of three three times, and the "
            "seconds say what that takes. q=0 has sets of one label: what the network learns from "
            "true labels. The plan has 80 epochs; 62 are what fits into a minute, by the time of an "
            "epoch on random images."
        )
    if plan == "images-own":
        differ = "; ".join(f"{method_title(n)}: {w}" for n, (_, _, w) in OWN.items() if w)
        return (
            "Network, epochs, batches, rate and decay as the authors' code has them, with a cosine "
            f"schedule. What differs there: {differ}."
        )
    if plan == "images-wide":
        return "FastNet of widths 192, 576 and 768, and views with colour jitter and larger cutout."
    return (
        "One setting changed at a time, the same seeds. β=0 leaves LW's part outside the set away; "
        "outside=lw gives it the paper's weights in place of ones."
    )


def _tables(found: Found, run: Run) -> list[str]:
    """Accuracy, then seconds and rows that were found, of what has a number."""
    planned = _planned(run)
    at = {(_label(p), _column(p)): e for p, e in run.table.entries.items() if e.n or e.failed}
    if not at:
        return [paragraph("Begun, and stopped before a trial was done.")]
    labels, columns = (
        [name for name in dict.fromkeys(map(word, planned)) if any(name in key for key in at)]
        for word in (_label, _column)
    )
    lines = []
    for first in range(0, len(columns), WIDTH):
        some = columns[first : first + WIDTH]
        best = {
            c: max((e.mean for (_, k), e in at.items() if k == c and e.n), default=0.0)
            for c in some
        }
        rows = [[name, *(_cell(at.get((name, c)), best[c]) for c in some)] for name in labels]
        lines.append(pipe_table(["", *some], rows))
    costs = [
        [label, column, *_cost(found, at[label, column])]
        for column in columns
        for label in labels
        if (label, column) in at
    ]
    head = ["", "sets", "seconds", "without views at prediction", "training rows right"]
    return [*lines, pipe_table(head, costs, 2)]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _planned(run: Run) -> list[Place]:
    """Of the whole plan, also what nobody asked for."""
    return [cell.slot.place for cell in make_plan(Request(run.request.plan)).cells]


def _column(place: Place) -> str:
    return place.condition if place.dataset == DATA else dataset_title(place.dataset)


def _label(place: Place) -> str:
    if place.variant in PARTS:
        return place.variant
    network = model_title(place.model) if place.model != "fastnet" else ""
    return ", ".join(filter(None, (method_title(place.method), network)))


def _cell(entry: Entry | None, best: float) -> str:
    if entry is None or not (entry.n or entry.failed):
        return NOT_RUN
    if not entry.n:
        return "failed"
    text = _accuracy([value / 100 for value in entry.values])
    return f"**{text}**" if entry.mean == best else text


def _accuracy(values: Sequence[float]) -> str:
    """Mean ± standard deviation, in percent; of one seed, so said."""
    percent = [100 * value for value in values]
    if len(percent) == 1:
        return f"{percent[0]:.2f} (1 seed)"
    seeds = "" if len(percent) == 3 else f" ({len(percent)} seeds)"
    return f"{mean(percent):.2f} ± {stdev(percent):.2f}{seeds}"


def _cost(found: Found, entry: Entry) -> list[str]:
    seconds = found.metric(entry, "training_seconds")
    others = [found.metric(entry, name) for name in ("accuracy_plain", "accuracy_train")]
    return [
        f"{mean(seconds):.1f}" if seconds else "–",
        *(_accuracy(v) if v else "–" for v in others),
    ]


def _of_views(found: Found) -> list[Run]:
    return [
        run
        for run in found.runs
        if run.request.plan in ("images", "images-wide")
        and any(entry.n for place, entry in run.table.entries.items() if place.method == VIEWS)
    ]


def _run_words(run: Run) -> str:
    """What a run's columns have in common."""
    settings = next(iter(run.plan.cells)).trials[0].settings
    wide = "wide, " if run.request.plan == "images-wide" else ""
    return f"{wide}{counted(int(settings['epochs']), 'epoch')}, {run.request.precision}"


def _views_words(run: Run) -> str:
    return f"LW with views, {_run_words(run)}"


def _entry_of_views(run: Run, condition: str) -> Entry | None:
    """Of LW with views at a condition, if it has a number."""
    places = run.table.entries.items()
    there = (e for p, e in places if (p.dataset, p.condition, p.method) == (DATA, condition, VIEWS))
    return next((entry for entry in there if entry.n), None)


def _with_seconds(found: Found, run: Run, condition: str) -> str:
    """Accuracy and seconds of LW with views at a condition."""
    entry = _entry_of_views(run, condition)
    if entry is None:
        return NOT_RUN
    seconds = mean(found.metric(entry, "training_seconds"))
    return f"{_accuracy([v / 100 for v in entry.values])}, {seconds:.0f} s"


def _published() -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = json.loads(PUBLISHED.read_text("utf-8"))["rows"]
    order = list(dict.fromkeys((*WIDE_CONDITIONS, *CONDITIONS)))
    return sorted(rows, key=lambda row: (order.index(row["condition"]), -row["value"]))


def _value(row: Mapping[str, Any]) -> float:
    return float(row["value"])


def _printed(row: Mapping[str, Any]) -> str:
    epochs = f"{row['epochs']} epochs" if row["epochs"] else ""
    return ", ".join(filter(None, (f"{row['value']:.2f}", row["who"], row["network"], epochs)))


def _made(found: Found) -> list[str]:
    if found.evidence is None:
        return []
    rows = [
        [e["device"], e["revision"][:7], e["versions"].get("torch", ""), str(e["trials"]),
         readable(e["seconds"])]
        for e in found.evidence.manifest["environments"]
    ]  # fmt: skip
    head = ["device", "revision", "torch", "trials", "time"]
    return ["## By what it was made", pipe_table(head, rows, 3)]
