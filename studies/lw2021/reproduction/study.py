"""A study that lies beside the evidence: every method of the paper with one schedule."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from amongst.bench.places import Place
from amongst.bench.tables import Entry

__all__ = ["study_entries"]

STUDY = "defaults.csv"


def study_entries(folder: str | Path, places: Iterable[Place]) -> dict[Place, Entry]:
    """The tuned methods of ``defaults.csv`` (``studies/defaults.py``) at the places of a table.

    Parameters
    ----------
    folder : that has the file; without it there are no entries.
    places : of the table; those that the study lacks have no entry.

    Examples
    --------
    >>> study_entries("no such folder", [])
    {}
    """
    path = Path(folder) / STUDY
    if not path.is_file():
        return {}
    rows = pd.read_csv(path)
    tuned = rows[rows["stage"] == "tuned"]
    groups = {
        (str(data), f"q={q:g}", str(method)): group.sort_values("seed")
        for (data, q, method), group in tuned.groupby(["dataset", "q", "method"])
    }
    wanted = [p for p in places if p.model == "mlp" and not p.variant]
    return {p: _entry(p, groups[key]) for p in wanted if (key := _key(p)) in groups}


def _key(place: Place) -> tuple[str, str, str]:
    return place.dataset, place.condition, place.method


def _entry(place: Place, rows: pd.DataFrame) -> Entry:
    values = tuple(map(float, rows["accuracy"]))
    repeats = tuple((int(seed), None) for seed in rows["seed"])
    mean, std = float(rows["accuracy"].mean()), float(rows["accuracy"].std())
    return Entry(place, place.method, values, repeats, mean, std, planned=len(values))
