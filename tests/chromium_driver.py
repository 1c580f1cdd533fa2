"""Drives a real headless Chromium over its debugging pipe; needs the standard library only."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def find_chromium() -> str | None:
    """The browser named by CHROMIUM, else the first one on the path."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab. Commands of the DevTools protocol go down one pipe, answers come up another."""

    def __init__(self, down: int, up: int) -> None:
        self.down, self.up = down, up
        self.rest = b""
        self.numbers = itertools.count(1)
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.down, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda event: event.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, address: str) -> None:
        self.events.clear()
        self.call("Page.navigate", url=address)
        self._until(lambda event: event.get("method") == "Page.loadEventFired")

    def js(self, expression: str) -> Any:
        """Value of an expression in the page (promises are awaited)."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """A real mouse click in the middle of the first match."""
        x, y = self.js(
            f"(()=>{{const e=document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block:'center',behavior:'instant'});"
            "const r=e.getBoundingClientRect();return [r.x+r.width/2,r.y+r.height/2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int, text: str = "") -> None:
        """A real key stroke."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screen(self, width: int, height: int, *, dark: bool = False, mobile: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def pdf(self, path: Path) -> None:
        answer = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """Console errors and warnings, uncaught exceptions, and the browser's own log."""
        self.js("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        return [json.dumps(event["params"]) for event in self.events if _complains(event)]

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        sent = [e for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def wait(self, condition: str) -> None:
        """Until an expression in the page is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.js(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def tab(self) -> str:
        """Another tab, in front from now on; its name, for `session`."""
        self.session = None
        self.attach()
        assert self.session is not None
        return self.session

    def violations(self, axe: str) -> list[list[str]]:
        """What axe-core, whose source is given, finds against accessibility."""
        self.call("Page.setBypassCSP", enabled=True)
        self.call("Runtime.evaluate", expression=axe)
        told = "v => [v.id, v.help, ...v.nodes.map(n => n.html)]"
        found = self.js(f"axe.run().then(found => found.violations.map({told}))")
        self.call("Page.setBypassCSP", enabled=False)
        return found  # type: ignore[no-any-return]

    def picture(self, path: Path) -> None:
        """What the tab shows, as a PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while True:
            event = self._next(deadline)
            self.events.append(event)
            if wanted(event):
                return event

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select([self.up], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium did not answer")
            chunk = os.read(self.up, 1 << 16)
            if not chunk:
                raise EOFError("Chromium has gone")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\0")
        event: dict[str, Any] = json.loads(line)
        return event


def _complains(event: dict[str, Any]) -> bool:
    method, params = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        return True
    if method == "Runtime.consoleAPICalled":
        return params["type"] in ("error", "warning", "assert")
    return method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")


@contextmanager
def chromium(binary: str) -> Iterator[Page]:
    """A page in a browser with an empty profile of its own, gone at the end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process, page = _start(binary, profile)
        try:
            page.attach()
            yield page
        finally:
            _stop(process, page)


def _start(binary: str, profile: str) -> tuple[subprocess.Popen[bytes], Page]:
    their_in, down = os.pipe()
    up, their_out = os.pipe()
    # The browser wants descriptors 3 and 4; move ours away first so that dup2 overwrites neither.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (their_in, their_out)]
    shell = f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]} {ends[0]}<&- {ends[1]}>&-'
    process = subprocess.Popen(
        ["bash", "-c", shell, binary, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=ends,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for end in (their_in, their_out, *ends):
        os.close(end)
    return process, Page(down, up)


def _stop(process: subprocess.Popen[bytes], page: Page) -> None:
    page.session = None
    with suppress(Exception):
        page.call("Browser.close")
    for end in (page.down, page.up):
        os.close(end)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
