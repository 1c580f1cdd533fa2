"""Errors as values: one problem, told to each reader in the reader's words."""

from __future__ import annotations

import copy
import pickle

import pytest

from amongst import errors
from amongst.errors import AmongstError, AmongstWarning, InputError, Shown, named

KINDS = [
    kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and not name.startswith("_")
]


def test_each_reader_has_its_own_words() -> None:
    error = InputError(
        f"is not in {named('index')} of {named('features', Shown('…'))}.",
        code="no-column",
        argument="truth",
        got="the name",
        remedy={
            "python": f"Pass {named('index', 'id')}.",
            "command": f"Give {named('index', 'id')}.",
        },
    )
    assert str(error) == "truth='the name' is not in index of features=…. Pass index='id'."
    assert error.said("command") == (
        "--truth 'the name' is not in --index of --features …. Give --index id."
    )
    assert error.said("page") == str(error), "an audience without words of its own has Python's"


def test_a_row_of_y_is_a_row_of_the_file() -> None:
    error = InputError("is empty.", argument="y", at=17)
    assert (str(error), error.said("command")) == ("y[17] is empty.", "row 17 is empty.")
    assert InputError("is empty.", argument="inside", at=1).said("command") == "inside[1] is empty."


def test_an_audience_may_write_arguments_itself() -> None:
    error = InputError("is too small.", argument="n_init", got=0)
    assert error.said(write=lambda name, value: f"{name}:{value}") == "n_init:0 is too small."


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_travels(kind: type[AmongstError]) -> None:
    error = kind("must be positive.", code="c", argument="epochs", got=[0], remedy="Raise it.")
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert (str(again), again.code, again.got) == (str(error), "c", [0])
    assert str(kind("as it is")) == "as it is"


def test_a_warning_is_one_too() -> None:
    with pytest.warns(AmongstWarning, match="^epochs=1 is few") as told:
        errors_warn()
    assert told[0].message.said("command") == "--epochs 1 is few."  # type: ignore[union-attr]


@pytest.mark.parametrize("got", [errors.NOTHING, None, 3])
def test_an_error_of_another_process_says_the_same(got: object) -> None:
    error = InputError("cannot be used.", argument="model", got=got, remedy="Name one.")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.said("command")) == (str(error), error.said("command"))


def errors_warn() -> None:
    import warnings

    warnings.warn(AmongstWarning("is few.", argument="epochs", got=1), stacklevel=1)


URLS = [
    "postgresql://me:secret@host:5432/data",
    "postgresql://me:s/e:secret@host/data?connect_timeout=2",
    "postgresql+psycopg://host/data?user=me&password=secret&connect_timeout=2",
    "host=here password=secret user=me",
    "https://me:secret@mirror/files",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("kind", [AmongstError, AmongstWarning])
def test_no_password_is_told(url: str, kind: type[AmongstError]) -> None:
    error = kind(f"cannot reach {url}.", argument="study", got=url, remedy=f"Try '{url}' again.")
    error.place = url
    told = [str(error), error.said("command"), repr(error), repr(error.got)]
    assert not any("secret" in text for text in told)
    assert "host" in str(error) or "mirror" in str(error)


def test_what_is_no_password_stays() -> None:
    text = "see https://a.b/c?d=e, mail me@home, 3:4@5, C:\\x, and sqlite:///file.db"
    assert errors.without_secrets(text) == text
