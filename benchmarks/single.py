"""One model on a CPU: the style of public code against our engine, epoch by epoch.

Both train the paper's MLP on the same images, candidate sets and number of epochs, and both measure
accuracy on the training and the test part after every epoch. They take turns, so that a busy
machine slows both alike. Peak memory is that of a process of its own for each.

    python benchmarks/single.py [--rows N] [--test-rows N] [--epochs N] [--quick] [--json FILE]

MNIST is read from AMONGST_DATA; where it is absent, random images of the same shape stand in.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader

import measure
import public_style
from amongst.algorithms import LW, Refresh
from amongst.candidates import CandidateSets, uniform
from amongst.data import load
from amongst.errors import AmongstError
from amongst.metrics import accuracy
from amongst.models import build_model
from amongst.train import Features, Settings, Watch, run_epoch, start, training_data

Array = npt.NDArray[Any]
Arrays = tuple[Array, Array, Array, Array]
CPU = torch.device("cpu")
YARDSTICK = "public-code style"
COLUMNS = {"variant": "s", "seconds_per_epoch": ".2f", "times_faster": ".2f", "peak_MiB": ".0f"}
SETTINGS = Settings(epochs=1, lr=0.05, weight_decay=1e-3, batch_size=256)


def images(rows: int, test_rows: int) -> tuple[str, Arrays]:
    """(where from, (train images, train labels, test images, test labels))."""
    try:
        mnist = load("mnist")
    except AmongstError:
        rng = np.random.default_rng(0)
        x = rng.integers(0, 256, (rows + test_rows, 28, 28), dtype=np.uint8)
        y = np.arange(rows + test_rows) % 10
        return "random images of MNIST's shape", (x[:rows], y[:rows], x[rows:], y[rows:])
    n, x, y = len(mnist.train), mnist.features, mnist.labels
    rows, end = min(rows, n), n + test_rows
    return "MNIST", (x[:rows], y[:rows], x[n:end], y[n:end])


def public(parts: Arrays, mask: Array) -> Iterator[float]:
    """Seconds of each epoch of the yardstick: `public_style`, with accuracy on both parts."""
    x, y, x_test, y_test = parts
    data = public_dataset(x, mask, y)
    test = public_dataset(x_test, np.ones((len(x_test), 10), dtype=bool), y_test)
    train_loader = DataLoader(data, batch_size=256, shuffle=True)
    evaluated = [DataLoader(part, batch_size=256) for part in (data, test)]
    model = build_model("mlp", (784,), 10, seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    weights = torch.ones(len(x), 10) / 10
    while True:
        began = time.perf_counter()
        public_style.train_epoch(model, train_loader, optimizer, weights, CPU)
        for loader in evaluated:
            public_style.accuracy(model, loader, CPU)
        yield time.perf_counter() - began


def public_dataset(x: Array, mask: Array, y: Array) -> public_style.PartialDataset:
    images = torch.from_numpy(np.array(x.reshape(len(x), -1)))
    return public_style.PartialDataset(
        images, torch.from_numpy(mask), torch.from_numpy(np.int64(y))
    )


def ours(parts: Arrays, mask: Array, refresh: Refresh) -> Iterator[float]:
    """Seconds of each epoch of our engine, with the same evaluations."""
    x, y, x_test, y_test = parts
    data = training_data(
        Features.of(x.reshape(len(x), -1), scale=255.0), CandidateSets(mask, np.arange(10))
    )
    test = Features.of(x_test.reshape(len(x_test), -1), scale=255.0)
    labels, test_labels = torch.from_numpy(np.int64(y)), torch.from_numpy(np.int64(y_test))
    watch = [
        Watch("train", data.features, lambda g: accuracy(g, labels)),
        Watch("test", test, lambda g: accuracy(g, test_labels)),
    ]
    method = LW(refresh=refresh)
    state = start(build_model("mlp", (784,), 10, seed=0), data, method, SETTINGS)
    while True:
        began = time.perf_counter()
        run_epoch(state, data, method, SETTINGS, watch)
        state.epoch += 1
        yield time.perf_counter() - began


def ways(parts: Arrays) -> dict[str, Iterator[float]]:
    mask = uniform(parts[1], 0.3, classes=range(10), seed=0).to_mask()
    return {
        YARDSTICK: public(parts, mask),
        "amongst, second pass": ours(parts, mask, "post"),
        "amongst, same pass": ours(parts, mask, "same"),
    }


def peak_memory(name: str, options: argparse.Namespace) -> float:
    """MiB of a process that trains one epoch this way."""
    sizes = ["--rows", str(options.rows), "--test-rows", str(options.test_rows)]
    command = [sys.executable, __file__, *sizes, "--only", name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[-1])


def own_peak() -> float:
    """MiB of this process at the most. On Linux getrusage also counts the process that started
    this one, so that all ways would show the parent's peak."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    options = arguments()
    source, parts = images(options.rows, options.test_rows)
    contenders = ways(parts)
    if options.only:
        next(contenders[options.only])
        print(own_peak())
        return
    best = timed(contenders, options.epochs)
    memory = {name: peak_memory(name, options) for name in contenders if options.memory}
    rows = [
        {"variant": name, "seconds_per_epoch": each, "times_faster": best[YARDSTICK] / each}
        | ({"peak_MiB": memory[name]} if options.memory else {})
        for name, each in best.items()
    ]
    print(f"{source}, {options.rows:,} rows, MLP, best of {options.epochs} epochs, "
          f"{torch.get_num_threads()} threads")  # fmt: skip
    print(measure.table(rows, COLUMNS))
    facts = {"machine": measure.machine(CPU), "source": source, "rows": options.rows}
    measure.save(options.json, facts | {"seconds": best, "peak_mib": memory})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--test-rows", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--quick", action="store_true", help="6,000 rows, 2 epochs")
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.rows, options.epochs = 6_000, 2
    return options


def timed(contenders: dict[str, Iterator[float]], epochs: int) -> dict[str, float]:
    """Seconds of the fastest epoch of each way, after one that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(epochs + 1):
        for name, way in contenders.items():
            seconds[name].append(next(way))
    return {name: min(times[1:]) for name, times in seconds.items()}


if __name__ == "__main__":
    main()
