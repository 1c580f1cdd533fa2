"""The page in a real browser: it renders, sorts, filters, drills down, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amongst.bench import Record, Trial, demo
from amongst.bench.plans import Request, make_plan
from amongst.bench.report import build_report, to_html

EVIL = "<script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"
WAIT = "new Promise(done => setTimeout(() => requestAnimationFrame(done), 50))"


@pytest.fixture(scope="module")
def files(
    tmp_path_factory: pytest.TempPathFactory, synthetic: Callable[..., list[Record]]
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    pages = {
        "table": _page(synthetic, Request("table1", datasets=("mnist", "kmnist"))),
        "folds": _page(synthetic, Request("table2", datasets=("lost", "birdsong"))),
        "figure": _page(synthetic, Request("figure1"), Request("figure2")),
        "grid": _page(synthetic, Request("demo", search="grid", criterion="oracle", seeds=2)),
        "evil": to_html(build_report(_evil())),
        "demo": _page(
            synthetic, Request("demo"), opening=demo._opening(demo.find_labels(60, 1, 2))
        ),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def _page(synthetic: Callable[..., list[Record]], *requests: Request, opening: Any = None) -> str:
    plans = [make_plan(request) for request in requests]
    records = {r.key: r for plan in plans for r in synthetic(plan, epochs=40)}
    failed = next(iter(records.values()))
    records[failed.key] = Record(failed.trial, error="the loss became NaN at epoch 3")
    return to_html(build_report(records.values(), plans), opening=opening)


def _evil() -> list[Record]:
    return [
        Record(
            Trial(EVIL, EVIL, EVIL + name, EVIL, seed, settings={EVIL: EVIL}),
            {"accuracy_last10": 0.5 + 0.1 * seed, EVIL: 0.5},
            {"accuracy_test": (0.1, 0.5, 0.4), EVIL: (1.0, 2.0, float("nan"))},
            device=EVIL,
            versions={EVIL: EVIL},
            revision=EVIL,
            error=EVIL if seed == 2 else "",
        )
        for seed in range(3)
        for name in "abc"
    ]


def opened(page: Any, path: Path, width: int = 1280, *, dark: bool = False) -> Any:
    page.screen(width, 900, dark=dark, mobile=width < 600)
    page.open(path.as_uri())
    page.js(WAIT)
    return page


def column(page: Any, number: int, group: int = 0) -> list[float]:
    cells = f"table.results tbody:nth-of-type({group + 1}) tr.row:not([hidden]) [data-column='{number}']"
    return page.js(f'[...document.querySelectorAll("{cells}")].map(e => +e.dataset.sort)')  # type: ignore[no-any-return]


def texts(page: Any, selector: str) -> list[str]:
    found = f"[...document.querySelectorAll({json.dumps(selector)})].filter(e => e.offsetParent)"
    return page.js(f"{found}.map(e => e.textContent)")  # type: ignore[no-any-return]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["table", "folds", "figure", "grid", "evil", "demo"])
def test_it_renders_without_complaints_or_requests(
    page: Any, files: dict[str, Path], name: str, width: int
) -> None:
    opened(page, files[name], width, dark=width == 390)
    assert page.complaints() == []
    assert [url for url in page.requests() if not url.startswith(("file:", "data:"))] == []
    assert page.js("document.querySelectorAll('svg .mark, svg .line').length") > 0
    assert page.js("innerWidth") == width, "the page is wider than the screen"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["table", "evil", "demo"])
def test_nobody_is_shut_out(
    page: Any, axe: str, files: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    opened(page, files[name], width, dark=dark)
    assert page.violations(axe) == []


def test_a_head_sorts_within_each_group(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    before = column(page, 0)
    head = "table.results thead th[data-column='0']"
    orders = []
    for _ in range(3):
        page.click(f"{head} button")
        orders.append(page.js(f'document.querySelector("{head}").getAttribute("aria-sort")'))
        now = column(page, 0)
        expected = {"ascending": sorted(before), "descending": sorted(before, reverse=True)}
        assert now == expected.get(orders[-1], before)
    assert orders == ["descending", "ascending", "none"]
    assert texts(page, "th.group") == ["MNIST", "Kuzushiji-MNIST"]


def test_names_sort_from_a_to_z_first(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    page.click("table.results thead th[data-column='name'] button")
    names = texts(page, "table.results tbody:first-of-type tr.row th")
    assert names == sorted(names)
    assert page.js("document.querySelector('th[data-column=name]').ariaSort") == "ascending"


def test_rows_filter_by_words(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    page.click("#t0 input[type=search]")
    page.type("kuzushiji lw")
    assert texts(page, "th.group") == ["Kuzushiji-MNIST"]
    names = texts(page, "tr.row th")
    assert len(names) == 2
    assert all(name.startswith("LW") for name in names)


def test_what_stands_beside_a_figure_can_be_hidden(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    assert len(texts(page, ".cell .paper")) == 30
    page.js(
        "[...document.querySelectorAll('#t0 .controls .control')].find(e => e.textContent.includes('paper')).click()"
    )
    assert texts(page, ".cell .paper") == []
    assert len(texts(page, ".cell .diff")) == 30


def test_holm_takes_stars_away(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    assert len(texts(page, ".star")) > 5
    page.js(
        "[...document.querySelectorAll('#t0 .controls .control')].find(e => e.textContent.startsWith('Holm')).click()"
    )
    assert texts(page, ".star") == []


def test_a_cell_opens_its_repeats_settings_and_command(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    page.click("button.cell[data-cell='t0-3']")
    page.js(WAIT)
    assert page.js("document.querySelector('dialog').open")
    text = page.js("document.querySelector('dialog').innerText")
    for words in ("CC", "MNIST, q=0.1", "standard deviation", "weight_decay", "the paper"):
        assert words in text
    assert "amongst reproduce table1 --datasets mnist --conditions q=0.1 --methods cc" in text
    assert "one-sided Wilcoxon" in text
    assert page.js("document.querySelectorAll('dialog .line').length") == 5
    page.press("Escape", 27)
    assert not page.js("document.querySelector('dialog').open")
    assert page.js("document.activeElement.dataset.cell") == "t0-3"
    assert page.complaints() == []


def test_the_keyboard_reaches_cells_and_curves(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    page.press("Tab", 9)
    assert page.js("document.activeElement.className") == "skip"
    page.js("document.querySelector('button.cell').focus()")
    page.press("Enter", 13, "\r")
    page.js(WAIT)
    assert page.js("document.querySelector('dialog').open")
    page.press("Escape", 27)
    page.js("document.querySelector('#curves rect[tabindex]').focus()")
    page.js(WAIT)  # a focus may scroll, which hides the tip
    page.press("ArrowLeft", 37)
    reading = page.js("document.querySelector('.tip').innerText")
    assert reading.startswith("epoch 39")
    assert "LW-Sigmoid" in reading


def test_points_of_the_difference_plot_open_their_cells(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    assert page.js("document.querySelectorAll('.differences [role=button]').length") == 30
    page.js("document.querySelector('.differences [role=button]').focus()")
    page.press("Enter", 13, "\r")
    assert page.js("document.querySelector('dialog').open")


def test_curves_follow_their_controls(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    assert texts(page, "#curves .panel h3") == ["MNIST, q=0.1", "MNIST, q=0.3", "MNIST, q=0.5"]
    page.js(
        "(() => { const menu = document.querySelector('#curves select');"
        "menu.value = 'Kuzushiji-MNIST'; menu.dispatchEvent(new Event('change')); })()"
    )
    page.js(WAIT)
    assert texts(page, "#curves .panel h3")[0] == "Kuzushiji-MNIST, q=0.1"
    lines = "document.querySelectorAll('#curves .line').length"
    assert page.js(lines) == 15
    page.click("#curves .legend button")
    page.js(WAIT)
    assert page.js(lines) == 12
    assert page.js("document.querySelector('#curves .legend button').ariaPressed") == "false"


def test_trials_filter_sort_page_and_open(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["table"])
    rows = "table.trials tbody tr"
    assert len(texts(page, rows)) == 25
    page.click(".more button")
    assert len(texts(page, rows)) == 125
    page.click("#trials input")
    page.type("kuzushiji q=0.5 proden seed=3")
    assert len(texts(page, rows)) == 1
    page.click("table.trials .open")
    page.js(WAIT)
    detail = page.js("document.querySelector('tr.detail').innerText")
    assert "weight_decay" in detail
    assert (
        "amongst reproduce table1 --datasets kmnist --conditions q=0.5 --methods proden" in detail
    )
    assert page.js("document.querySelectorAll('tr.detail .line').length") == 1
    page.click("table.trials .open")
    assert texts(page, "tr.detail") == []
    page.js(
        "(() => { const s = document.querySelector('#trials input'); s.value = ''; s.dispatchEvent(new Event('input')); })()"
    )
    page.click("table.trials th[data-key='value'] button")
    values = [float(v) for v in texts(page, f"{rows} td:nth-child(7)")]
    assert values == sorted(values)
    page.js(
        "(() => { const s = document.querySelector('#trials input'); s.value = 'failed'; s.dispatchEvent(new Event('input')); })()"
    )
    assert len(texts(page, rows)) == 1
    assert page.complaints() == []


def test_text_from_data_stays_text(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["evil"])
    page.click("button.cell")
    page.js(WAIT)
    page.press("Escape", 27)
    page.js("document.querySelectorAll('table.trials .open').forEach(e => e.click())")
    page.js(
        "document.querySelectorAll('.panel rect, .mark').forEach(e => e.dispatchEvent(new PointerEvent('pointermove', {bubbles: true})))"
    )
    page.js(WAIT)
    assert page.js("window.hurt === undefined && document.images.length === 0")
    assert EVIL in page.js("document.querySelector('th.group').textContent")
    assert EVIL in page.js("document.querySelector('tr.detail').textContent")
    assert page.complaints() == []


def test_the_theme_follows_the_system_and_the_button(page: Any, files: dict[str, Path]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = opened(page, files["table"]).js(ground)
    dark = opened(page, files["table"], dark=True).js(ground)
    assert light != dark
    page.click("button.theme")
    assert page.js(ground) == light
    page.js("localStorage.clear()")


def test_it_prints(page: Any, files: dict[str, Path], tmp_path: Path) -> None:
    opened(page, files["table"], dark=True)
    page.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert texts(page, ".bar, #trials, .choices") == []
    assert len(texts(page, "table.results .mean")) == 30
    page.call("Emulation.setEmulatedMedia", media="")


def test_the_tables_are_there_without_scripts(page: Any, files: dict[str, Path]) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(files["table"].as_uri())
        root = page.call("DOM.getDocument")["root"]["nodeId"]

        def count(selector: str) -> int:
            found = page.call("DOM.querySelectorAll", nodeId=root, selector=selector)
            return len(found["nodeIds"])

        assert count("table.results .mean") == count("table.results .paper") == 30
        assert count("noscript > p") == 1
        assert count("table.trials") == 0
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_the_oracle_is_marked_where_it_stands(page: Any, files: dict[str, Path]) -> None:
    opened(page, files["grid"])
    assert len(texts(page, ".star[title]")) == 15
    assert any("oracle" in text for text in texts(page, ".alert"))
