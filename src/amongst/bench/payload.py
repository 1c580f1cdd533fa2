"""What the page's scripts read: plain values only, small enough to travel inside the page."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.bench.figures import Figure, Series, variant_figure
from amongst.bench.places import dataset_title, method_title, model_title
from amongst.bench.plans import reproduce_command
from amongst.bench.record import Record
from amongst.bench.tables import Entry, Table
from amongst.bench.words import metric_title

CURVE_BUDGET = 450_000
"""Characters that all curves of a page may take; more trials mean fewer points for each."""

MOST_POINTS, FEWEST_POINTS = 120, 24
NAN_STEP = 65535


class _Pool(dict[str, int]):
    """Values that many trials share, each kept once; `add` returns where."""

    def add(self, value: Any) -> int:
        return self.setdefault(json.dumps(value), len(self))


class _Pools:
    def __init__(self) -> None:
        self.settings, self.environments, self.commands, self.digests = (_Pool() for _ in range(4))


def payload(records: Sequence[Record], tables: Sequence[Table]) -> dict[str, Any]:
    """Tables, figures and trials as one value for JSON; the scripts in ``templates`` know it."""
    pools = _Pools()
    index = {record.key: i for i, record in enumerate(records)}
    metric = tables[0].metric if tables else "accuracy_last10"
    names = sorted({name for record in records for name in record.metrics})
    trials = _trials(records, tables, pools, metric, names)
    drawn = [(f"t{i}", table) for i, table in enumerate(tables) if table.layout.is_figure]
    return {
        "labels": list(dict.fromkeys(e.label for t in tables for e in t.entries.values())),
        "test": tables[0].significance.title if tables else "",
        "metricLabel": f"{metric_title(metric).partition(',')[0].capitalize()}, %",
        "tables": [_table(f"t{i}", table, pools, index) for i, table in enumerate(tables)],
        "figures": [_figure(name, variant_figure(table)) for name, table in drawn],
        **{name: [json.loads(text) for text in pool] for name, pool in vars(pools).items()},
        "metrics": names,
        "trials": trials,
    }


def environment(record: Record) -> dict[str, str]:
    """Where and with what a record was made."""
    return {
        "device": record.device,
        "engine": record.engine,
        "revision": record.revision or "unknown",
        **record.versions,
    }


def script_json(value: Any) -> str:
    """JSON that cannot end its script element, whatever the data says.

    >>> script_json({"class": "</script><script>alert(1)"})
    '{"class":"\\\\u003c/script\\\\u003e\\\\u003cscript\\\\u003ealert(1)"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def pack_curve(values: Sequence[float], points: int) -> dict[str, Any]:
    """A curve in 16-bit steps between its extremes, thinned to `points` with both ends kept.

    >>> packed = pack_curve([0.0, 0.5, 1.0], points=2)
    >>> packed["n"], base64.b64decode(packed["b"]).hex()
    (3, '0000feff')
    """
    curve = np.asarray(values, dtype=np.float64)
    kept = curve[_epochs(len(curve), points)]
    good = kept[np.isfinite(kept)]
    low, high = (float(good.min()), float(good.max())) if len(good) else (0.0, 0.0)
    share = (kept - low) / (high - low) if high > low else np.zeros_like(kept)
    steps = np.where(np.isfinite(kept), np.rint(share * (NAN_STEP - 1)), NAN_STEP)
    text = base64.b64encode(np.nan_to_num(steps, nan=NAN_STEP).astype("<u2").tobytes()).decode()
    return {"n": len(curve), "lo": _short(low), "hi": _short(high), "b": text}


def _epochs(n: int, points: int) -> npt.NDArray[np.int64]:
    """Which of n epochs are kept: floor(i (n−1) / (m−1) + 1/2), as the page's script has it."""
    m = min(n, points)
    if m < 2:
        return np.zeros(m, np.int64)
    return np.floor(np.arange(m) * (n - 1) / (m - 1) + 0.5).astype(np.int64)


def _trials(
    records: Sequence[Record], tables: Sequence[Table], pools: _Pools, metric: str, names: list[str]
) -> dict[str, list[Any]]:
    """Columns, a value for each trial in each."""
    commands: dict[str, str] = {}
    labels: dict[str, str] = {}
    for table in tables:
        for cell in table.plan.cells:
            text = reproduce_command(table.plan, cell.slot.place)
            for trial in (*cell.screening, *cell.trials):
                commands[trial.key] = text
                labels.setdefault(trial.bare_key, table.entries[cell.slot.place].label)
    curves = _curves(records, {k for t in tables for e in t.filled for k in e.keys})
    columns: dict[str, list[Any]] = {}
    for record in records:
        bare = record.trial.bare_key
        row = _trial(record, pools, metric) | {
            "metrics": [_brief(record.metrics.get(name)) for name in names],
            "command": pools.commands.add(commands.get(record.key, commands.get(bare, ""))),
            "curves": curves.get(record.key, {}),
            "label": labels.get(bare, ""),
        }
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return columns


