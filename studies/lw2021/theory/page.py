"""One self-contained page with the checks, the erratum, the thresholds and the plots."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from lw2021.theory.counterexample import COUNTEREXAMPLE
from lw2021.theory.figures import DRESSES, Figure, figures
from lw2021.theory.summary import ThresholdRow, threshold_table
from lw2021.theory.verification import Check

__all__ = ["theory_page"]

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #5b636e; --line: #d8dce1;
  --paper: #ffffff; --good: #12805c; --bad: #b3400a; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --faint: #a0a9b4; --line: #333a42;
  --paper: #16191d; --good: #4cc79a; --bad: #f59454; } figure .light { display: none; } }
@media print, (prefers-color-scheme: light) { figure .dark { display: none; } }
body { margin: 2.5rem auto; max-width: 60rem; padding: 0 1.25rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p.lead, figcaption, td.unit { color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; } td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.holds { color: var(--good); font-weight: 600; white-space: nowrap; }
.fails { color: var(--bad); font-weight: 600; white-space: nowrap; }
.formula { font-family: ui-monospace, monospace; font-size: .92rem; margin: .3rem 0 .3rem 1.2rem; }
figure { margin: 0 0 1rem; } figure img { width: 100%; height: auto; }
figcaption { font-size: .88rem; }
@media print { :root { color-scheme: light; } body { margin: 0; max-width: none; padding: 0;
  font-size: 9.5pt; } .scroll { overflow: visible; } table { font-size: 8pt; }
  th.number { white-space: normal; } tr, figure { break-inside: avoid; } h2 { break-after: avoid; } }
"""

HEADINGS = (
    ("q", "q"),
    ("odds", "odds"),
    ("ova", "OVA"),
    ("early", "early threshold"),
    ("neutral", "early neutral"),
    ("one_vs_all", "early OVA"),
    ("reversal", "reversal"),
    ("sigmoid", "auto sigmoid"),
    ("cross_entropy", "auto cross entr."),
)


def theory_page(checks: Sequence[Check]) -> str:
    """The page as HTML, with every plot inside it, in light and dark.

    Parameters
    ----------
    checks : what `verify` gave.

    Returns
    -------
    str, a whole HTML document that loads nothing.
    """
    plots = "".join(_figure(figure) for figure in figures())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>The theory of the Leveraged Weighted loss, checked</title>"
        f"<style>{STYLE}</style></head><body>{_head(checks)}{_erratum()}{_checks(checks)}"
        f"{_thresholds(threshold_table())}{plots}</body></html>"
    )


def _head(checks: Sequence[Check]) -> str:
    refuted = sum(check.refuted for check in checks)
    state = "as documented" if all(c.as_expected for c in checks) else "NOT all as documented"
    return (
        "<h1>The theory of the Leveraged Weighted loss, checked</h1>"
        f'<p class="lead">{len(checks) - refuted} statements verified, {refuted} printed ones '
        f"refuted, {state}. Written by <code>amongst theory --html</code>.</p>"
    )


def _erratum() -> str:
    example = COUNTEREXAMPLE
    return (
        "<h2>The erratum</h2><p>Given the true label y and fixed weights, the risk is</p>"
        '<p class="formula">w<sub>y</sub> ψ(g<sub>y</sub>) + Σ<sub>z≠y</sub> w<sub>z</sub> '
        "[ q<sub>z</sub> ψ(g<sub>z</sub>) + β <b>(1 − q<sub>z</sub>)</b> ψ(−g<sub>z</sub>) ]</p>"
        "<p>Theorem 1 prints q<sub>z</sub> in place of (1 − q<sub>z</sub>): its proof sums the "
        "sets that lack z as if they contained it. The smallest counterexample can be done by "
        f"hand: two labels, scores 0, weights 1, q = {example.q:g}, β = {example.beta:g}. "
        f"The set {{y}} (probability {1 - example.q:g}) costs ½ + β·½ = {0.5 + example.beta / 2:g}, "
        f"both labels (probability {example.q:g}) cost 1, so the risk is "
        f"<b>{example.exact:g}</b>. The corrected form gives {example.corrected:g}, "
        f"the printed one <b>{example.printed:g}</b>.</p>"
    )


def _checks(checks: Sequence[Check]) -> str:
    rows = "".join(_check_row(check) for check in checks)
    return (
        '<h2>What holds, and how exactly</h2><div class="scroll"><table><thead><tr><th></th>'
        '<th>Statement</th><th></th><th class="number">Measured</th><th>What is measured</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _check_row(check: Check) -> str:
    verdict = '<td class="holds">✓ holds</td>' if check.holds else '<td class="fails">✗ fails</td>'
    return (
        f"<tr>{verdict}<td>{escape(check.name)}</td><td>{escape(check.claim)}</td>"
        f'<td class="number">{check.measured:.2g}</td><td class="unit">{escape(check.unit)}</td></tr>'
    )


def _thresholds(rows: Sequence[ThresholdRow]) -> str:
    head = "".join(f'<th class="number">{escape(words)}</th>' for _, words in HEADINGS)
    body = "".join(
        "<tr>" + "".join(f'<td class="number">{_number(getattr(row, name))}</td>' for name, _ in HEADINGS) + "</tr>"
        for row in rows
    )  # fmt: skip
    return (
        "<h2>β, with K = 10</h2><p>With fixed weights a wrong label is pushed down only if β is "
        "above the odds. The weights of the algorithm sum to one on either side of the set, which "
        "moves the threshold: early, β has to lie between the early threshold and early OVA; "
        "later, a wrong belief is given up if β is above the odds again.</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _number(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _figure(figure: Figure) -> str:
    drawn = "".join(
        f'<img class="{name}" src="{_inline(figure.svg(DRESSES[name]))}" alt="{escape(figure.alt)}">'
        for name in ("light", "dark")
    )
    return (
        f"<h2>{escape(figure.title)}</h2><figure>{drawn}"
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _inline(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
