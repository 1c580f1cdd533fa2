"""What is drawn is counted right, and drawing writes a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from amongst import as_candidates
from amongst.candidates import uniform
from amongst.data import draw_picture, load, picture
from amongst.errors import InputError


def test_counts_and_shares_match_a_slow_loop() -> None:
    sets = uniform(np.arange(60) % 5, 0.4, seed=0)
    shown = picture(sets, "sixty rows")
    rows = sets.to_sets()
    assert shown.size_counts.tolist() == [sum(len(row) == k for row in rows) for k in range(6)]
    for j in range(5):
        have = [row for row in rows if j in row]
        for k in range(5):
            assert shown.counts[j, k] == sum(k in row for row in have)
            assert shown.shares[j, k] == pytest.approx(sum(k in row for row in have) / len(have))
    best = max(int(shown.counts[j, k]) for j in range(5) for k in range(j))
    assert shown.pairs(1)[0][2] == best


def test_a_class_that_never_occurs_has_share_zero() -> None:
    shown = picture(as_candidates([["a"], ["b"]], classes=["a", "b", "never"]))
    assert np.isfinite(shown.shares).all()
    assert shown.pairs() == []


def test_generated_candidates_are_said_to_be_generated() -> None:
    shown = picture(load("digits"), q=0.2)
    assert "generated" in shown.title
    assert "q = 0.2" in shown.title


@pytest.mark.parametrize("k", [3, 40])
def test_drawing_writes_a_picture(tmp_path: Path, k: int) -> None:
    sets = uniform(np.arange(200) % k, 0.3, seed=0)
    path = draw_picture(picture(sets, "two hundred rows"), tmp_path / "sets.png")
    with Image.open(path) as drawn:
        assert drawn.format == "PNG"
        assert min(drawn.size) > 500
        assert len(np.unique(np.asarray(drawn.convert("L")))) > 5


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    shown = picture(as_candidates(["a|b"]))
    with pytest.raises(InputError, match="cannot be written"):
        draw_picture(shown, tmp_path / "nowhere" / "sets.png")
    with pytest.raises(InputError, match=r"must end in \.png"):
        draw_picture(shown, tmp_path / "sets.xyz")