def _trial(record: Record, pools: _Pools, metric: str) -> dict[str, Any]:
    trial = record.trial
    return {
        "dataset": dataset_title(trial.dataset),
        "condition": trial.condition,
        "method": method_title(trial.method),
        "model": model_title(trial.model),
        "seed": trial.seed,
        "fold": trial.fold,
        "value": _number(record.metrics.get(metric)),
        "seconds": round(record.seconds, 2),
        "device": record.device,
        "key": record.key[:16],
        "created": record.created,
        "error": record.error,
        "settings": pools.settings.add(dict(trial.settings)),
        "environment": pools.environments.add(environment(record)),
        "digest": pools.digests.add(trial.data_digest[:16]),
    }


def _curves(records: Sequence[Record], chosen: set[str]) -> dict[str, dict[str, Any]]:
    """Curves of the chosen trials first; of the others while they fit."""
    order = sorted(records, key=lambda record: record.key not in chosen)
    wanted = sum(len(record.curves) for record in order if record.key in chosen or not chosen)
    points = int(CURVE_BUDGET / max(1, wanted) * 3 / 8)
    points = max(FEWEST_POINTS, min(MOST_POINTS, points))
    packed: dict[str, dict[str, Any]] = {}
    left = CURVE_BUDGET
    for record in order:
        if left <= 0 and record.key not in chosen:
            break
        packed[record.key] = {n: pack_curve(c, points) for n, c in record.curves.items() if c}
        left -= sum(len(curve["b"]) + 40 for curve in packed[record.key].values())
    return packed


def _table(name: str, table: Table, pools: _Pools, index: Mapping[str, int]) -> dict[str, Any]:
    places = [(i, p) for i, p in enumerate(table.layout.places) if table.entries[p].n]
    cells = [
        {"id": f"{name}-{i}"} | _entry(table, table.entries[place], pools, index)
        for i, place in places
    ]
    found, ranking = table.ranking, None
    if found is not None:
        ranking = {"methods": found.labels, "ranks": found.ranks, "critical": found.critical}
    return {"id": name, "title": table.plan.title, "cells": cells, "ranking": ranking}


def _entry(table: Table, entry: Entry, pools: _Pools, index: Mapping[str, int]) -> dict[str, Any]:
    numbers = ("mean", "std", "low", "high", "p", "holm", "least", "difference")
    plain = ("n", "pairs", "rival", "best", "failed", "considered", "oracle", "note")
    place, paper = entry.place, entry.published
    return {
        "dataset": dataset_title(place.dataset),
        "where": place.where,
        "label": entry.label,
        "method": place.label,
        "criterion": metric_title(entry.criterion) if entry.criterion else "",
        "values": entry.values,
        "repeats": [f"seed {s}" + f", fold {f}" * (f is not None) for s, f in entry.repeats],
        "trials": [index[key] for key in entry.keys],
        "settings": pools.settings.add(dict(entry.settings)),
        "command": pools.commands.add(reproduce_command(table.plan, place)),
        "paper": paper and {"mean": paper.mean, "std": paper.std, "star": paper.star},
        **{name: _number(getattr(entry, name)) for name in numbers},
        **{name: getattr(entry, name) for name in plain},
    }


def _figure(name: str, figure: Figure) -> dict[str, Any]:
    def line(series: Series) -> dict[str, Any]:
        ends = {n: list(map(_number, getattr(series, n))) for n in ("mean", "low", "high")}
        return {"label": series.label} | ends

    panels = [
        {"title": panel.title, "note": panel.note, "series": [line(s) for s in panel.series]}
        for panel in figure.panels
    ]
    axes = {"xlabel": figure.xlabel, "x": figure.categories, "joined": figure.joined}
    return {"id": name, **axes, "panels": panels}


def _number(value: float | None) -> float | None:
    """As it is: the page rounds it once, to what Python's tables show."""
    return None if value is None or not math.isfinite(value) else value


def _brief(value: float | None) -> float | None:
    """For what every trial has many of."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.8g}")


def _short(value: float) -> float:
    return float(f"{value:.7g}")
