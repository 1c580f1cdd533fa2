"""What people write beside a label: how much speaks for it, that it is ruled out, or a parent's name.

``"cat:3|dog:1"`` are votes, ``"!cat"`` is any class but cat; a dict, or a list of records as language
models give them, has a weight for each label.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from amongst.candidates.cells import (
    Note,
    is_list_text,
    is_missing,
    not_in_classes,
    plain,
    read_cell,
    wrong,
)
from amongst.errors import AmongstWarning, InputError, named, warn

NUMBER = r"[+-]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf)"
WEIGHTED = re.compile(rf"(?s:(.*\S))\s*:\s*({NUMBER})", re.IGNORECASE)
"""A label with its weight. A code such as ``GO:0005634`` has none: its number starts with zeros."""

LABEL_KEYS = ("label", "class", "name", "category", "answer")
WEIGHT_KEYS = ("weight", "probability", "prob", "p", "confidence", "score", "votes", "count")
"""What records of one label each call their parts."""

Hierarchy = Mapping[Any, Iterable[Any]]


def read_note(cell: Any, separator: str, row: int | None = None) -> Note:
    """A cell as `read_cell` has it, or with weights where it holds a dict or records.

    >>> read_note('[{"label": "owl", "confidence": 0.5}, {"label": "kite"}]', "|").weights
    [0.5, 1.0]
    """
    pairs = _pairs(_parsed(cell) if is_list_text(cell) else cell)
    if pairs is None:
        return Note(read_cell(cell, separator, row))
    labels = read_cell([label for label, _ in pairs], separator, row)
    return _weighed(zip(labels, (weight for _, weight in pairs), strict=True), row)


def with_marks(
    notes: list[Note], names: set[Any], rows: list[int], said: bool, surely: bool
) -> list[Note]:
    """The notes with ``label:weight`` and ``!label`` in their texts taken apart.

    Parameters
    ----------
    notes : of the different cells; `rows` are theirs, for messages.
    names : the classes and parents that were named; a text that is one of them has no marks.
    said : whether a person said that there are marks; if not, they must be plain.
    surely : whether the classes were named, so that no reading is a guess.
    """
    unweighted = (note.labels if note.weights is None else [] for note in notes)
    texts = [[x for x in found if isinstance(x, str) and x not in names] for found in unweighted]
    votes, nots = said or surely or _have_votes(texts), said or surely or _have_nots(texts, names)
    if not (said or surely):
        _tell_of_guess(texts, votes, nots)
    pairs = zip(notes, texts, rows, strict=True)
    return [_apart(note, text, names, row, votes, nots, surely) for note, text, row in pairs]


def expanded(notes: list[Note], hierarchy: Hierarchy, known: list[Any] | None) -> list[Note]:
    """The notes with the classes below it in place of each parent; they share its weight."""
    below = leaves(hierarchy, known)
    if known is None:
        _check_seen(notes, below)
    return [_expanded(note, below) for note in notes]


def leaves(hierarchy: Hierarchy, known: list[Any] | None = None) -> dict[Any, list[Any]]:
    """For each parent the classes below it, however deep.

    >>> leaves({"animal": ["mammal", "owl"], "mammal": ["cat", "dog"]})["animal"]
    ['cat', 'dog', 'owl']
    """
    if not isinstance(hierarchy, Mapping):
        problem = "must map each parent to its children, such as {'mammal': ['cat', 'dog']}."
        raise _bad("type", problem)
    children = {plain(parent): _children(parent, below) for parent, below in hierarchy.items()}
    found = {parent: _below(parent, children, ()) for parent in children}
    if known is None:
        return found
    for parent, below in found.items():
        if parent in known:
            raise _bad("parent-class", f"has the parent {parent!r}, which is a class, too.")
        unknown = [label for label in below if label not in known]
        if unknown:
            problem = f"has the child {unknown[0]!r} of {parent!r}, which is none of the classes."
            raise _bad("unknown-child", problem, "Correct the name, or add it to the classes.")
    return found


def without_excluded(notes: list[Note], classes: list[Any], rows: list[int]) -> list[Note]:
    """The notes with what is ruled out left out: of the labels given, else of all classes."""
    known = set(classes)
    pairs = zip(notes, rows, strict=True)
    return [_left(note, classes, known, row) if note.excluded else note for note, row in pairs]


def weight_of(value: Any, row: int | None = None) -> float:
    """A weight as a number of at least 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (0 <= number < math.inf):
        problem = f"holds the weight {value!r}; a weight is a finite number of at least 0."
        raise wrong("weights", problem, "Leave out a label that has none.", row, value)
    return number


