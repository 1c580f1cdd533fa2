"""What a trial is, and what came out of it: frozen values that travel, compare and serialise, also as the
columns of a Parquet or CSV file."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from amongst.checks import check_number
from amongst.errors import DataNotFoundError, FileFormatError, InputError, reading
from amongst.files import write_atomically
from amongst.optional import optional_import

Scalar = str | int | float | bool
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

KEY_VERSION = 1
"""Part of every key: it grows when the same settings begin to give other numbers. A store whose keys are
others is refused."""

TRIAL_TEXTS = ("dataset", "condition", "method", "model", "data_digest")
RECORD_TEXTS = ("device", "engine", "revision", "created", "error")
"""Fields that are texts, for files with a column for each."""

ENDINGS = (".parquet", ".csv")


@dataclass(frozen=True)
class Trial:
    """One training run: everything that changes its answer, never a path, a device, or workers.

    Parameters
    ----------
    dataset : name in the catalogue, e.g. ``"mnist"``.
    condition : how candidate sets arise: ``"q=0.1"``, ``"case 1"``, ``"real"``.
    method : registry label: ``"lw-sigmoid"``, ``"lw-cross_entropy"``, ``"rc"``, ``"ipal"``, …
    model : ``"linear"``, ``"mlp"``, ``"convnet"``; ``"-"`` for a method without a network.
    seed : of the candidate sets, the split, the initial weights and the batches.
    fold : of the cross-validation, or None where the data has a test part of its own.
    settings : lr, weight_decay, beta, epochs, …; an entry that is None is left out.
    data_digest : sha256 of the data; the empty string in a plan that has not seen its data yet.

    Examples
    --------
    >>> trial = Trial("digits", "q=0.1", "lw-sigmoid", "mlp", seed=0, settings={"lr": 0.1})
    >>> trial.key == Trial("digits", "q=0.1", "lw-sigmoid", "mlp", 0, settings={"lr": 0.10}).key
    True
    >>> trial.with_data("5f0c").key == trial.key
    False
    """

    dataset: str
    condition: str
    method: str
    model: str
    seed: int
    fold: int | None = None
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    data_digest: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", _plain(self.settings))

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """sha256 of the canonical JSON of all fields, 64 hex digits."""
        text = canonical_json({"key_version": KEY_VERSION} | self.to_dict())
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def setting(self) -> str:
        """The settings as one text, the same for the same settings."""
        return canonical_json(self.settings)

    @cached_property
    def bare_key(self) -> str:
        """The key in a plan that has not seen its data."""
        return self.with_data("").key if self.data_digest else self.key

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = {name: getattr(self, name) for name in (*TRIAL_TEXTS, "seed", "fold")}
        return plain | {"settings": dict(self.settings)}

    def on_all_rows(self) -> Trial:
        """The same trial without held-out rows."""
        return replace(self, settings=dict(self.settings) | {"validation": 0.0})

    def with_data(self, digest: str) -> Trial:
        """The same trial on data that has been seen: its digest enters the key."""
        return replace(self, data_digest=digest)


@dataclass(frozen=True)
class Record:
    """What came out of a trial.

    Parameters
    ----------
    trial : with its data digest.
    metrics : shares in [0, 1]: ``accuracy_final``, ``accuracy_last10`` (test rows, true labels);
        ``covering_val``, ``approximated_val``, ``risk_val`` (held-out rows, candidate sets only);
        ``accuracy_val`` (the oracle's, held-out rows with true labels); all of these also as
        means of the last ten epochs, ``covering_val_last10``, …. Where a network saw views of images,
        ``accuracy_final`` is with views at prediction, ``accuracy_plain`` without; ``accuracy_train``
        is the share of training rows whose best candidate is right, and ``training_seconds`` no share.
    curves : one value for each epoch, single precision: ``loss``, ``accuracy_test``, ….
    seconds : wall time of the trial; its share, where a population trained it.
    device, engine : where, and by which executor.
    versions : of the packages that computed it.
    revision : git revision of the package, or the empty string.
    created : ISO 8601, UTC.
    error : the message of a trial that diverged, or whose method refused the data; else empty.

    Examples
    --------
    >>> trial = Trial("digits", "q=0.1", "rc", "mlp", seed=0)
    >>> record = Record(trial, metrics={"accuracy_final": 0.97}, curves={"loss": (0.5, 0.25)})
    >>> record.key == trial.key, record.failed
    (True, False)
    """

    trial: Trial
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    device: str = "cpu"
    engine: str = "local"
    versions: Mapping[str, str] = field(default_factory=dict)
    revision: str = ""
    created: str = ""
    error: str = ""

    def __post_init__(self) -> None:
        metrics = {name: float(value) for name, value in sorted(self.metrics.items())}
        curves = {name: _single(values) for name, values in sorted(self.curves.items())}
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "curves", curves)
        object.__setattr__(self, "versions", dict(sorted(self.versions.items())))
        object.__setattr__(self, "seconds", check_number("seconds", self.seconds))

    def __hash__(self) -> int:
        return hash((self.key, self.created))

    @property
    def key(self) -> str:
        """The trial's key."""
        return self.trial.key

    @property
    def keys(self) -> set[str]:
        """The key, and the one by which a plan that has not seen its data knows the trial."""
        return {self.key, self.trial.bare_key}

    @property
    def data_digest(self) -> str:
        """The digest of the data that was used."""
        return self.trial.data_digest

    @property
    def failed(self) -> bool:
        """Whether training ended in an error."""
        return bool(self.error)


def flat(record: Record) -> dict[str, Any]:
    """All but metrics and curves, as texts and numbers: what a row of a file has."""
    row = {"key": record.key} | record.trial.to_dict()
    row |= {name: getattr(record, name) for name in ("seconds", *RECORD_TEXTS)}
    return row | {
        "settings": json_text(record.trial.settings),
        "versions": json_text(record.versions),
    }


def unflat(row: Mapping[str, Any], metrics: Mapping[str, Any], curves: Mapping[str, Any]) -> Record:
    """The inverse of `flat`; what a row lacks is empty, but for a seed and settings."""
    trial = Trial(
        **{name: str(row.get(name) or "") for name in TRIAL_TEXTS},
        seed=int(row["seed"]),
        fold=None if row.get("fold") is None else int(row["fold"]),
        settings=json.loads(row["settings"]),
    )
    return Record(
        trial,
        metrics,
        curves,
        seconds=float(row.get("seconds", 0.0)),
        versions=json.loads(row.get("versions", "{}")),
        **{name: str(row.get(name) or "") for name in RECORD_TEXTS},
    )


def write_export(
    records: Sequence[Record], requests: Sequence[Mapping[str, Any]], path: str | Path
) -> Path:
    """Write records to a ``.parquet`` or ``.csv`` file, which appears whole or not at all, and what was asked
    for beside it, as ``NAME.requests.json``."""
    target = check_ending("path", Path(path))
    frame = pd.DataFrame([_row(record) for record in records])
    if "fold" in frame:
        frame["fold"] = frame["fold"].astype("Int64")
    if target.suffix == ".csv":
        content = frame.to_csv(index=False).encode()
    else:
        optional_import("pyarrow", extra="data", purpose="writing Parquet")
        content = frame.to_parquet(index=False, compression="zstd")
    with suppress(OSError):  # the writing says why
        target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content)
    asked = json.dumps([dict(request) for request in requests], indent=1, ensure_ascii=False)
    write_atomically(_beside(target), asked.encode())
    return target


