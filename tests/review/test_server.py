"""The server over real HTTP: what it answers, and whom it refuses."""

from __future__ import annotations

import csv
import io
import json
import threading
from typing import Any

import pytest
from PIL import Image


def test_rows_come_in_order_and_decisions_are_kept_at_once(served: Any) -> None:
    first = served.json("/api/next")
    assert first["row"]["key"] == "bird 4"
    assert first["progress"] == {"rows": 6, "decided": 0, "skipped": 0}
    assert [c["label"] for c in first["row"]["candidates"]] == ["kite", "owl", "wren"]
    assert served.decide(4, 0, "label", "owl") == 200
    second = served.json("/api/next")
    assert second["row"]["row"] != 4
    assert second["undo"] == {"row": 4, "key": "bird 4", "version": 1}
    assert served.decide(second["row"]["row"], 0, "skip") == 200
    third = served.json("/api/next")
    assert third["progress"] == {"rows": 6, "decided": 1, "skipped": 1}
    assert third["row"]["row"] == 0 == second["ahead"]  # its picture can be asked for before


def test_rows_are_filtered_by_class_confidence_and_what_was_decided(served: Any) -> None:
    assert served.json("/api/next?label=wren")["row"]["key"] == "bird 3"
    assert served.json("/api/next?label=owl&high=0.58")["row"]["key"] == "bird 2"
    assert served.json("/api/next?low=0.99")["row"]["key"] == "bird 3"
    assert served.json("/api/next?show=decided")["row"] is None
    served.decide(2, 0, "label", "wren")
    found = served.json("/api/next?show=decided")["row"]
    assert (found["key"], found["decision"]["label"], found["decision"]["who"]) == (
        "bird 2",
        "wren",
        "ann",
    )


def test_rows_that_stay_as_they_are_follow_one_another_and_come_round(served: Any) -> None:
    for row in (0, 2, 5):
        served.decide(row, 0, "label", "owl")
    wanted, found = "/api/next?show=decided", []
    row = served.json(wanted)["row"]["row"]
    for _ in range(4):
        found.append(row)
        row = served.json(f"{wanted}&after={row}")["row"]["row"]
    order = [row for row in served.review.rows.order.tolist() if row in (0, 2, 5)]
    assert found == [*order, order[0]]
    assert served.json(f"{wanted}&high=0.5&after=4")["row"] is None


def test_a_decision_on_an_older_version_is_a_conflict_that_shows_the_newer(served: Any) -> None:
    assert served.decide(0, 0, "label", "owl") == 200
    given = {"row": 0, "version": 0, "action": "label", "label": "kite"}
    status, _, body = served.ask("/api/decide", given)
    assert status == 409
    assert json.loads(body)["row"]["decision"]["label"] == "owl"
    assert served.decide(0, 1, "undo") == 200
    assert served.json("/api/next?row=0")["row"]["decision"] is None
    assert served.json("/api/next?row=0")["row"]["version"] == 2


@pytest.mark.parametrize(
    "given",
    [
        {"row": 6, "version": 0, "action": "skip"},
        {"row": "0", "version": 0, "action": "skip"},
        {"row": 0, "version": "0", "action": "skip"},
        {"row": 0, "version": 0, "action": "drop"},
        {"row": 0, "version": 0, "action": "label", "label": "emu"},
        {"row": 0, "version": 0, "action": "label"},
        ["row"],
        b"{",
    ],
)
def test_what_is_no_decision_is_refused_and_not_kept(served: Any, given: Any) -> None:
    assert served.ask("/api/decide", given)[0] == 400
    assert served.review.decisions.standing() == {}


@pytest.mark.parametrize("query", ["show=all", "low=x", "low=2", "row=99", "row=x", "after=99"])
def test_an_address_that_means_nothing_is_refused(served: Any, query: str) -> None:
    assert served.ask(f"/api/next?{query}")[0] == 400


def test_the_export_holds_who_and_when_and_labels_as_text(served: Any) -> None:
    evil = served.json("/api/about")["classes"][0]
    served.decide(1, 0, "label", evil)
    status, head, body = served.ask("/reviewed.csv")
    (line,) = csv.DictReader(io.StringIO(body.decode()))
    assert status == 200
    assert "attachment" in head["content-disposition"]
    assert (line["row"], line["label"], line["who"], line["row_is"]) == (
        "bird 1",
        evil,
        "ann",
        "name",
    )
    assert line["at"].startswith("20")
    assert line["at"].endswith("+00:00")


def test_only_the_start_address_and_its_cookie_open_anything(served: Any) -> None:
    for path in ("/", "/api/next", "/picture/0", "/static/app.js", "/reviewed.csv"):
        assert served.ask(path, Cookie=None)[0] == 403
        assert served.ask(path, Cookie="amongst-review-1=x; token=y")[0] == 403
        assert served.ask(f"{path}?token=wrong", Cookie=None)[0] == 403
    status, head, _ = served.ask(f"/?token={served.token}", Cookie=None)
    assert status == 200
    assert {"HttpOnly", "SameSite=Strict"} <= set(head["set-cookie"].split("; "))
    assert "script-src 'self'" in head["content-security-policy"]
    assert "unsafe-inline" not in head["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_another_name_of_this_machine_is_refused(served: Any, host: str) -> None:
    assert served.ask("/api/next", Host=host)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"X_Amongst": None},
        {"Cookie": None},
    ],
)
def test_no_other_page_decides(served: Any, headers: dict[str, str | None]) -> None:
    given = {"row": 0, "version": 0, "action": "skip"}
    assert served.ask("/api/decide", given, **headers)[0] == 403
    assert served.review.decisions.standing() == {}
    assert served.ask("/api/decide")[0] == 405


def test_pictures_are_made_small_and_only_of_files_in_the_folder(served: Any) -> None:
    status, head, body = served.ask("/picture/0")
    assert (status, head["content-type"]) == (200, "image/jpeg")
    assert Image.open(io.BytesIO(body)).size == (1000, 800)
    assert served.ask("/picture/4")[1]["content-type"] == "image/png"
    for row in (1, 2, 3, 5, 6, 99):
        assert served.ask(f"/picture/{row}")[0] == 404
    for path in ("/picture/../outside.png", "/static/../app.py", "/static/%2e%2e/app.py"):
        assert served.ask(path)[0] == 404
    link = served.review.rows.pictures.folder / "small.png"
    link.unlink()
    link.symlink_to(link.parent.parent / "outside.png")
    served.review.rows.pictures.thumbnail.cache_clear()
    assert served.ask("/picture/4")[0] == 404


def test_a_picture_that_takes_long_stalls_nothing_else(served: Any) -> None:
    begun, finish = threading.Event(), threading.Event()

    def slow(row: int) -> tuple[str, bytes]:
        begun.set()
        assert finish.wait(30)
        return "image/png", b"picture"

    served.review.rows.pictures.thumbnail = slow
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(served.ask("/picture/0")))
    asking.start()
    assert begun.wait(30)
    assert served.decide(0, 0, "label", "owl") == 200
    assert served.json("/api/next")["progress"]["decided"] == 1
    assert answers == []
    finish.set()
    asking.join(30)
    assert answers[0][2] == b"picture"
