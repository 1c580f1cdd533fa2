"""What must be said beside a table so that its marks can be read."""

from __future__ import annotations

from collections.abc import Sequence

from amongst.bench.leftovers import FoundPlan
from amongst.bench.points import EPOCHS
from amongst.bench.tables import Entry, Table
from amongst.wording import counted

__all__ = ["metric_title", "notes"]

PAPER = EPOCHS["paper"]
LAST = 10
"""Epochs that a cell is the mean of."""

TOLD = 3
"""Cells whose failures are told below a table; the page lists all trials."""

_METRICS = {
    "accuracy": "test accuracy",
    "accuracy_final": "test accuracy after the last epoch",
    "covering_test": "covering rate, the share of predictions that are candidates, of test rows",
    "approximated_test": "approximated accuracy, from candidate sets alone, of test rows",
    "covering_val": "covering rate of held-out rows",
    "approximated_val": "approximated accuracy of held-out rows",
    "risk_val": "estimated risk of held-out rows",
    "accuracy_val": "accuracy on held-out rows",
}


def metric_title(metric: str) -> str:
    """The name of a metric for people.

    >>> metric_title("accuracy_final"), metric_title("covering_val_last10")
    ('test accuracy after the last epoch', 'covering rate of held-out rows, mean of the last ten epochs')
    """
    name = metric.removesuffix("_last10")
    title = _METRICS.get(name, name.replace("_", " "))
    return title if name == metric else f"{title}, mean of the last ten epochs"


def notes(table: Table) -> list[str]:
    """Sentences that explain a table: metric, marks, test, choice of settings, what is missing.

    >>> from amongst.bench.plans import Request, make_plan
    >>> from amongst.bench.tables import collect
    >>> notes(collect([], make_plan(Request("demo"))))[-1]
    '15 of 15 cells have no result yet.'
    """
    found = [_metric(table), _marks(table), _stars(table), _paper(table), _choice(table)]
    return [note for note in [*found, _oracle(table), *_gaps(table)] if note]


def _metric(table: Table) -> str:
    counts = sorted({entry.n for entry in table.filled})
    repeats = "" if not counts else f" over {_span(counts)} repeat{'s' * (counts[-1] != 1)}"
    title = metric_title(table.metric)
    return f"In percent: {title}, mean ± standard deviation (n − 1){repeats}.{_short(table)}"


def _short(table: Table) -> str:
    """In a short run the last ten epochs are not its end."""
    epochs = [int(entry.settings.get("epochs", PAPER)) for entry in table.filled]
    if not table.metric.endswith("_last10") or not 1 < min(epochs, default=PAPER) < 2 * LAST:
        return ""
    part = "all" if min(epochs) <= LAST else "most"
    return (
        f" Runs of {counted(min(epochs), 'epoch')}: that is {part} of them, so that a figure may lie "
        "below where its runs ended."
    )


def _span(counts: list[int]) -> str:
    return str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _marks(table: Table) -> str:
    second = "the second best" if table.layout.underline == "second" else "the best of a base model"
    return f"Bold: the best. Underlined: {second}."


def _stars(table: Table) -> str:
    rule = table.significance
    tested = [entry for entry in table.filled if entry.pairs]
    if not tested:
        return ""
    text = f"*: the best is significantly better ({rule.title}, p ≤ {rule.alpha:g}"
    text += f", Holm over {len(tested)} comparisons)." if rule.correction == "holm" else ")."
    if rule.test != "wilcoxon":
        return text
    pairs = max(entry.pairs for entry in tested)
    least = max(entry.least for entry in tested if entry.pairs == pairs)
    text += f" With {pairs} pairs the least p is {least:.2g}"
    reach = least * (len(tested) if rule.correction == "holm" else 1)
    return text + (": no star can be reached." if reach > rule.alpha else ".")


def _paper(table: Table) -> str:
    if not table.published:
        return ""
    text = "Second line: the paper's figure, and ours minus the paper's in percentage points."
    found = {int(e.settings.get("epochs", PAPER)) for e in table.filled if e.published}
    return text + (f" Ours: {_span(sorted(found))} epochs, not {PAPER}." if found - {PAPER} else "")


def _choice(table: Table) -> str:
    chosen = {entry.criterion for entry in table.filled} - {""}
    if not chosen:
        return "" if not table.filled else f"Settings: {_search(table)}; nothing was selected."
    most = max(entry.considered for entry in table.filled)
    names = ", ".join(sorted(map(metric_title, chosen)))
    return f"Settings: the best of up to {most} by {names}{_rounds(table)}."


def _rounds(table: Table) -> str:
    """How a search in rounds came to its choice."""
    request, words = table.plan.request, ""
    if not table.plan.staged:
        return ""
    if request.screen is not None:
        epochs = counted(request.screen, "epoch")
        words += f"; after {epochs} the best {request.kept_share:.0%} went on"
    if request.search_seeds is not None:
        words += f"; searched with {counted(request.search_seeds, 'seed')}"
    return words + "; then trained again on all training rows" * request.refit


def _search(table: Table) -> str:
    known = {
        "published": "the published ones or the nearest, else the method's default",
        "none": "each method's default",
    }
    if isinstance(table.plan, FoundPlan):
        return "as the trials have them, which no request here asks for"
    return known.get(table.plan.request.search, "one for each method")


def _oracle(table: Table) -> str:
    if not table.oracle:
        return ""
    return (
        "† chosen by the oracle, which reads true labels: on data of one's own such a figure "
        "cannot be had."
    )


def _gaps(table: Table) -> list[str]:
    entries = list(table.entries.values())
    empty = sum(not entry.n and not entry.failed for entry in entries)
    short = sum(0 < entry.n < entry.planned for entry in entries)
    open_ = sum(entry.n > 0 and entry.pending > 0 for entry in entries)
    return [
        f"{empty} of {len(entries)} cells have no result yet." if empty else "",
        f"{short} of {len(entries)} cells lack some of their repeats." if short else "",
        f"{open_} of {len(entries)} cells: the search is not finished, and the choice may change."
        if open_
        else "",
        *_failures([entry for entry in entries if entry.failed]),
    ]


def _failures(entries: Sequence[Entry]) -> list[str]:
    """How many trials failed, and what the first cells of them say."""
    if not entries:
        return []
    count = counted(sum(entry.failed for entry in entries), "trial")
    rest = f" {len(entries) - TOLD} more cells have such trials." if len(entries) > TOLD else ""
    return [
        f"{count} failed; a cell rests on its others, or says failed.{rest}",
        *(f"{entry.label}, {entry.place.where}: {entry.reason}" for entry in entries[:TOLD]),
    ]
