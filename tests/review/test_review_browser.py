"""The page in a real browser: decide by key, undo, reload, two tabs, export; by eye and by ear."""

from __future__ import annotations

from typing import Any

import pytest

TITLE = "document.querySelector('#title').textContent"
COUNT = "document.querySelector('#count').textContent"


def opened(page: Any, served: Any, address: str = "") -> Any:
    page.open(address or served.address)
    page.wait("document.querySelector('#count').textContent.includes('of')")
    return page


def press(page: Any, key: str) -> None:
    page.press(key, ord(key.upper()), key)


def test_a_review_from_start_to_export(page: Any, served: Any) -> None:
    opened(page, served)
    assert "token" not in page.js("location.href")
    assert page.js(TITLE) == "Row bird 4"
    press(page, "2")
    page.wait(f"{COUNT}.startsWith('1 of 6')")
    assert served.review.decisions.standing()["bird 4"].label == "owl"
    assert page.js("document.activeElement.id") == "title"  # what a screen reader reads next
    second = page.js(TITLE)
    press(page, "s")
    page.wait(f"{COUNT}.includes('1 skipped')")
    press(page, "u")
    page.wait(f"!{COUNT}.includes('skipped')")
    assert page.js(TITLE) == second
    press(page, "u")
    page.wait(f"{COUNT}.startsWith('0 of 6')")
    assert page.js(TITLE) == "Row bird 4"
    press(page, "3")
    page.wait(f"{COUNT}.startsWith('1 of 6')")
    opened(page, served, page.js("location.href"))
    assert page.js(COUNT).startswith("1 of 6")
    text = page.js("fetch(document.querySelector('#export').href).then(a => a.text())")
    assert "bird 4,wren,ann," in text
    assert page.complaints() == []


def test_labels_and_notes_stay_text_and_another_label_can_be_taken(page: Any, served: Any) -> None:
    opened(page, served, f"http://{served.host}/?token={served.token}&label=kite")
    assert page.js("document.querySelector('select[name=label]').value") == "kite"
    opened(page, served, f"http://{served.host}/?token={served.token}&high=70")
    while page.js(TITLE) != "Row bird 0":
        before = page.js(TITLE)
        press(page, "s")
        page.wait(f"{TITLE} !== {before!r}")
    assert page.js("document.querySelector('#features').checkVisibility()")  # it has no picture
    assert "onerror" in page.js("document.querySelector('#texts').innerText")
    assert page.js("window.hurt") is None
    page.click("#label")
    page.type("no such")
    page.press("Enter", 13, "\r")
    page.wait("!document.querySelector('#alert').hidden")
    assert served.review.decisions.history("bird 0") == []
    page.js("document.querySelector('#label').value = 'wren'")
    page.click("#other button")
    page.wait(f"{COUNT}.startsWith('1 of 6')")
    assert served.review.decisions.standing()["bird 0"].label == "wren"
    assert page.complaints() == []


def test_two_tabs_do_not_overwrite_each_other_in_silence(page: Any, served: Any) -> None:
    opened(page, served)
    first = page.session
    second = page.tab()
    try:
        opened(page, served)
        assert page.js(TITLE) == "Row bird 4"
        press(page, "1")
        page.wait(f"{COUNT}.startsWith('1 of 6')")
        page.session = first
        press(page, "2")
        page.wait("!document.querySelector('#alert').hidden")
        assert served.review.decisions.standing()["bird 4"].label == "kite"
        assert "another window" in page.js("document.querySelector('#problem').textContent")
        assert (
            page.js("document.querySelector('li [aria-pressed=true] .label').textContent") == "kite"
        )
        press(page, "2")  # having seen it, on purpose
        page.wait("document.querySelector('#alert').hidden")
        page.wait(f"{TITLE} !== 'Row bird 4'")
        assert [d.label for d in served.review.decisions.history("bird 4")] == ["kite", "owl"]
    finally:
        page.session = second
        page.call("Page.close")
        page.session = first


def test_decided_rows_are_looked_through_and_one_is_changed(page: Any, served: Any) -> None:
    for row in (4, 0):
        served.decide(row, 0, "label", "kite")
    opened(page, served, f"http://{served.host}/?token={served.token}&show=decided")
    assert page.js(TITLE) == "Row bird 4"
    press(page, "n")
    page.wait(f"{TITLE} === 'Row bird 0'")
    press(page, "2")
    page.wait(f"{TITLE} === 'Row bird 4'")
    page.click("#further")
    page.wait(f"{TITLE} === 'Row bird 0'")
    kept = {
        row: [d.label for d in served.review.decisions.history(row)] for row in ("bird 0", "bird 4")
    }
    assert kept == {"bird 0": ["kite", "owl"], "bird 4": ["kite"]}
    assert page.complaints() == []


def test_a_server_that_has_gone_is_said_and_nothing_is_taken_as_kept(
    page: Any, served: Any
) -> None:
    opened(page, served)
    page.js("window.fetch = () => Promise.reject(new TypeError('gone'))")
    press(page, "1")
    page.wait("!document.querySelector('#alert').hidden")
    assert page.js(TITLE) == "Row bird 4"
    assert page.js(COUNT).startswith("0 of 6")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_everybody_can_use_it(page: Any, served: Any, axe: str, width: int, dark: bool) -> None:
    page.screen(width, 900, dark=dark, mobile=width < 600)
    opened(page, served)
    page.wait("document.querySelector('#picture').complete")
    page.js("document.querySelector('#about-features').open = true")
    names = page.js("[...document.querySelectorAll('#features dt')].map(e => e.offsetHeight)")
    assert len(names) == 2
    assert max(names) < 30, "the name of a column stands in one line, however long its cell is"
    assert page.violations(axe) == []
    assert page.js("innerWidth") == width, "the page is wider than the screen"
    assert page.complaints() == []
    outside = [url for url in page.requests() if not url.startswith(f"http://{served.host}/")]
    assert outside == []
