"""HTML made of elements: what a person wrote is escaped, whatever it says; and the look of our pages."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

_VOID = ("meta", "br", "img", "link")


class Markup(str):
    """Text that is HTML already; any other string is escaped when it enters an element.

    >>> element("p", Markup("<br>"), "<br>")
    '<p><br>&lt;br&gt;</p>'
    """

    __slots__ = ()


def element(tag: str, *children: str | None, **names: object) -> Markup:
    """An element; children are escaped unless they are `Markup`, attributes always.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    inside = "".join(_text(child) for child in children if child is not None)
    close = "" if tag in _VOID else f"{inside}</{tag}>"
    return Markup(f"<{tag}{attributes(names)}>{close}")


def attributes(names: dict[str, Any]) -> str:
    """Attributes from keywords: ``class_`` → class, ``data_cell`` → data-cell; None is left out.

    >>> attributes({"data_cell": 'a"b', "hidden": True, "title": None})
    ' data-cell="a&quot;b" hidden'
    """
    shown = {name.strip("_").replace("_", "-"): value for name, value in names.items()}
    return "".join(
        f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
        for name, value in shown.items()
        if value is not None and value is not False
    )


def _text(child: str) -> str:
    return child if isinstance(child, Markup) else html.escape(child)


def join(parts: Iterable[str]) -> Markup:
    """One piece of HTML of several."""
    return Markup("".join(map(_text, parts)))


@cache
def style() -> str:
    """The style sheet of every page: light and dark, wide and narrow, on a screen and on paper."""
    return files("amongst").joinpath("page.css").read_text("utf-8")


def document(
    title: str, lead: str, *sections: Markup, made: str = "", script: str = "", data: str = "{}"
) -> str:
    """A whole page in one file; a section that has an `id` and a heading is linked.

    `script` alone may run, and reads `data`, JSON that cannot end its element.

    >>> page = document("Birds", "Two rows.", section("rows", "Rows", Markup("<p>wren</p>")))
    >>> page.count("<h2"), 'href="#rows"' in page
    (1, True)
    """
    linked = [part for part in sections if isinstance(part, Section)]
    links = [element("a", part.head, href=f"#{part.name}") for part in linked]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    runs = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; {runs}img-src data:"
    head = join(
        [
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="generator", content="amongst"),
            element("title", title),
            element("link", rel="icon", href="data:,"),
            element("style", Markup(style())),
        ]
    )
    top = element("header", element("h1", title), element("p", lead, class_="soft"), class_="top")
    nav = element("nav", *links, aria_label="Parts of the page")
    scripts = [
        element("script", Markup(data), type="application/json", id="data"),
        element("script", Markup(script)),
    ]
    body = [
        element("a", "Skip to the content", class_="skip", href="#main"),
        top,
        element("div", element("div", nav), class_="bar"),
        element("main", *sections, id="main"),
        element("footer", made),
        *(scripts if script else []),
    ]
    whole = element("html", element("head", head), element("body", *body), lang="en")
    return f"<!doctype html>\n{whole}\n"


class Section(Markup):
    """A part of a page that its head links to."""

    name: str
    head: str


def section(name: str, head: str, *children: str | None, class_: str | None = None) -> Section:
    """A part of a page with a heading."""
    names = {"id": name, "class_": class_, "aria_labelledby": f"h-{name}"}
    made = Section(element("section", element("h2", head, id=f"h-{name}"), *children, **names))
    made.name, made.head = name, head
    return made
