"""`amongst theory` in a terminal: what holds, the erratum, the thresholds, and Theorem 2 as a map."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from amongst.devices import one_thread
from amongst.files import write_atomically
from lw2021.theory import verification
from lw2021.theory.counterexample import COUNTEREXAMPLE
from lw2021.theory.page import HEADINGS, theory_page
from lw2021.theory.summary import TOPS, RegionMap, ThresholdRow, region_map, threshold_table
from lw2021.theory.verification import Check

__all__ = ["MAPS", "show"]

SHADES, PLAIN_SHADES = " ·░▒▓█", " .:+*#"
MARKS, PLAIN_MARKS = ("✓", "✗"), ("holds", "fails")
MAPS = {"equal": "w = 1", "initial": "w = 1/|s|, 1/(K−|s|)", "following": "w follows scores"}


def show(html: Path | None, problems: int, seed: int) -> bool:
    """Verify, print, and write the page if one is asked for; whether all is as documented."""
    started = time.perf_counter()
    console = Console()
    plain = console.options.ascii_only  # where letters beyond ASCII may all become question marks
    with one_thread():
        checks = verification.verify(problems, seed)
        for part in (_check_table(checks, plain), _erratum(), _thresholds(), _regions(plain)):
            console.print(part)
            console.print()
        if html is not None:
            write_atomically(html, theory_page(checks).encode())
            console.print(f"page written to {html}", highlight=False, markup=False, soft_wrap=True)
    console.print(_verdict(checks, time.perf_counter() - started))
    return all(check.as_expected for check in checks)


def _check_table(checks: Sequence[Check], plain: bool) -> Table:
    table = Table(
        title="The theory of the Leveraged Weighted loss, checked",
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    table.add_column("")
    table.add_column("statement")
    table.add_column("measured", justify="right")
    table.add_column("what is measured", style="dim")
    holds, fails = PLAIN_MARKS if plain else MARKS
    for check in checks:
        mark = Text(holds, "green") if check.holds else Text(fails, "bold red")
        words = Text.assemble((f"{check.name}. ", "bold"), check.claim)
        table.add_row(mark, words, f"{check.measured:.2g}", check.unit)
    return table


def _erratum() -> Group:
    q, beta = COUNTEREXAMPLE.q, COUNTEREXAMPLE.beta
    lines = Table(box=None, show_header=False, pad_edge=False)
    for name, factor in (("corrected", "(1−q_z)"), ("as printed", "  q_z  ")):
        form = Text(f"w_y ψ(g_y) + Σ w_z [ q_z ψ(g_z) + β {factor} ψ(−g_z) ]")
        form.highlight_words([factor], "bold green" if name == "corrected" else "bold red")
        lines.add_row(name, form)
    words = (
        f"Two labels, scores 0, weights 1, q = {q:g}, β = {beta:g}. The set is {{y}} with "
        f"probability {1 - q:g} and costs 1/2 + β/2 = {0.5 + beta / 2:g}, or both labels with "
        f"probability {q:g} and costs 1. The risk is {1 - q:g}·{0.5 + beta / 2:g} + {q:g}·1 ="
    )
    numbers = Text.assemble(
        words,
        (f" {COUNTEREXAMPLE.exact:g}", "bold green"),
        f"; the corrected form gives {COUNTEREXAMPLE.corrected:g}, the printed one",
        (f" {COUNTEREXAMPLE.printed:g}", "bold red"),
        ".",
    )
    return Group(
        Text("Erratum: Theorem 1 holds as printed at q = 1/2 only", "bold"), lines, numbers
    )


def _thresholds() -> Group:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for _, words in HEADINGS:
        table.add_column(words, justify="right")
    for row in threshold_table():
        table.add_row(*_cells(row, [name for name, _ in HEADINGS]))
    words = (
        "Fixed weights push a wrong label down only if β is above the odds. Weights that sum to "
        "one on either side need less at first (early threshold; sigmoid scores sink together "
        "beyond early OVA), and the odds again once a wrong label is believed."
    )
    return Group(Text("β, with K = 10", "bold"), table, Text(words, "dim"))


def _cells(row: ThresholdRow, names: Sequence[str]) -> list[str]:
    values = [getattr(row, name) for name in names]
    return [f"{value:.1f}" if value >= 10 else f"{value:.2f}" for value in values]


def _regions(plain: bool) -> Group:
    betas, qs = np.geomspace(0.1, 100, 10)[::-1].copy(), np.linspace(0.05, 0.95, 16)
    maps = {title: region_map("sigmoid", kind, betas, qs) for kind, title in MAPS.items()}
    shades = PLAIN_SHADES if plain else SHADES
    drawn = [_map(found, title, shades) for title, found in maps.items()]
    none, every = shades[1], shades[-1]
    words = (
        f"Sigmoid, K = 5; rows β, columns q = 0.05 to 0.95. {every} the minimiser ranks the Bayes "
        f"label first for all of {len(TOPS)} posteriors (largest {', '.join(map(str, TOPS))}), {none} "
        f"for none. Theorem 2 claims {every} for every β > 0. The cross-entropy form has {every} "
        "everywhere."
    )
    title = Text("Theorem 2: where the top score is the Bayes label", "bold")
    return Group(title, Columns(drawn, padding=(0, 3)), Text(words, "dim"))


def _map(found: RegionMap, title: str, shades: str) -> Text:
    text = Text(f"{title}\n", "bold")
    for beta, counts in zip(found.betas.tolist(), found.counts.tolist(), strict=True):
        text.append(f"{beta:>6.2f} ", style="not bold dim")
        text.append("".join(shades[count + 1] for count in counts) + "\n", style="not bold cyan")
    text.right_crop(1)
    return text


def _verdict(checks: Sequence[Check], seconds: float) -> Text:
    refuted = sum(check.refuted for check in checks)
    odd = [check for check in checks if not check.as_expected]
    if odd:
        return Text(f"NOT as documented: {odd[0].name}: {odd[0].claim}", "bold red")
    return Text(
        f"{len(checks) - refuted} statements hold and {refuted} printed ones fail, as documented "
        f"({seconds:.1f} s).",
        "bold green",
    )
