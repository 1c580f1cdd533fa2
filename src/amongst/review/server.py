"""The server of a review: on this machine alone, on a free port, for the browser that was given the
token."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from secrets import compare_digest

import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from amongst.errors import InputError
from amongst.review.app import Review, create_app

HOST = "127.0.0.1"
PATIENCE = 2
"""Seconds that an answer may still take when the server ends."""


SAFE = {"GET", "HEAD"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what has the token, and asks for this server by its own name."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.cookie = f"amongst-review-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer that it is refused."""
        if scope["type"] != "http":  # uvicorn is told to send nothing else
            return None
        request = Request(scope)
        problem = self._problem(request)
        answer = self.app if problem is None else PlainTextResponse(problem, 403)
        start = problem is None and "token" in request.query_params

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers(start)]
            await send(message)

        return await answer(scope, receive, sent)

    def _problem(self, request: Request) -> str | None:
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return "This address is not one of the review."
        given = request.query_params.get("token") or request.cookies.get(self.cookie, "")
        if not compare_digest(given.encode(), self.token.encode()):
            return "Open the review with the address that amongst review printed."
        origin = request.headers.get("origin")
        if request.method not in SAFE and (
            origin != f"http://{host}" or "x-amongst" not in request.headers
        ):
            return "Only the page of the review may change something."
        return None

    def _headers(self, start: bool) -> list[tuple[bytes, bytes]]:
        found = dict(HEADERS)
        if start:
            found["set-cookie"] = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        return [(name.encode(), value.encode()) for name, value in found.items()]


def serve(review: Review, port: int, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `started` is told the address to open."""
    listening = _listening(port)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    config = uvicorn.Config(
        Guard(create_app(review), token, port),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=PATIENCE,
    )
    started(f"http://{HOST}:{port}/?token={token}")
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        problem = f"cannot be listened to: {error}. Leave it out, and a free one is taken."
        raise InputError(problem, code="port", argument="port", got=port) from error