def no_weight(row: int | None) -> InputError:
    """The error for a row whose weights are all zero."""
    remedy = "Drop the row, or leave its cell empty and pass " + named("empty", "full") + "."
    return wrong("zero-weights", "holds weights that are all zero.", remedy, row)


def _weighed(pairs: Iterable[tuple[Any, Any]], row: int | None) -> Note:
    """A label that is there twice has the sum."""
    total: dict[Any, float] = {}
    for label, weight in pairs:
        total[label] = total.get(label, 0.0) + weight_of(weight, row)
    kept = {label: weight for label, weight in total.items() if weight > 0}
    if total and not kept:
        raise no_weight(row)
    return Note(list(kept), list(kept.values()) or None)


def _parsed(text: str) -> Any:
    """What is written in Python's notation, or in JSON's; the text itself where it is neither."""
    for read in (ast.literal_eval, json.loads):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return read(text.strip())
    return text


def _pairs(cell: Any) -> list[tuple[Any, Any]] | None:
    """(label, weight) of a dict or of records; None for anything else."""
    if isinstance(cell, Mapping):
        label = next((cell[key] for key in LABEL_KEYS if key in cell), None)
        if isinstance(label, str) or (label is not None and {*WEIGHT_KEYS} & {*cell}):
            return [(label, next((cell[key] for key in WEIGHT_KEYS if key in cell), 1.0))]
        # Parquet fills up dicts with None
        return [(label, weight) for label, weight in cell.items() if weight is not None]
    if not isinstance(cell, list | tuple) or not cell:
        return None
    if all(isinstance(item, Mapping) for item in cell):
        return list(chain.from_iterable(_pairs(item) or [] for item in cell))
    if all(isinstance(item, list) and len(item) == 2 for item in cell):
        return [(label, weight) for label, weight in cell]
    return None


def _have_votes(texts: list[list[str]]) -> bool:
    """Whether some cell has a weight behind each of several names, which are not all numbers."""
    found = [[WEIGHTED.fullmatch(text) for text in cell] for cell in texts if len(cell) > 1]
    cells = [[match[1] for match in cell if match] for cell in found if all(cell)]
    each_once = all(len({*cell}) == len(cell) for cell in cells)
    return each_once and any(not name.isdecimal() for name in chain.from_iterable(cells))


def _have_nots(texts: list[list[str]], names: set[Any]) -> bool:
    """Whether ``!`` stands before names that occur without it, or before all."""
    found = {*chain.from_iterable(texts)}
    nots = {text for text in found if _is_not(text)}
    weighted = {match[1] for match in map(WEIGHTED.fullmatch, found) if match}
    known = (found - nots) | weighted | names
    return bool(nots) and (nots == found or {text[1:].strip() for text in nots} <= known)


def _is_not(text: str) -> bool:
    return text.startswith("!") and bool(text[1:].strip())


def _tell_of_guess(texts: list[list[str]], votes: bool, nots: bool) -> None:
    """Labels that really contain ``:`` or ``!`` must not change their meaning in silence."""
    found = list(chain.from_iterable(texts))
    vote = next((text for text in found if votes and WEIGHTED.fullmatch(text)), None)
    shown = vote or next((text for text in found if nots and _is_not(text)), None)
    if shown is not None:
        meaning = "a label with its weight" if vote else "any label but this one"
        problem = f"{shown!r} is read as {meaning}."
        remedy = f"Say so with {named('kind', 'votes')}; if it is a label as it stands, pass {named('kind', 'strings')}."
        warn(AmongstWarning(problem, code="read-as-votes", argument="y", remedy=remedy))


