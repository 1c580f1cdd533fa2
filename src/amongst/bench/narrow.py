"""The part of a store that a person asks for by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amongst.bench.conditions import check_condition
from amongst.bench.points import method_labels
from amongst.bench.record import Record
from amongst.bench.request import SHORT
from amongst.bench.slots import LW
from amongst.bench.wording import check_within
from amongst.datasets import names
from amongst.errors import InputError

__all__ = ["narrow_records"]


def narrow_records(
    records: Sequence[Record], wanted: Mapping[str, Sequence[str]], place: str
) -> list[Record]:
    """Records with these data, methods and conditions; what the store does not have is refused.

    Parameters
    ----------
    records : of a store.
    wanted : ``"dataset"``, ``"method"`` and ``"condition"``, and the names of each; none for all.
        The method ``"lw"`` stands for the variants of LW in the store.
    place : name of the store, for the message.

    Examples
    --------
    >>> from amongst.bench import Trial
    >>> found = [Record(Trial("digits", "q=0.1", name, "mlp", 0)) for name in ("rc", "lw-sigmoid")]
    >>> [r.trial.method for r in narrow_records(found, {"method": ["lw"]}, "demo.sqlite")]
    ['lw-sigmoid']
    >>> narrow_records(found, {"dataset": ["digts"]}, "demo.sqlite")
    Traceback (most recent call last):
    amongst.errors.InputError: datasets='digts' is unknown; did you mean 'digits'? ...
    """
    kept = list(records)
    for name, values in wanted.items():
        has = {getattr(record.trial, name) for record in records}
        chosen = {found for value in values for found in _meant(name, value, has, place)}
        kept = [record for record in kept if not values or getattr(record.trial, name) in chosen]
    if any(wanted.values()) and not kept:
        raise InputError(
            f"no record of {place} has these datasets, methods and conditions at once."
        )
    return kept


def _meant(name: str, value: str, has: set[str], place: str) -> set[str]:
    """What the store has under a name."""
    if name == "condition":
        value = check_condition(value)
    variants = has & set(LW)
    if value == SHORT and variants:
        return variants
    elsewhere = {"dataset": names(), "method": (*method_labels(), SHORT), "condition": (value,)}
    shown = has | ({SHORT} if variants else set())
    return {check_within(f"{name}s", value, shown, place, elsewhere[name])}
