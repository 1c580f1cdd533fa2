"""What the page's scripts show is what Python computes, also for odd data, and can be found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from amongst.bench import Record, Trial
from amongst.bench.plans import Request, make_plan
from amongst.bench.report import Report, build_report, to_html
from amongst.bench.tables import Significance
from amongst.bench.words import number, overview, signed
from lw2021.theory.page import theory_page
from lw2021.theory.verification import Check

WAIT = "new Promise(done => setTimeout(() => requestAnimationFrame(done), 50))"
FACTS = """
[...document.querySelectorAll('button.cell')].map(button => {
  button.click();
  const read = root => [...root.querySelectorAll('.pairs div')].map(e => [...e.children].map(c => c.textContent));
  const [facts, repeats] = document.querySelectorAll('dialog section');
  const found = {id: button.dataset.cell, facts: Object.fromEntries(read(facts)), values: read(repeats)};
  document.querySelector('dialog').close();
  return found;
})
"""


def _ties() -> list[Record]:
    """Float32 noise below a tie, exact ties, and differences that round to zero."""
    rng = np.random.default_rng(0)
    plan = make_plan(Request("table1", datasets=("mnist",), conditions=("q=0.1",)))
    noisy = np.float32(rng.integers(9000, 9900, len(plan.trials)) / 1e4 + 5e-5)
    ties = rng.integers(700, 799, len(plan.trials)) / 800
    near = [(slot.published.mean - 1e-3) / 100 for slot in (c.slot for c in plan.cells)]  # type: ignore[union-attr]
    chosen = {"rc": noisy, "cc": ties, "proden": noisy.astype(float) - 1e-9}
    return [
        Record(trial, {"accuracy_last10": float(chosen.get(trial.method, near)[i % 5])})
        for i, trial in enumerate(plan.trials)
    ]


@pytest.fixture
def shown(page: Any, tmp_path: Path) -> Callable[[Report], Any]:
    """Opens the page of a report."""

    def show(report: Report) -> Any:
        path = tmp_path / "page.html"
        path.write_text(to_html(report), encoding="utf-8")
        page.screen(1280, 900)
        page.open(path.as_uri())
        page.js(WAIT)
        return page

    return show


def _record(method: str, seed: int, value: float = 0.5, *, dataset: str = "mine", **more: Any) -> Record:  # fmt: skip
    trial = Trial(dataset, "q=0.1", method, "mlp", seed, settings={"lr": 0.1})
    return Record(trial, {"accuracy_final": value}, **more)


def test_dialogs_say_what_python_says(shown: Callable[[Report], Any]) -> None:
    plan = make_plan(Request("table1", datasets=("mnist",), conditions=("q=0.1",)))
    report = build_report(_ties(), [plan], significance=Significance("t"))
    (table,) = report.tables
    entries = {f"t0-{i}": table.entries[place] for i, place in enumerate(table.layout.places)}
    found = shown(report).js(FACTS)
    assert len(found) == 5
    for cell in found:
        entry, facts = entries[cell["id"]], cell["facts"]
        assert facts["mean of 5"] == f"{number(entry.mean)} %"
        assert facts["standard deviation"] == number(entry.std)
        assert facts["95 % confidence interval"] == f"{number(entry.low)} to {number(entry.high)}"
        assert facts["difference"] == f"{signed(entry.difference)} points"
        assert [value for _, value in cell["values"]] == [number(v) for v in entry.values]
        assert not any("least p" in name for name in facts), "a t test has none"


def test_a_small_p_is_not_zero(shown: Callable[[Report], Any]) -> None:
    values = {"a": 0.9, "b": 0.5}
    records = [_record(m, s, v + 1e-5 * (s % 3)) for m, v in values.items() for s in range(8)]
    records = [*records, _record("b", 8, 0.5001), _record("a", 8, 0.9)]
    found = shown(build_report(records, significance=Significance("t"))).js(FACTS)
    told = [v for cell in found for k, v in cell["facts"].items() if k.startswith("p, ")]
    assert len(told) == 1
    assert 0 < float(told[0].replace("\u2212", "-")) < 1e-6


def test_the_list_of_trials_says_what_python_says(shown: Callable[[Report], Any]) -> None:
    records = _ties()
    values = shown(build_report(records)).js(
        "[...document.querySelectorAll('table.trials tbody tr')].map(e => e.children[6].textContent)"
    )
    assert values == [number(100 * record.metrics["accuracy_last10"]) for record in records]


def test_words_find_what_begins_with_them(shown: Callable[[Report], Any]) -> None:
    sets = [f"set{i}" for i in range(40)] + ["MSRCv2"]
    records = [_record(m, 0, dataset=name) for name in sets for m in ("rc", "cc", "proden")]
    page = shown(build_report(records))

    def count(words: str) -> str:
        page.js(
            "(() => { const box = document.querySelector('#trials input');"
            f"box.value = {json.dumps(words)}; box.dispatchEvent(new Event('input')); }})()"
        )
        return page.js("document.querySelector('#trials [role=status]').textContent")  # type: ignore[no-any-return]

    for words, found in {"rc": 41, "cc": 41, "lr=0.1": 123, "set1 rc": 11, "[": 0, "=0.1": 123}.items():  # fmt: skip
        assert count(words) == f"{found} of 123 trials", words
    assert count(records[0].key[:12]) == "1 of 123 trials"


def test_a_tip_stands_before_the_dialog(shown: Callable[[Report], Any]) -> None:
    page = shown(build_report([_record("rc", seed, 0.5 + seed / 10) for seed in range(3)]))
    page.click("button.cell")
    page.js(WAIT)
    middle = "(e => [e.x + e.width / 2, e.y + e.height / 2])"
    page.move(*page.js(f"{middle}(document.querySelector('dialog section .mark').getBoundingClientRect())"))  # fmt: skip
    assert page.js("document.querySelector('.tip').innerText") == "seed 0: 50.00"
    page.js("document.querySelector('.tip').style.pointerEvents = 'auto'")
    at = f"document.elementFromPoint(...{middle}(document.querySelector('.tip').getBoundingClientRect()))"
    assert page.js(f"{at}.className") == "tip"


def test_curves_of_one_epoch_are_points(shown: Callable[[Report], Any]) -> None:
    records = [_record(m, s, curves={"loss": (1.0 + s,)}) for m in ("rc", "cc") for s in range(2)]
    page = shown(build_report(records))
    assert page.js("document.querySelectorAll('#curves .panel svg .mark').length") == 2
    page.js("document.querySelector('#curves rect[tabindex]').focus({preventScroll: true})")
    page.press("End", 35)
    assert page.js("document.querySelector('.tip').innerText") == "epoch 1\nRC 1.5\nCC 1.5"


def test_epochs_are_whole(shown: Callable[[Report], Any]) -> None:
    page = shown(build_report([_record("rc", 0, curves={"loss": (3.0, 2.0, 1.0)})]))
    axis = page.js(
        "[...document.querySelectorAll('#curves svg text[text-anchor=middle]')].map(e => e.textContent)"
    )
    assert axis == ["1", "2", "3", "epoch"]


def test_repeats_of_other_lengths_are_joined_by_epoch(shown: Callable[[Report], Any]) -> None:
    long = tuple(float(i) for i in range(1, 401))
    records = [_record("rc", seed, curves={"loss": long[: 400 - 200 * seed]}) for seed in range(2)]
    page = shown(build_report(records))
    page.js("document.querySelector('#curves rect[tabindex]').focus({preventScroll: true})")
    for _ in range(20):
        page.press("ArrowLeft", 37)
        epoch, line = page.js("document.querySelector('.tip').innerText").split("\n")
        assert float(line.split()[-1]) == pytest.approx(float(epoch.split()[-1]), rel=1e-3)


def test_the_focus_on_a_chart_can_be_seen(shown: Callable[[Report], Any]) -> None:
    page = shown(build_report([_record("rc", 0, curves={"loss": (3.0, 2.0, 1.0)})]))
    page.press("Tab", 9)
    page.js("document.querySelector('#curves rect[tabindex]').focus()")
    style = "getComputedStyle(document.querySelector('#curves rect[tabindex]')).outlineStyle"
    assert page.js(style) == "solid"


def test_without_curves_nothing_leads_to_them(shown: Callable[[Report], Any]) -> None:
    page = shown(build_report([_record("rc", 0)]))
    links = "[...document.querySelectorAll('.bar a')].filter(e => e.offsetParent).map(e => e.hash)"
    assert page.js(links) == ["#summary", "#tables", "#trials", "#environment"]


def test_long_names_leave_room_for_numbers(shown: Callable[[Report], Any]) -> None:
    names = ["x" * 200, "rc", "cc"]
    sets = ("one", "two", "y" * 200)
    page = shown(
        build_report([_record(m, s, dataset=d) for d in sets for m in names for s in range(2)])
    )
    right = "e => e.getBoundingClientRect().right"
    for kind in (".mean", ".trials th:nth-child(7)", ".control"):
        assert max(page.js(f"[...document.querySelectorAll('{kind}')].map({right})")) < 1280
    left = "[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().left)"
    assert min(page.js(left)) > 0


def test_all_who_lead_are_named() -> None:
    values = {("a", "one"): 0.9, ("b", "one"): 0.8, ("a", "two"): 0.8, ("b", "two"): 0.9}
    records = [_record(m, 0, v, dataset=d) for (m, d), v in values.items()]
    found = overview(records, build_report(records).tables).findings[0][1]
    assert found.startswith("A and B are each best in 1 of 2 comparisons.")


def test_the_theory_is_printed_in_light_and_whole(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = b"<svg xmlns='http://www.w3.org/2000/svg' width='90' height='30'/>"
    figure = SimpleNamespace(title="one", alt="one", caption="one", svg=lambda dress: drawn)
    monkeypatch.setattr("lw2021.theory.page.figures", lambda: [figure])
    path = tmp_path / "theory.html"
    path.write_text(theory_page([Check("Lemma", "it sums to one", 0.0, 1e-12)]), encoding="utf-8")
    shown = "[...document.images].filter(e => e.offsetParent).map(e => e.className)"
    for dark in (False, True):
        page.screen(688, 1000, dark=dark)
        page.open(path.as_uri())
        assert page.js(shown) == ["dark" if dark else "light"]
    page.call("Emulation.setEmulatedMedia", media="print", features=[
        {"name": "prefers-color-scheme", "value": "dark"}])  # fmt: skip
    assert page.js(shown) == ["light"]
    assert page.js("getComputedStyle(document.body).color") == "rgb(31, 35, 40)"
    assert page.js(
        "[...document.querySelectorAll('table')].every(e => e.scrollWidth <= innerWidth)"
    )
    page.call("Emulation.setEmulatedMedia", media="")