def _apart(
    note: Note,
    texts: list[str],
    names: set[Any],
    row: int,
    votes: bool,
    nots: bool,
    surely: bool,
) -> Note:
    """A note whose `texts` are taken apart; where classes were named, only marks of one of them count."""
    bare = {text: text[1:].strip() for text in texts if nots and _is_not(text)}
    bare = {text: name for text, name in bare.items() if not surely or name in names}
    split = {text: WEIGHTED.fullmatch(text) for text in texts if votes}
    found = {t: match for t, match in split.items() if match and (not surely or match[1] in names)}
    if not bare and not found:
        return note
    kept = [label for label in note.labels if label not in bare]
    given = [(found[t][1], found[t][2]) if t in found else (t, 1.0) for t in kept]
    made = _weighed(given, row) if found else Note(kept)
    return replace(made, excluded=[bare[text] for text in texts if text in bare])


def _expanded(note: Note, below: dict[Any, list[Any]]) -> Note:
    parts = [below.get(label, [label]) for label in note.labels]
    excluded = [one for label in note.excluded for one in below.get(label, [label])]
    if note.weights is None:
        return Note(list(dict.fromkeys(chain.from_iterable(parts))), None, excluded)
    pairs = zip(parts, note.weights, strict=True)
    shared = ((one, weight / len(part)) for part, weight in pairs for one in part)
    return replace(_weighed(shared, None), excluded=excluded)


def _children(parent: Any, below: Any) -> list[Any]:
    if isinstance(below, str | bytes) or not isinstance(below, Iterable):
        raise _bad("type", f"has {below!r} below {parent!r}; give a list of children.")
    found = [plain(child) for child in below]
    named_ones = [child for child in found if isinstance(child, Hashable) and not is_missing(child)]
    if not found or len(named_ones) < len(found):
        raise _bad("no-child", f"has the parent {parent!r} without a child.")
    return found


def _below(name: Any, children: dict[Any, list[Any]], above: tuple[Any, ...]) -> list[Any]:
    if name in above:
        circle = " → ".join(map(str, (*above[above.index(name) :], name)))
        raise _bad("cycle", f"goes in a circle: {circle}.", "Take one of the links out.")
    if name not in children:
        return [name]
    found = (_below(child, children, (*above, name)) for child in children[name])
    return list(dict.fromkeys(chain.from_iterable(found)))


def _check_seen(notes: list[Note], below: dict[Any, list[Any]]) -> None:
    """Where nobody named the classes, a child that no row names by itself may be a slip."""
    seen = {label for note in notes for label in (*note.labels, *note.excluded)}
    for parent in below:
        unseen = [child for child in below[parent] if parent in seen and child not in seen]
        if unseen:
            problem = f"has the child {unseen[0]!r} of {parent!r}, which no row names by itself."
            remedy = f"Correct the name, or name all classes with {named('classes')}."
            raise _bad("unknown-child", problem, remedy)


def _left(note: Note, classes: list[Any], known: set[Any], row: int) -> Note:
    unknown = [label for label in note.excluded if label not in known]
    if unknown:
        raise not_in_classes(row, unknown[0], np.array(classes, dtype=object))
    out = {*note.excluded}
    labels = note.labels or classes
    given = dict(zip(labels, note.weights or [1.0] * len(labels), strict=True))
    kept = {label: weight for label, weight in given.items() if label not in out}
    if not kept:
        problem = f"rules out every label that it could have: {', '.join(map(str, note.excluded))}."
        raise wrong("all-excluded", problem, "Correct the row, or drop it.", row)
    return Note(list(kept), list(kept.values()) if note.weights else None)


def _bad(code: str, problem: str, remedy: str = "") -> InputError:
    return InputError(problem, code=code, argument="hierarchy", remedy=remedy)
