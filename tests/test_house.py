"""The size of the house, as CONTRIBUTING.md tells it, and how many files a call goes through."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_shows_every_room_with_about_its_lines(house: ModuleType) -> None:
    shown = house.SHOWN.search(house.GUIDE.read_text("utf-8"))[0]
    told = dict(re.findall(r"^\| `?([\w ]+?)`? \|.*\| ([\d,]+) \|$", shown, re.MULTILINE))
    assert list(told) == [*house.ROOMS, "together"]
    found = house.lines() | {"together": house.lines().total()}
    for room, lines in told.items():
        assert int(lines.replace(",", "")) == pytest.approx(found[room], rel=0.15), room


def test_a_call_goes_through_few_files(house: ModuleType) -> None:
    fit, disambiguate = map(len, house.paths().values())
    assert fit <= house.FIT_FILES
    assert disambiguate <= house.DISAMBIGUATE_FILES
