"""A review of six rows, served on a real port of this machine."""

from __future__ import annotations

import http.client
import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from amongst import as_candidates
from amongst.review import Decisions, Rows
from amongst.review.app import Review
from amongst.review.rows import Pictures
from amongst.review.server import serve

EVIL = "<img src=x onerror='window.hurt=1'>"
LABELS = ["kite|owl", f"kite|{EVIL}", "owl|wren", "wren", "owl|wren|kite", "kite|wren"]
SHARES = {"kite": 0.3, "owl": 0.2, "wren": 0.15, EVIL: 0.1}


@dataclass
class Served:
    """A running review, and a client that has its token."""

    address: str
    review: Review

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def token(self) -> str:
        return urlsplit(self.address).query.removeprefix("token=")

    def ask(
        self, path: str, body: Any = None, method: str | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, head and body of an answer; headers replace or, as None, take away the usual."""
        port = self.host.partition(":")[2]
        usual = {"Host": self.host, "Cookie": f"amongst-review-{port}={self.token}"}
        if body is not None:
            usual |= {"Origin": f"http://{self.host}", "X-Amongst": "1"}
        usual |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore[misc]
        connection = http.client.HTTPConnection(self.host, timeout=30)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {name: value for name, value in usual.items() if value is not None}
        connection.request(method or ("GET" if body is None else "POST"), path, content, sent)
        answer = connection.getresponse()
        found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def json(self, path: str, body: Any = None) -> Any:
        return json.loads(self.ask(path, body)[2])

    def decide(self, row: int, version: int, action: str, label: str | None = None) -> int:
        given = {"row": row, "version": version, "action": action, "label": label}
        return self.ask("/api/decide", given)[0]


def six_rows(folder: Path) -> Rows:
    sets = as_candidates(LABELS)
    shares = sets.mask * np.array([SHARES[label] for label in sets.classes.tolist()])
    shares = shares / shares.sum(axis=1, keepdims=True)
    Image.new("RGB", (5000, 4000), "teal").save(folder / "large.jpg")
    Image.new("L", (8, 8), 200).save(folder / "small.png")
    names = ["large.jpg", "broken.png", "../outside.png", "", "small.png", "/etc/passwd"]
    (folder / "broken.png").write_bytes(b"no picture")
    texts = pd.DataFrame({"note": [EVIL, "a\nb", None, "d", "e", "f"]}, dtype=object)
    return Rows(
        keys=[f"bird {row}" for row in range(6)],
        sets=sets,
        shares=shares,
        order=shares.max(axis=1).argsort(kind="stable"),
        features=pd.DataFrame({"wing": np.arange(6) / 3, "song": "twit twoo " * 40}),
        texts=texts,
        pictures=Pictures(folder, names),
    )


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return serve_rows(tmp_path, lambda folder: six_rows(folder))


def serve_rows(folder: Path, make: Callable[[Path], Rows]) -> Served:
    """A review in a thread of its own, which ends with the tests."""
    pictures = folder / "pictures"
    pictures.mkdir()
    Image.new("L", (8, 8)).save(folder / "outside.png")
    decisions = Decisions(folder / "kept.sqlite", digest="3f", by_name=True)
    review = Review(make(pictures), decisions, "ann", "birds & more.csv")
    told: queue.Queue[str] = queue.Queue()
    threading.Thread(target=serve, args=(review, 0, told.put), daemon=True).start()
    return Served(told.get(timeout=30), review)
