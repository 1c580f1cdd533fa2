"""The page of an explanation: rows with their pictures and candidates, classes, and confusions."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.markup import Markup, document, element, join, section
from amongst.trust.explanation import Explanation
from amongst.wording import counted

Picture = Callable[[int], tuple[str, bytes] | None]
"""Type and bytes of the picture of a row, None where it has none."""

MOST_SHARES, MOST_TEXT = 5, 200
"""Candidates of a row, and characters of a cell, that are shown."""
MOST_FLOWS = 20
"""Classes of which every pair is shown; of more the pairs with most rows."""
MOST_PAIRS, LEAST = 12, 0.05
"""Pairs of classes that are told of, and rows that one must expect."""
BINS, WIDE, HIGH, ROOF = 10, 340, 130, 16
"""Of the histogram: how many bars, their width and height together, and the room above."""
SURE = 0.99
"""A row as sure as this needs no second look."""
CLASSES = (
    "The rows that have the class as a candidate, those that have no other candidate, and those that "
    "got it as their label. Then two estimates from the candidates alone: in how many of the other "
    "classes' rows it is a wrong candidate, and how many of all rows truly have it."
)
LAW = (
    "Confidences hold where wrong candidates are there by chance. Where they are there because the "
    "row looks like them, confidences come out too high. True labels were not used."
)
FLOWS = (
    "A line counts the rows that have a class as a candidate. The columns say which label they got."
)


def explained_page(
    found: Explanation,
    *,
    title: str,
    lead: str = "",
    texts: pd.DataFrame | None = None,
    picture: Picture | None = None,
    most: int = 60,
    made: str = "",
) -> str:
    """One HTML file that needs no other: what is worth a second look, how sure all is, and who is
    confused with whom.

    Parameters
    ----------
    texts : columns that are shown of each row.
    picture : of a row, by its number.
    most : so many rows are shown, those first where asking is expected to gain most.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> logs, sets = np.log([[0.9, 0.1], [0.2, 0.8]]), as_candidates(["owl|wren", "wren"])
    >>> found = Explanation.of(logs, sets, np.array([0, 1]), temperature=1.0)
    >>> "owl" in explained_page(found, title="Birds")
    True
    """
    order, gain = found.rows["rank"].to_numpy().argsort(), found.rows["gain"].to_numpy()
    doubtful = order[gain[order] > 1 - SURE][:most]
    told = (
        f"The least sure rows come first. Among these {counted(len(doubtful), 'row')} one must expect "
        f"{gain[doubtful].sum():.1f} wrong labels. The share beside a candidate is its probability, by "
        "models that have not seen the row."
        if len(doubtful)
        else f"There is none: every label is at least {SURE:.0%} sure."
    )
    shown = gallery(found, doubtful, texts=texts, picture=picture)
    return document(
        title,
        lead,
        section("summary", "Summary", _figures(found), _histogram(found), _note(LAW)),
        section("rows", "Rows worth a second look", _note(told), shown),
        section("classes", "Classes", _note(CLASSES), _classes(found)),
        section("confusions", "Who is confused with whom", *_confusions(found)),
        made=made,
    )


def gallery(
    found: Explanation,
    rows: Iterable[int],
    *,
    texts: pd.DataFrame | None = None,
    picture: Picture | None = None,
    truth: npt.NDArray[Any] | None = None,
) -> Markup:
    """Cards of rows: picture, label, confidence and candidates; where the truth is known, whether
    the label is right.

    >>> from amongst import as_candidates
    >>> logs, sets = np.log([[0.9, 0.1], [0.2, 0.8]]), as_candidates(["owl|wren", "wren"])
    >>> found = Explanation.of(logs, sets, np.array([0, 1]), temperature=1.0)
    >>> gallery(found, [0], truth=np.array(["wren", "wren"])).count("wrong")
    2
    """
    cards = [_card(found, int(row), texts, picture, truth) for row in rows]
    return element("ol", *cards, class_="cards") if cards else Markup("")


def _note(text: str) -> Markup:
    return element("p", text, class_="note")


def _histogram(found: Explanation) -> Markup:
    """How many rows are how sure of their label, as a picture."""
    counts, _ = np.histogram(found.rows["confidence"], bins=BINS, range=(0, 1))
    step, foot, drawn = WIDE / BINS, ROOF + HIGH, []
    for i, count in enumerate(counts):
        left, high = 12 + i * step, round(count / max(int(counts.max()), 1) * HIGH)
        place = {"x": left + 1, "y": foot - high, "width": step - 2, "height": high}
        drawn += [element("rect", class_="fill", **place)]
        drawn += [_written(f"{count:,}", left + step / 2, foot - high - 4)]
    line = element("line", x1=12, x2=12 + WIDE, y1=foot, y2=foot, class_="axis")
    ticks = [_written(f"{i / 4:.0%}", 12 + i * WIDE / 4, foot + 15) for i in range(5)]
    what = _written("confidence in the label", 12 + WIDE / 2, foot + 30)
    told = "Rows by how sure they are of their label"
    box = f"0 0 {WIDE + 24} {foot + 34}"
    named = {"viewBox": box, "class_": "bars", "role": "img", "aria_label": told}
    return element("svg", *drawn, line, *ticks, what, **named)


def _written(text: str, x: float, y: float) -> Markup:
    return element("text", text, x=x, y=y, text_anchor="middle")


def _figures(found: Explanation) -> Markup:
    rows = found.rows
    wide, outside = 100 * 1.96 * found.right_se, rows["outside"].notna().sum()
    figures = [
        (f"{len(rows):,}", "", f"rows, {len(found.sets.classes)} classes"),
        (f"{100 * found.right:.1f}", f"% ± {wide:.1f}", "of the labels are expected to be right"),
        (
            f"{100 * (rows['confidence'] >= 0.95).mean():.0f}",
            "%",
            "of the rows are at least 95% sure",
        ),
        (f"{outside:,}", "", "rows look most like a class that is no candidate"),
    ]
    if rows["agreement"].notna().any():
        shared = 100 * rows["agreement"].mean()
        figures.append((f"{shared:.0f}", "%", "of the models agree with a label, on average"))
    shown = (
        element("div", element("dd", value, element("small", unit)), element("dt", what))
        for value, unit, what in figures
    )
    return element("dl", *shown, class_="figures")


def _card(
    found: Explanation,
    at: int,
    texts: pd.DataFrame | None,
    picture: Picture | None,
    truth: npt.NDArray[Any] | None,
) -> Markup:
    row, name = found.rows.iloc[at], str(found.rows.index[at])
    verdict = said = None
    if truth is not None:
        verdict = said = "right" if truth[at] == row["label"] else "wrong"
        said += f": it is {truth[at]}" if verdict == "wrong" else ""
    cells = {} if texts is None else texts.iloc[at].dropna().astype(str).to_dict()
    return element(
        "li",
        None if picture is None else _image(picture(at), name),
        element("h3", str(row["label"])),
        None if said is None else element("p", said, class_="verdict"),
        element("p", f"row {name}: {_sure(row)}"),
        _shares(row["candidates"], row["label"]),
        None if row["outside"] is None else element("p", f"looks most like {row['outside']}"),
        *(element("p", f"{column}: {_short(cell)}") for column, cell in cells.items()),
        class_=f"card {verdict or ''}".strip(),
    )


def _sure(row: pd.Series) -> str:
    if row["margin"] < 0:
        return f"in doubt, {row['runner_up']} is likelier"
    agree = row["agreement"]
    agreed = "" if np.isnan(agree) else f", {agree:.0%} of the models agree"
    return f"{row['confidence']:.0%} sure{agreed}"


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT].rstrip() + "…"


def _image(found: tuple[str, bytes] | None, name: str) -> Markup | None:
    if found is None:
        return None
    kind, content = found
    source = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    return element("img", src=source, alt=f"row {name}")


def _shares(candidates: dict[Any, float], label: Any) -> Markup:
    """The likeliest candidates, and the label wherever it stands."""
    shown = list(candidates)[:MOST_SHARES]
    shown = shown if label in shown else [*shown[:-1], label]
    lines = [
        element(
            "li",
            element("span", str(name)),
            element("span", element("i", style=f"width:{share:.0%}"), class_="track"),
            element("span", f"{share:.0%}"),
            class_=None if name == label else "not",
        )
        for name, share in ((name, candidates[name]) for name in shown)
    ]
    more = len(candidates) - len(lines)
    rest = [element("p", f"and {more} more")] if more else []
    return join([element("ul", *lines, class_="shares"), *rest])


def _classes(found: Explanation) -> Markup:
    columns = {
        "candidate": "candidate",
        "only candidate": "only",
        "label": "label",
        "mean confidence": "confidence",
        "wrong candidate": "false_rate",
        "true label": "share",
    }
    lines = []
    for name, row in zip(
        found.sets.classes.tolist(), found.classes().to_dict("records"), strict=True
    ):
        cells = [
            element("td", _number(row[column]), class_="number") for column in columns.values()
        ]
        last = element("td", str(row["taken_for"] or "–"), class_="number")
        lines.append(element("tr", element("th", str(name), scope="row"), *cells, last))
    return _table(("class", *columns, "most often taken for"), lines, "A line for each class")


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if np.isnan(value) else f"{value:.1%}"


def _confusions(found: Explanation) -> list[Markup]:
    flows, mistakes = found.flows(), found.confusions().to_numpy()
    names, counts = [str(name) for name in flows.index], flows.to_numpy()
    order = np.argsort(-mistakes, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = [divmod(int(place), len(names)) for place in order if mistakes.flat[place] >= LEAST]
    items = [
        f"{names[y]} instead of {names[z]}: {mistakes[z, y]:.1f} rows are expected"
        for z, y in pairs
    ]
    listed = [element("ul", *(element("li", item) for item in items), class_="findings")]
    told = listed if items else []
    if len(names) > MOST_FLOWS:
        return told
    top = max(int(np.where(np.eye(len(names), dtype=bool), 0, counts).max()), 1)
    body = []
    for z, name in enumerate(names):
        looks = [
            {"class_": "own"} if z == y else {"style": f"--w:{count / top:.0%}"}
            for y, count in enumerate(counts[z])
        ]
        cells = (element("td", f"{n:,}", **look) for n, look in zip(counts[z], looks, strict=True))
        body.append(element("tr", element("th", name, scope="row"), *cells))
    table = _table(("candidate", *names), body, "From candidates to labels", "flows")
    return [*told, _note(FLOWS), table]


def _table(
    heads: tuple[str, ...], body: list[Markup], name: str, kind: str | None = None
) -> Markup:
    first = element("th", heads[0], scope="col")
    rest = [element("th", head, scope="col", class_="number") for head in heads[1:]]
    made = element(
        "table",
        element("caption", name, class_="hidden"),
        element("thead", element("tr", first, *rest)),
        element("tbody", join(body)),
        class_=kind,
    )
    return element("div", made, class_="scroll", tabindex="0", role="region", aria_label=name)
