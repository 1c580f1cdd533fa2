"""Between a record and a row of the store: texts as JSON, curves as compressed bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from amongst.bench.record import Record, Trial

__all__ = ["COLUMNS", "from_row", "json_text", "to_row"]

COLUMNS = (
    "key", "dataset", "condition", "method", "model", "seed", "fold", "settings", "data_digest",
    "metrics", "curves", "seconds", "device", "engine", "versions", "revision", "created", "error",
)  # fmt: skip
"""Columns of the table of records, in order."""


def to_row(record: Record) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    trial = record.trial
    return (
        record.key, trial.dataset, trial.condition, trial.method, trial.model, trial.seed,
        trial.fold, json_text(trial.settings), trial.data_digest, json_text(record.metrics),
        _pack(record.curves), record.seconds, record.device, record.engine,
        json_text(record.versions), record.revision, record.created, record.error,
    )  # fmt: skip


def from_row(row: tuple[Any, ...]) -> Record:
    """The inverse of `to_row`."""
    named = dict(zip(COLUMNS, row, strict=True))
    trial = Trial(
        **{name: named[name] for name in ("dataset", "condition", "method", "model", "seed")},
        fold=named["fold"],
        settings=json.loads(named["settings"]),
        data_digest=named["data_digest"],
    )
    rest = {name: named[name] for name in ("seconds", "device", "engine", "revision", "created")}
    return Record(
        trial,
        metrics=json.loads(named["metrics"]),
        curves=_unpack(named["curves"]),
        versions=json.loads(named["versions"]),
        error=named["error"],
        **rest,
    )


def json_text(value: Mapping[str, Any]) -> str:
    """Sorted names, no spaces; unlike `canonical_json`, numbers as they are."""
    return json.dumps(dict(value), sort_keys=True, separators=(",", ":"))


def _pack(curves: Mapping[str, tuple[float, ...]]) -> bytes | None:
    """Names and lengths as one line of JSON, then single-precision values, compressed."""
    if not curves:
        return None
    head = json.dumps({name: len(values) for name, values in curves.items()}).encode()
    body = np.concatenate([np.asarray(values, dtype="<f4") for values in curves.values()])
    return zlib.compress(head + b"\n" + body.tobytes(), 6)


def _unpack(blob: bytes | None) -> dict[str, tuple[float, ...]]:
    if blob is None:
        return {}
    head, _, body = zlib.decompress(blob).partition(b"\n")
    lengths = json.loads(head)
    parts = np.split(np.frombuffer(body, dtype="<f4"), np.cumsum(list(lengths.values()))[:-1])
    return {name: tuple(part.tolist()) for name, part in zip(lengths, parts, strict=True)}
