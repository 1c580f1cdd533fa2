"""Files that appear whole, and what a killed writer leaves: taken away by the next, and no other."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from amongst.files import STALE_SECONDS, atomic_write, read_archive, temporary_prefix, write_archive

HANG = """
import sys, threading
import numpy as np
from pathlib import Path

def hang(*_, **__):
    print("writing", flush=True)
    threading.Event().wait()
"""
SAVING = """
import os
from amongst.files import write_archive
os.fsync = hang
write_archive(sys.argv[1], {"w": np.eye(2)}, {})
"""
TRAINING = """
import os, torch
from amongst.train import Features, Settings
from amongst.accel.population import Member, train_population
from amongst.algorithms import CC
#
inside, settings = torch.ones(4, 2, dtype=torch.bool), Settings(epochs=1, batch_size=4)
member = Member(CC(), inside, settings)
train_population(Features(torch.ones(4, 2)), [member], model="linear", device="cpu", checkpoint=sys.argv[1])
"""


def killed(script: str, *arguments: Path) -> None:
    """Run until it says that it writes, then kill −9."""
    words = [sys.executable, "-c", HANG + script, *map(str, arguments)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def kill() -> None:
    if os.name == "nt":
        pytest.skip("there, one cannot ask whether a process lives")


@pytest.mark.usefixtures("kill")
def test_a_killed_save_leaves_nothing_once_it_is_done_again(tmp_path: Path) -> None:
    killed(SAVING, tmp_path / "model")
    assert len(names(tmp_path)) == 1
    write_archive(tmp_path / "model", {"w": np.eye(3)}, {})
    assert names(tmp_path) == ["model"]
    assert read_archive(tmp_path / "model")[0]["w"].shape == (3, 3)


@pytest.mark.usefixtures("kill")
def test_a_killed_checkpoint_of_a_population_leaves_nothing_once_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(TRAINING.replace("#", "os.replace = hang"), tmp_path)
    assert len(names(tmp_path)) == 1
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path)])
    exec("import sys" + TRAINING, {})
    (left,) = names(tmp_path)
    assert left.startswith("cohort-")


def test_two_writers_at_once_both_succeed(tmp_path: Path) -> None:
    target = tmp_path / "both"
    with atomic_write(target) as slow:
        slow.write(b"slow")
        code = (
            "from amongst.files import write_atomically as w; import sys; w(sys.argv[1], b'fast')"
        )
        subprocess.run([sys.executable, "-c", code, str(target)], check=True)
        assert target.read_bytes() == b"fast"
    assert target.read_bytes() == b"slow"
    assert names(tmp_path) == ["both"]


def test_only_what_is_old_or_of_a_dead_process_goes(tmp_path: Path) -> None:
    target = tmp_path / "a.npy"
    mine = temporary_prefix(target)
    machine = mine.removeprefix(".a.npy.").split("-")[0]
    other = "0" * 8
    kept = [f"{mine}abc", f".a.npy.{other}-999999999-abc", ".a.npy.swp", f".b.npy.{machine}-1-abc"]
    gone = [f"{mine}old", f".a.npy.{machine}-999999999-abc", f".a.npy.{other}-7-old"]
    for name in (*kept, *(gone if os.name != "nt" else gone[::2])):
        (tmp_path / name).touch()
        if name.endswith("old"):
            past = (tmp_path / name).stat().st_mtime - STALE_SECONDS - 60
            os.utime(tmp_path / name, (past, past))
    with atomic_write(target) as file:
        file.write(b"1")
    assert names(tmp_path) == sorted([*kept, "a.npy"])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_cache_can_be_shared(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "copy") as file:
            file.write(b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.touch(mode=0o600)
    with atomic_write(target) as file:
        (temporary,) = set(tmp_path.iterdir()) - {target}
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        file.write(b"1")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_the_umask_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the process's: read by setting it, it made another thread's files private."""

    def touched(_: int) -> int:
        raise AssertionError("the umask was set")

    monkeypatch.setattr(os, "umask", touched)
    with atomic_write(tmp_path / "copy") as file:
        file.write(b"1")
    assert (tmp_path / "copy").read_bytes() == b"1"
