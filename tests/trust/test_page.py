"""The page of an explanation in a real browser, and what stands on it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from amongst.candidates import as_candidates
from amongst.trust import Explanation, expected_right, explained_page, fit_temperature
from amongst.trust.page import gallery

EVIL = "<img src=x onerror='window.hurt=1'>"
LABELS = ["kite|owl", f"kite|{EVIL}", "owl|wren", "wren", "owl|wren|kite", "kite|wren"] * 4
RNG = np.random.default_rng(0)


def explained(classes: int | None = None) -> Explanation:
    if classes is not None:
        sets = as_candidates([[i % classes, (i + 1) % classes] for i in range(2 * classes)])
    else:
        sets = as_candidates(LABELS)
    logs = RNG.normal(0, 2, sets.shape)
    chosen = np.where(sets.mask, logs, -np.inf).argmax(axis=1)
    agreement = RNG.random(len(sets))
    index = [f"row {EVIL} {i}" for i in range(len(sets))]
    return Explanation.of(logs, sets, chosen, agreement=agreement, index=index)


def picture(row: int) -> tuple[str, bytes] | None:
    target = io.BytesIO()
    Image.new("RGB", (40, 30), (row * 9 % 255, 99, 99)).save(target, "PNG")
    return None if row % 5 == 0 else ("image/png", target.getvalue())


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    texts = pd.DataFrame({EVIL: [EVIL, None, "long " * 99] * 8}, dtype=object)
    made = {
        "pictures": explained_page(explained(), title=EVIL, texts=texts, picture=picture),
        "many": explained_page(explained(60), title="Sixty classes", lead=EVIL, most=7),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["pictures", "many"])
def test_it_renders_for_everybody(
    page: Any, axe: str, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    page.screen(width, 900, dark=dark, mobile=width < 600)
    page.open(pages[name].as_uri())
    assert page.complaints() == []
    assert [url for url in page.requests() if not url.startswith(("file:", "data:"))] == []
    assert page.js("innerWidth") == page.js("document.documentElement.scrollWidth") == width
    assert page.violations(axe) == []
    assert page.js("window.hurt === undefined")
    shown = "[...document.images].every(image => image.complete && image.naturalWidth > 0)"
    assert page.js(shown)


def test_what_stands_on_it(page: Any, pages: dict[str, Path]) -> None:
    page.open(pages["pictures"].as_uri())
    doubtful = page.js("document.querySelectorAll('.card').length")
    assert doubtful == sum("|" in labels for labels in LABELS)
    assert 0 < page.js("document.images.length") < doubtful
    assert EVIL in page.js("document.querySelector('h1').textContent")
    assert page.js("document.querySelectorAll('.flows tbody td').length") == 16
    page.open(pages["many"].as_uri())
    assert page.js("document.querySelectorAll('.card').length") == 7
    assert page.js("document.querySelectorAll('.flows').length") == 0
    assert page.js("document.querySelectorAll('#classes tbody tr').length") == 60


def test_right_and_wrong_are_told_where_the_truth_is_known() -> None:
    found = explained()
    truth = found.rows["label"].to_numpy().copy()
    truth[3] = "kite"
    cards = gallery(found, [2, 3], truth=truth)
    assert re.findall(r'class="verdict">([^<]*)<', cards) == ["right", "wrong: it is kite"]


def test_classes_and_flows_against_a_loop() -> None:
    found = explained()
    flows, classes = found.flows(), found.classes()
    for z in found.sets.classes:
        rows = [i for i, s in enumerate(found.sets.to_sets()) if z in s]
        got = found.rows["label"].iloc[rows]
        assert flows.loc[z].sum() == classes.loc[z, "candidate"] == len(rows)
        for y in found.sets.classes:
            assert flows.loc[z, y] == (got == y).sum()
        mistakes = dict.fromkeys(found.sets.classes, 0.0)
        for label, shares in zip(found.rows["label"], found.rows["candidates"], strict=True):
            mistakes[label] += shares.get(z, 0.0) if label != z else 0.0
        assert found.confusions().loc[z].to_numpy() == pytest.approx(list(mistakes.values()))
        assert classes.loc[z, "taken_for"] == max(mistakes, key=lambda y: mistakes[y])
        own = found.rows["confidence"][found.rows["label"] == z]
        assert classes.loc[z, "label"] == len(own)
        if len(own):
            assert classes.loc[z, "confidence"] == pytest.approx(own.mean())


def test_the_expected_share_is_off_by_no_more_than_it_says() -> None:
    """Over 120 draws of sets, scores three times too sure."""
    misses = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        logs = rng.normal(0, 2, (200, 4))
        true = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
        mask = rng.random(logs.shape) < 0.4
        mask[np.arange(200), true] = True
        sets = as_candidates(mask.astype(int), classes=range(4), kind="mask")
        chosen = np.where(mask, logs, -np.inf).argmax(axis=1)
        t = fit_temperature(3 * logs, sets)
        right, se = expected_right(3 * logs, sets, chosen, t, fitted=True)
        misses.append((right - (chosen == true).mean()) / se)
    assert 0.85 < np.std(misses) < 1.25
    assert abs(np.mean(misses)) < 0.4
