"""The web application: a page, what it shows of a row, and what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from amongst.checks import check_choice, check_number
from amongst.errors import AmongstError, InputError
from amongst.review.decisions import Decision, Decisions
from amongst.review.rows import SHOWN, Rows, Wanted

STATIC = Path(__file__).with_name("static")
LARGEST_BODY = 100_000
"""Bytes that a decision may take."""


@dataclass(frozen=True)
class Review:
    """One person's review of the rows of a file.

    Attributes
    ----------
    rows, decisions : what is reviewed, and what was decided.
    who : the person.
    name : of the file.
    """

    rows: Rows
    decisions: Decisions
    who: str
    name: str

    def about(self) -> dict[str, Any]:
        """What does not change: the names of the file, the person and the classes."""
        return {"name": self.name, "who": self.who, "classes": self.rows.classes}

    def next(self, wanted: Wanted, row: int | None, after: int | None) -> dict[str, Any]:
        """The row that is named, or the first that is wanted, behind the row `after` if that is named;
        and how far the review is."""
        standing = self.decisions.standing()
        actions = {key: decision.action for key, decision in standing.items()}
        after = None if after is None else self._row(after)
        row = self.rows.first(wanted, actions, after) if row is None else self._row(row)
        ahead = self.rows.first(wanted, actions, row)
        return {
            "row": None if row is None else self.told(row),
            "ahead": ahead if ahead is not None and self.rows.has_picture(ahead) else None,
            "undo": self._undo(standing),
            "progress": self._progress(actions),
        }

    def decide(self, given: dict[str, Any]) -> dict[str, Any]:
        """Write a decision; an error of the code ``"conflict"`` if its row has another by now."""
        row, seen = self._row(given.get("row")), given.get("version")
        action: Any = check_choice("action", given.get("action"), ("label", "skip", "undo"))
        label = given.get("label") if action == "label" else None
        if not isinstance(seen, int):
            raise InputError("must be a number.", code="version", argument="version", got=seen)
        if action == "label" and label not in self.rows.classes:
            problem = "is no label of this file."
            raise InputError(problem, code="no-label", argument="label", got=label)
        return asdict(self.decisions.add(self.rows.keys[row], seen, action, label, self.who))

    def told(self, row: int) -> dict[str, Any]:
        """What is shown of a row, and what was decided."""
        key = self.rows.keys[row]
        decision = self.decisions.standing().get(key)
        return self.rows.told(row) | {
            "version": len(self.decisions.history(key)),
            "decision": None if decision is None else asdict(decision),
        }

    def _undo(self, standing: dict[str, Decision]) -> dict[str, Any] | None:
        """The newest decision of this person that counts, and the version of its row."""
        own = (d for d in standing.values() if d.who == self.who and d.row in self.rows.places)
        last = max(own, key=lambda decision: decision.id, default=None)
        if last is None:
            return None
        version = len(self.decisions.history(last.row))
        return {"row": self.rows.places[last.row], "key": last.row, "version": version}

    def _progress(self, actions: Mapping[str, str]) -> dict[str, int]:
        count = Counter(action for key, action in actions.items() if key in self.rows.places)
        return {"rows": len(self.rows), "decided": count["label"], "skipped": count["skip"]}

    def _row(self, given: Any) -> int:
        if not isinstance(given, int) or not 0 <= given < len(self.rows):
            raise InputError("is no row of this file.", code="no-row", argument="row", got=given)
        return given


def create_app(review: Review) -> Starlette:
    """The application that serves a review; `amongst.review.server` guards it."""

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def about(_: Request) -> Response:
        return JSONResponse(review.about())

    async def next_row(request: Request) -> Response:
        return await _answered(lambda: review.next(*_asked(request)))

    async def decide(request: Request) -> Response:
        if int(request.headers.get("content-length", LARGEST_BODY)) >= LARGEST_BODY:
            return _problem("That is too much.", 413)
        try:
            given = await request.json()
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return _problem("A decision is an object in JSON.", 400)
        answer = await _answered(lambda: review.decide(given))
        if answer.status_code == 409:
            return JSONResponse({"row": await run_in_threadpool(review.told, given["row"])}, 409)
        return answer

    async def picture(request: Request) -> Response:
        row, pictures = request.path_params["row"], review.rows.pictures
        if pictures is None or row >= len(review.rows):
            return _problem("There is no such picture.", 404)
        try:
            kind, content = await run_in_threadpool(pictures.thumbnail, row)
        except AmongstError as error:
            return _problem(str(error), 404)
        return Response(content, media_type=kind)

    async def export(_: Request) -> Response:
        frame = await run_in_threadpool(review.decisions.export)
        name = {"content-disposition": 'attachment; filename="reviewed.csv"'}
        return Response(frame.to_csv(index=False), media_type="text/csv", headers=name)

    routes = [
        Route("/", page),
        Route("/api/about", about),
        Route("/api/next", next_row),
        Route("/api/decide", decide, methods=["POST"]),
        Route("/picture/{row:int}", picture),
        Route("/reviewed.csv", export),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Starlette(routes=routes)


def _asked(request: Request) -> tuple[Wanted, int | None, int | None]:
    """The rows that an address asks for."""
    asked = request.query_params
    low, high = float(asked.get("low", 0)), float(asked.get("high", 1))
    for name, share in (("low", low), ("high", high)):
        check_number(name, share, low=0, high=1)
    show = check_choice("show", asked.get("show", "open"), SHOWN)
    row, after = (int(asked[name]) if name in asked else None for name in ("row", "after"))
    return Wanted(show, asked.get("label", ""), low, high), row, after


async def _answered(ask: Callable[[], dict[str, Any]]) -> Response:
    """The answer, or what is wrong with the question or the disk."""
    try:
        return JSONResponse(await run_in_threadpool(ask))
    except AmongstError as error:
        known = {"conflict": 409} | dict.fromkeys(("not-written", "damaged"), 503)
        return _problem(str(error), known.get(error.code, 400))
    except ValueError:
        return _problem("A number of the address is none.", 400)


def _problem(text: str, status: int) -> Response:
    return JSONResponse({"problem": text}, status)
