"""Downloads against a server on this machine: resumed, checked, atomic, and clear when they fail."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from amongst.data import Entry, File, entry, fetch, load
from amongst.data import download as downloads
from amongst.data.cifar import batches_of
from amongst.data.download import fetch_entry
from amongst.data.loading import load_entry
from amongst.errors import DataNotFoundError, FileFormatError, InputError, MissingDependencyError


@dataclass
class Server:
    """What it serves, what it was asked for, and after how many bytes it hangs up."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    hang_up_after: int | None = None
    ranges: bool = True
    pause: float = 0.0


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            if self.path not in state.files:
                self.send_error(404)
                return
            content = state.files[self.path]
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if wanted and state.ranges and start >= len(content):
                self.send_error(416)
                return
            partial = bool(wanted and state.ranges)
            body = content[start:] if partial else content
            self.send_response(206 if partial else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            time.sleep(state.pause)
            self.wfile.write(body[: state.hang_up_after])

        def log_message(self, *_: object) -> None:
            """Silent."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def mat_bytes() -> bytes:
    rng = np.random.default_rng(0)
    truth = np.eye(3)[np.arange(30) % 3]
    mask = (rng.random((30, 3)) < 0.4) | (truth > 0)
    target = io.BytesIO()
    arrays = {"data": rng.normal(size=(30, 400)), "partial_target": mask.T, "target": truth.T}
    scipy.io.savemat(target, {name: array * 1.0 for name, array in arrays.items()})
    return target.getvalue()


@pytest.fixture
def served(home: Path, server: Server) -> Entry:
    """An entry whose one file only the server has."""
    content = mat_bytes()
    server.files["/lost.mat"] = content
    file = File("lost.mat", hashlib.sha256(content).hexdigest(), (f"{server.address}/lost.mat",))
    return replace(entry("lost"), n_train=30, row=(400,), n_classes=3, mean_size=1.7, files=(file,))


def parts(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "cache").rglob("*") if path.is_file())


def test_a_file_arrives_in_the_cache_and_is_found_there(
    served: Entry, home: Path, server: Server
) -> None:
    paths = fetch_entry(served, progress=False)
    assert paths == [home / "cache" / "pll" / "lost.mat"]
    assert paths[0].read_bytes() == server.files["/lost.mat"]
    assert parts(home) == ["lost.mat"]
    assert fetch_entry(served, progress=False) == paths
    assert len(server.asked) == 1


def test_two_that_want_one_file_download_it_once(served: Entry, home: Path, server: Server) -> None:
    server.pause = 0.3
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: fetch_entry(served, progress=False), range(2)))
    assert found[0] == found[1]
    assert len(server.asked) == 1
    assert parts(home) == ["lost.mat"]


def test_an_interrupted_download_goes_on_where_it_stopped(
    served: Entry, home: Path, server: Server
) -> None:
    server.hang_up_after = 1000
    with pytest.raises(DataNotFoundError, match="could not be downloaded"):
        fetch_entry(served, progress=False)
    assert parts(home) == ["lost.mat.part"]
    held = (home / "cache" / "pll" / "lost.mat.part").stat().st_size
    server.hang_up_after = None
    fetch_entry(served, progress=False)
    assert server.asked[-1] == ("/lost.mat", f"bytes={held}-")
    assert 0 < held <= 1000
    assert parts(home) == ["lost.mat"]


def test_a_server_that_ignores_ranges_starts_again(
    served: Entry, home: Path, server: Server
) -> None:
    (home / "cache" / "pll").mkdir()
    (home / "cache" / "pll" / "lost.mat.part").write_bytes(b"old bytes")
    server.ranges = False
    fetch_entry(served, progress=False)
    assert parts(home) == ["lost.mat"]


def test_a_complete_part_needs_nothing_more(served: Entry, home: Path, server: Server) -> None:
    (home / "cache" / "pll").mkdir()
    (home / "cache" / "pll" / "lost.mat.part").write_bytes(server.files["/lost.mat"])
    fetch_entry(served, progress=False)
    assert parts(home) == ["lost.mat"]


def test_wrong_bytes_are_set_aside_not_installed(served: Entry, home: Path, server: Server) -> None:
    server.files["/lost.mat"] = b"<html>Sign in to this network</html>"
    with pytest.raises(FileFormatError, match="wrong checksum") as caught:
        fetch_entry(served, progress=False)
    found = hashlib.sha256(server.files["/lost.mat"]).hexdigest()
    for part in ("lost.mat.rejected", str(served.files[0].sha256), found):
        assert part in str(caught.value)
    assert parts(home) == ["lost.mat.rejected"]


def test_the_next_origin_is_tried(served: Entry, home: Path, server: Server) -> None:
    file = served.files[0]
    urls = (f"{server.address}/gone.mat", *file.urls)
    fetch_entry(replace(served, files=(replace(file, urls=urls),)), progress=False)
    assert [path for path, _ in server.asked] == ["/gone.mat", "/lost.mat"]
    assert parts(home) == ["lost.mat"]


def test_a_file_in_the_data_folder_is_not_downloaded_again(
    served: Entry, home: Path, server: Server
) -> None:
    (home / "data" / "pll").mkdir()
    there = home / "data" / "pll" / "lost.mat"
    there.write_bytes(server.files["/lost.mat"])
    assert fetch_entry(served) == [there]
    assert server.asked == []


def test_the_progress_bar_says_what_arrives(
    served: Entry, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_entry(served, progress=True)
    assert "lost.mat" in capsys.readouterr().err


def test_no_network_says_in_one_line_where_to_put_the_file(served: Entry, home: Path) -> None:
    closed = "http://127.0.0.1:9/lost.mat"
    entry_ = replace(served, files=(replace(served.files[0], urls=(closed,)),))
    with pytest.raises(DataNotFoundError) as caught:
        fetch_entry(entry_, progress=False)
    message = str(caught.value)
    assert "no connection" in message
    assert f"Put it by hand at {home / 'data' / 'pll' / 'lost.mat'}" in message
    assert closed in message
    assert "\n" not in message


def test_http_errors_are_named(served: Entry, server: Server) -> None:
    server.files.clear()
    with pytest.raises(DataNotFoundError, match="the server says 404"):
        fetch_entry(served, progress=False)


def test_an_unwritable_cache_is_one_line(
    served: Entry, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "a_file").write_text("in the way")
    monkeypatch.setenv("AMONGST_CACHE", str(home / "a_file" / "cache"))
    with pytest.raises(InputError, match=r"cache folder .* cannot be written.*AMONGST_CACHE"):
        fetch_entry(served, progress=False)


def test_sets_without_an_origin_say_what_to_do(home: Path) -> None:
    for name in ("soccer_player", "yahoo_news"):
        with pytest.raises(DataNotFoundError, match=r"Put it by hand at .*\.rar"):
            fetch(name)


def test_load_can_be_kept_from_downloading(home: Path) -> None:
    with pytest.raises(DataNotFoundError, match="amongst datasets fetch mnist"):
        load("mnist", download=False)


def test_without_requests_or_platformdirs_local_files_still_load(
    served: Entry, home: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("requests", "platformdirs"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match="requests"):
        fetch_entry(served, progress=False)
    monkeypatch.delenv("AMONGST_CACHE")
    with pytest.raises(InputError, match="no cache to download to"):
        fetch_entry(served, progress=False)
    (home / "data" / "pll").mkdir()
    (home / "data" / "pll" / "lost.mat").write_bytes(server.files["/lost.mat"])
    data = load_entry(replace(served, mean_size=_mean(served)))
    assert len(data) == 30


def _mean(served: Entry) -> float:
    loaded = scipy.io.loadmat(io.BytesIO(mat_bytes()))
    return round(float(loaded["partial_target"].sum() / served.n_train), 2)


def test_the_folder_in_the_environment_must_exist(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMONGST_DATA", str(home / "typo"))
    with pytest.raises(InputError, match=r"AMONGST_DATA=.*not a folder"):
        load("lost")


def test_the_archive_of_cifar_is_fetched_and_read_as_it_is(
    home: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        info = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"batch"))
    server.files["/cifar-10-python.tar.gz"] = made.getvalue()
    file = replace(
        entry("cifar10").files[0],
        sha256=hashlib.sha256(made.getvalue()).hexdigest(),
        urls=(f"{server.address}/cifar-10-python.tar.gz",),
    )
    small = replace(entry("cifar10"), files=(file,))
    monkeypatch.setattr(downloads, "catalogue_entry", lambda _: small)
    archive = home / "cache" / "cifar10" / "cifar-10-python.tar.gz"
    assert fetch_entry(small, progress=False) == [archive]
    assert list(batches_of(archive)) == [("data_batch_1", b"batch")]
    assert fetch_entry(small, progress=False) == [archive], "it is there, and stays"
