"""Every error and warning that `amongst` raises on purpose, as a value.

An error knows its code, the argument that it is about, what came, and the remedy. Its text is made for
whoever reads it: ``str(error)`` is for Python; ``error.said("command")`` is for the command line, which
calls arguments options, and rows of y rows of a file. All of them derive from `AmongstError`, and from
the built-in that habit expects (`ValueError`, `ImportError`, …), so that ``except ValueError`` works.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from amongst.wording import one_line


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "NOTHING"  # by name: an error that comes from another process knows it by identity


NOTHING: Any = _Nothing()
"""Where no value came, or none is to be shown."""

Clauses = str | tuple[str, ...]
Remedy = Clauses | Mapping[str, Clauses]
"""What to do: sentences, or the things of which one helps, joined by "or". One for all, or one for
each audience, ``"python"`` for those not named. What has an argument that the reader cannot give is
left out."""

Namer = Callable[[str, Any], str | None]
"""How an audience writes an argument and its value, which may be `NOTHING`; None where it cannot
give the argument."""

ROWS = ("command", "fitted")
"""Audiences to whom the rows of y are rows of a file."""

_NAMED = re.compile("\ue000([^\ue001\ue002]*)(?:\ue001([^\ue002]*))?\ue002")
_IN_URL = re.compile(r"(://[^\s:/@]*):\S*@")
_IN_QUERY = re.compile(
    r"(?i)\b((?:\w*passw(?:or)?d|pwd|passfile|token|secret|api_?key)=)[^&\s'\"]+"
)


def named(name: str, value: Any = NOTHING) -> str:
    """An argument inside a text, to be written as its reader knows it: in Python ``index='id'``, at the
    command line ``--index id``.

    >>> InputError(f"the file has no rows; name others with {named('index', 'id')}.").said("command")
    'the file has no rows; name others with --index id.'
    """
    shown = (
        "" if value is NOTHING else f"\ue001{value if isinstance(value, Shown) else repr(value)}"
    )
    return f"\ue000{name}{shown}\ue002"


def without_secrets(text: str) -> str:
    """A text as it may be shown, kept or sent: no password of a URL stands in it.

    >>> without_secrets("to go on: --study postgresql://me:secret@host/data?password=secret")
    'to go on: --study postgresql://me:***@host/data?password=***'
    """
    return _IN_QUERY.sub(r"\1***", _IN_URL.sub(r"\1:***@", text))


class Shown(str):
    """A value that is shown as it is, without quotes: ``index=…``."""


class _Told:
    """What errors and warnings have in common.

    `problem` is a sentence, after its subject unless it names `argument` itself; `code` a short name of
    it, for programs and tests; `at` the row of the argument, and `got` what came. Whoever passes an
    error on may set its `place`, in front of the text, and the `audience` of ``str(error)``.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        code: str = "",
        argument: str = "",
        at: int | None = None,
        got: Any = NOTHING,
        remedy: Remedy = "",
    ) -> None:
        self.problem, self.code, self.argument = problem, code, argument
        self.at, self.remedy = at, remedy
        self.got = without_secrets(got) if type(got) is str else got
        self.place, self.audience = "", "python"
        super().__init__(self.said())  # type: ignore[call-arg]

    def __reduce__(self) -> Any:
        return _again, (type(self), self.problem, dict(vars(self)))

    def __str__(self) -> str:
        return self.said()

    def said(self, audience: str = "", write: Namer | None = None) -> str:
        """The text for an audience; `write` writes its arguments.

        >>> error = InputError("must be positive.", argument="epochs", got=0)
        >>> error.said(), error.said("command")
        ('epochs=0 must be positive.', '--epochs 0 must be positive.')
        """
        audience = audience or self.audience
        write = write or _WRITERS.get(audience, _in_python)
        parts = (self.place and f"{self.place}:", self._subject(audience), self.problem)
        text, _ = _written(" ".join(filter(None, parts)), write)
        return without_secrets(" ".join(filter(None, (text, self._remedy(audience, write)))))

    def _subject(self, audience: str) -> str:
        if not self.argument or f"\ue000{self.argument}" in self.problem:
            return ""
        if self.at is not None:
            is_row = audience in ROWS and self.argument == "y"
            return f"row {self.at}" if is_row else f"{self.argument}[{self.at}]"
        return named(self.argument, self.got)

    def _remedy(self, audience: str, write: Namer) -> str:
        remedy = self.remedy
        if isinstance(remedy, Mapping):
            remedy = remedy.get(audience, remedy.get("python", ""))
        if isinstance(remedy, str):
            text, known = _written(remedy, write)
            return text if known else ""
        clauses = [text for text, known in (_written(part, write) for part in remedy) if known]
        joined = ", or ".join([", ".join(clauses[:-1]), *clauses[-1:]] if clauses[1:] else clauses)
        return f"{joined[:1].upper()}{joined[1:]}." if joined else ""


