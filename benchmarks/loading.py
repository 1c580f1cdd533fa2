"""How fast and how lean `load` is: wall time from a warm disk, and peak memory over the array.

    AMONGST_DATA=FOLDER python benchmarks/loading.py [--repeats 5] [--datasets mnist cifar10]

Each load runs in a process of its own. Memory is the growth of the process's peak resident size
during the load, file pages that the system maps included, divided by the size of the features.
CIFAR-10 is measured in its official form: written to a temporary folder from what AMONGST_DATA
has, byte by byte as Python 2 pickled it. Goals: MNIST 0.3 s, CIFAR-10 1 s, memory 1.2 times.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from amongst.data import entry, is_here, load
from amongst.data.cifar import PER_BATCH
from amongst.data.places import BATCHES, FOLDER

ONE_LOAD = """
import json, pathlib, resource, sys, time
from amongst.data import load

def peak():
    status = pathlib.Path("/proc/self/status")  # counts from the start of this program
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024

load("digits")
before = peak()
start, work = time.perf_counter(), time.process_time()
data = load(sys.argv[1], download=False)
seconds, work = time.perf_counter() - start, time.process_time() - work
size = data.features.nbytes
print(json.dumps([seconds, work, (peak() - before) / size, size]))
"""
GOALS = {"mnist": 0.3, "fashion_mnist": 0.3, "kmnist": 0.3, "cifar10": 1.0}
HEADER = ("dataset", "form", "best s", "median s", "cpu s", "goal s", "MB", "peak / array")


def measure(name: str, environment: dict[str, str], repeats: int) -> np.ndarray:
    """(repeats, 4): seconds, CPU seconds, peak memory over the array's size, bytes."""
    rows = []
    for _ in range(repeats + 1):  # the first one warms the disk
        done = subprocess.run(
            [sys.executable, "-c", ONE_LOAD, name],
            env=os.environ | environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        rows.append(json.loads(done.stdout))
    return np.array(rows[1:])


def line(name: str, form: str, found: np.ndarray) -> list[str]:
    seconds, work, memory, size = found.T
    best, median = f"{seconds.min():.3f}", f"{np.median(seconds):.3f}"
    goal = f"{GOALS[name]:.1f}" if form in ("idx.gz", "folder") else "–"
    return [
        name,
        form,
        best,
        median,
        f"{work.min():.3f}",
        goal,
        f"{size[0] / 1e6:.0f}",
        f"{memory.max():.2f}",
    ]


def official_batch(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    """A batch as Python 2 pickled it, protocol 2."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        b"J"
        + struct.pack("<i", len(pixels))
        + b"M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        b"T" + struct.pack("<i", pixels.nbytes) + pixels.tobytes() + b"tb"
    )
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels.tolist()) + b"e"
    return b"\x80\x02}(U\x06labels" + listed + b"U\x04data" + array + b"u."


def write_official(target: Path) -> None:
    """CIFAR-10's official folder, and its archive, from whatever form is at hand."""
    data = load("cifar10", download=False)
    folder = target / "folder" / FOLDER
    folder.mkdir(parents=True)
    for place, name in enumerate(BATCHES):
        span = slice(place * PER_BATCH, (place + 1) * PER_BATCH)
        pixels = data.features[span].reshape(PER_BATCH, -1)
        (folder / name).write_bytes(official_batch(pixels, data.labels[span]))
    (target / "archive").mkdir()
    with tarfile.open(
        target / "archive" / "cifar-10-python.tar.gz", "w:gz", compresslevel=1
    ) as tar:
        tar.add(folder, FOLDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--datasets", nargs="+", choices=GOALS, default=list(GOALS))
    args = parser.parse_args()
    names, repeats = [name for name in args.datasets if is_here(entry(name))], args.repeats
    lines = []
    with tempfile.TemporaryDirectory() as made:
        here = Path(made)
        cache = {"AMONGST_CACHE": str(here / "cache")}
        for name in names:
            if name != "cifar10":
                lines.append(line(name, "idx.gz", measure(name, cache, repeats)))
        if "cifar10" in names:
            write_official(here)
            for form in ("folder", "archive"):
                where = cache | {"AMONGST_DATA": str(here / form)}
                lines.append(line("cifar10", form, measure("cifar10", where, repeats)))
    if not lines:
        sys.exit(f"AMONGST_DATA has none of {', '.join(args.datasets)}.")
    for row in (HEADER, *lines):
        print("  ".join(cell.ljust(13) if i < 2 else cell.rjust(12) for i, cell in enumerate(row)))


if __name__ == "__main__":
    main()
