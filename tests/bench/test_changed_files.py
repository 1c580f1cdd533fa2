"""A file of one's own that changes while Python stays open, as in a notebook."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from amongst.bench import Store
from amongst.bench.execute import Options
from amongst.bench.plans import Request
from amongst.bench.runner import run_request
from amongst.bench.sources import OwnFile, open_dataset
from lw2021.evidence import pack


def written(path: Path, seed: int) -> Path:
    """Sixty rows of two classes; of one size whatever the seed, but for its digits."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=60)
    frame = pd.DataFrame({"x": labels + rng.normal(size=60), "label": labels})
    frame.to_csv(path, index=False, float_format="%.3f")
    return path


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    """The second run found the trials of the old rows, and reported them for the new ones."""
    path = written(tmp_path / "mine.csv", seed=0)
    files = {"mine": OwnFile(str(path), (("truth", "label"),))}
    request = Request("compare", datasets=("mine",), methods=("cc",), models=("linear",),
                      conditions=("q=0.3",), folds=2, epochs=1, own=("mine.csv",))  # fmt: skip
    options = Options(device="cpu", workers=1, files=files)
    store = tmp_path / "s.sqlite"
    _, first = run_request(request, store, options)
    _, again = run_request(request, store, options)
    before = path.stat()
    written(path, seed=1)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    plan, second = run_request(request, store, options)
    assert (first.ran, again.ran, second.ran) == (2, 0, 2)
    with Store(store, readonly=True) as kept:
        assert len({record.data_digest for record in kept.records()}) == 2
    assert plan.trials[0].data_digest == open_dataset("mine", files).digest
    packed = pack([store], tmp_path / "evidence")
    assert packed.manifest["curves"]["trials"] == 4, "both versions have a table, and its curves"


def test_a_file_that_did_not_change_is_read_once(tmp_path: Path) -> None:
    files = {"mine": OwnFile(str(written(tmp_path / "mine.csv", 0)), (("truth", "label"),))}
    assert open_dataset("mine", files) is open_dataset("mine", files)