class AmongstError(_Told, Exception):
    """Base of every error raised on purpose."""


class InputError(AmongstError, ValueError):
    """An argument that cannot be used: it says which, what came, and the remedy.

    >>> remedy = ("drop the row", f"pass {named('empty', 'full')}")
    >>> error = InputError("is an empty set.", code="empty-set", argument="y", at=3, remedy=remedy)
    >>> str(error)
    "y[3] is an empty set. Drop the row, or pass empty='full'."
    >>> error.said("command"), error.code
    ('row 3 is an empty set. Drop the row, or pass --empty full.', 'empty-set')
    """


class FileFormatError(AmongstError, ValueError):
    """A file that is damaged, tampered with, or not of the format its reader expects."""


class DataNotFoundError(AmongstError, FileNotFoundError):
    """A file that is nowhere to be found: its message says where it was looked for."""


class MissingDependencyError(AmongstError, ImportError):
    """An optional package is needed here: its message says which extra to install."""


class StoreError(AmongstError, OSError):
    """A result store that cannot be opened, read or written: nothing that was in it is lost."""


class DivergenceError(AmongstError, ArithmeticError):
    """Training produced NaN or infinity: its message says when, and what to try."""


class AmongstWarning(_Told, UserWarning):
    """Something a person should know, though the answer stands."""


def warn(told: Warning) -> None:
    """Warn whoever called the package: the place is the first line outside of it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "amongst":
        frame, level = frame.f_back, level + 1
    warnings.warn(told, stacklevel=level)


@contextmanager
def reading(what: object, kind: str, remedy: str = "") -> Iterator[None]:
    """The one owner of "reading failed": whatever readers raise on a damaged file, as one line.

    >>> with reading("a.parquet", "Parquet"):
    ...     int("no number")
    Traceback (most recent call last):
    amongst.errors.FileFormatError: a.parquet cannot be read as Parquet: invalid literal for int() with base 10: 'no number'.
    """
    try:
        yield
    except AmongstError:
        raise
    except Exception as error:  # readers have dozens of kinds, those of their parts included
        problem = f"{what} cannot be read as {kind}: {one_line(error)}."
        raise FileFormatError(problem, code="unreadable", remedy=remedy) from error


def _again(kind: type[_Told], problem: str, state: dict[str, Any]) -> _Told:
    told = kind(problem)
    vars(told).update(state)
    return told


def _written(text: str, write: Namer) -> tuple[str, bool]:
    """The text with its arguments as `write` has them, and whether it has all of them."""
    unknown = False

    def replace(found: re.Match[str]) -> str:
        nonlocal unknown
        name, value = found[1], NOTHING if found[2] is None else Shown(found[2])
        if (written := write(name, value)) is not None:
            return written
        unknown = True
        return name if value is NOTHING else str(value)

    return _NAMED.sub(replace, text), not unknown


def _in_python(name: str, value: Any) -> str:
    return name if value is NOTHING else f"{name}={value}"


def _of_as_candidates(name: str, value: Any) -> str | None:
    """As whoever gives y to an estimator can give what `as_candidates` takes."""
    known = name in ("kind", "separator", "empty", "classes")
    return f"as_candidates(y, {_in_python(name, value)})" if known else _in_python(name, value)


def as_option(name: str, value: Any) -> str:
    """An argument as an option of the command line.

    >>> as_option("batch_size", 16), as_option("separator", "','"), as_option("index", NOTHING)
    ('--batch-size 16', "--separator ','", '--index')
    >>> as_option("quick", True), as_option("header", False)
    ('--quick', '--no-header')
    """
    option = f"--{'no-' if str(value) == 'False' else ''}{name.replace('_', '-')}"
    if value is NOTHING or str(value) in ("True", "False"):
        return option
    bare = str(value).strip("'\"")
    plain = re.fullmatch(r"[\w./:@+-]+", bare) is not None
    return f"{option} {bare if plain else value}"


_WRITERS: Mapping[str, Namer] = {"command": as_option, "estimator": _of_as_candidates}