def check_ending(name: str, path: Path) -> Path:
    """The path, if it ends as a file of records does."""
    if path.suffix not in ENDINGS:
        problem = "must end in .parquet or .csv."
        raise InputError(problem, code="ending", argument=name, got=str(path))
    return path


def read_file(path: Path) -> list[Record]:
    """The records of an export."""
    return [_unrow(row, path) for row in read_rows(path)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What each row of a file has, under the names of its columns."""
    if not path.is_file():
        raise DataNotFoundError(f"there is no file {path}.", code="no-file")
    with reading(path, path.suffix[1:]):
        if path.suffix == ".csv":
            rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        else:
            parquet = optional_import("pyarrow.parquet", extra="data", purpose="reading Parquet")
            rows = parquet.read_table(path).to_pylist()
    return [{str(n): v for n, v in row.items() if v is not None and v != ""} for row in rows]


def read_beside(export: Path) -> list[dict[str, Any]]:
    """What was asked for, from the file beside an export; none without that file."""
    beside = _beside(export)
    if not beside.is_file():
        return []
    with reading(beside, "JSON", "Export the store again."):
        found: list[dict[str, Any]] = json.loads(beside.read_text("utf-8"))
    return found


def _beside(export: Path) -> Path:
    return export.with_name(export.stem + ".requests.json")


def _row(record: Record) -> dict[str, Any]:
    """Metrics before what is known of the run, and curves, as JSON, at the end."""
    row = flat(record)
    run = {name: row.pop(name) for name in ("seconds", *RECORD_TEXTS, "versions")}
    row |= {f"metric.{name}": value for name, value in record.metrics.items()}
    return row | run | {f"curve.{n}": json.dumps(values) for n, values in record.curves.items()}


def _unrow(row: Mapping[str, Any], source: Path) -> Record:
    metrics, curves = (
        {n.removeprefix(kind): value for n, value in row.items() if n.startswith(kind)}
        for kind in ("metric.", "curve.")
    )
    try:
        return unflat(row, metrics, {n: json.loads(value) for n, value in curves.items()})
    except (KeyError, TypeError, ValueError) as error:
        finding = f"no column {error}" if isinstance(error, KeyError) else error
        raise FileFormatError(
            f"{source} is not an export of a result store ({finding}).",
            code="no-export",
            remedy="Make one with: amongst results STORE --export FILE",
        ) from error


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of each key; keys and items in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def json_text(value: Mapping[str, Any]) -> str:
    """Sorted names, no spaces; unlike `canonical_json`, numbers as they are."""
    return json.dumps(dict(value), sort_keys=True, separators=(",", ":"))


def canonical_json(value: Any) -> str:
    """One text for one value: sorted names, no spaces, 1.0 written as 1.

    >>> canonical_json({"b": 1.0, "a": [0.10, True]})
    '{"a":[0.1,true],"b":1}'
    """
    return _encoded(_canonical(value))


def now() -> str:
    """The present moment, ISO 8601, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


_encoded = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def _canonical(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(name): _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value


def _plain(settings: Mapping[str, Any]) -> dict[str, Scalar]:
    """Python scalars in order of name; None means absent."""
    plain = {}
    for name, value in sorted(settings.items()):
        item = value.item() if isinstance(value, np.generic) else value
        if item is None:
            continue
        if not isinstance(item, Scalar) or (isinstance(item, float) and not math.isfinite(item)):
            problem = "must be a text, a truth value or a finite number."
            argument = f"settings[{name!r}]"
            raise InputError(problem, code="no-scalar", argument=argument, got=value)
        plain[name] = item
    return plain


def _single(values: Any) -> tuple[float, ...]:
    """Rounded to single precision, so that a record equals itself after it was stored."""
    return tuple(np.asarray(values, dtype=np.float32).astype(np.float64).tolist())
