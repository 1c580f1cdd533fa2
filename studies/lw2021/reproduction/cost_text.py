"""The section on cost: what the runs took beside what the style of public code would take."""

from __future__ import annotations

from amongst.bench.record import Record
from amongst.wording import readable
from lw2021.plans import short_title
from lw2021.reproduction.cost import Cost, PublicStyle, cost, gpu_span
from lw2021.reproduction.found import Reproduction
from lw2021.reproduction.text import paragraph, pipe_table

__all__ = ["cost_section"]

GPU = [
    "",
    "networks",
    "epochs in all",
    "GPU, wall time",
    "public-code style, extrapolated",
    "times",
]
CPU = ["", "networks on a CPU", "CPU, wall time", "trials without a network", "CPU, wall time"]


def cost_section(found: Reproduction) -> list[str]:
    """Heading, words, a table for GPUs, and one for CPUs if any were used."""
    costs = _costs(found)
    gpu = [_gpu_row(name, c) for name, c in costs.items() if c.networks]
    cpu = [_cpu_row(name, c) for name, c in costs.items() if c.cpu_networks or c.classical]
    words = paragraph(_words(found.style) + _shared(found)) if gpu else ""
    return [
        "## Cost",
        words,
        pipe_table(GPU, gpu) if gpu else "",
        pipe_table(CPU, cpu) if cpu else "",
    ]


def _costs(found: Reproduction) -> dict[str, Cost]:
    """Of each plan, and of all together."""
    owned: dict[str, list[Record]] = {}
    for run in found.runs:
        owned.setdefault(short_title(run.request.plan), []).extend(run.records)
    owned["together"] = [record for records in owned.values() for record in records]
    return {name: cost(records, found.style) for name, records in owned.items()}


def _gpu_row(name: str, found: Cost) -> list[str]:
    known = found.public == found.public and found.seconds > 0
    public = readable(found.public) if known else "–"
    times = f"{found.public / found.seconds:,.0f}×" if known else "–"
    return [name, f"{found.networks:,}", f"{found.epochs:,}", _time(found.seconds), public, times]


def _cpu_row(name: str, found: Cost) -> list[str]:
    spent = [
        (found.cpu_networks, found.cpu_seconds),
        (found.classical, found.classical_seconds),
    ]
    return [name, *(text for count, s in spent for text in _pair(count, s))]


def _pair(count: int, seconds: float) -> tuple[str, str]:
    return (f"{count:,}", _time(seconds)) if count else ("–", "–")


def _time(seconds: float) -> str:
    """Seconds, and what people say for them.

    >>> _time(1356.2), _time(42)
    ('1,356 s (22.6 min)', '42 s')
    """
    exact = f"{seconds:,.0f} s"
    rough = readable(seconds)
    return exact if rough == exact else f"{exact} ({rough})"


def _words(style: PublicStyle | None) -> str:
    text = (
        "Seconds of training and evaluation by each table's records; a network in a population has "
        "its share of the population's time."
    )
    if style is None:
        return text
    return (
        f"{text} Public-code style was measured for one epoch and network ({style.mlp:.2f} s for an "
        f"MLP on 60,000 rows, {style.convnet:.2f} s for a ConvNet on 50,000; {style.machine}) and "
        "**extrapolated**: × epochs × networks × share of these rows; linear models are counted as "
        "MLPs. It was not run. It scores the training rows, too, and takes new weights from a second "
        "forward pass."
    )


def _shared(found: Reproduction) -> str:
    """That wall time overstates, where the clock shows it."""
    spent, clock = gpu_span(found.evidence.records)
    if spent <= clock:
        return ""
    return (
        f" Ours is wall time while several processes shared the GPU: {readable(spent)} by the records "
        f"within {readable(clock)} by the clock. So it overstates what each table took, and the last "
        "column understates."
    )
