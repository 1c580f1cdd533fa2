"""Where the seconds of a population of the bench go: before its first epoch, in epochs, after the last.

    python benchmarks/trials.py --members 32 --epochs 20
    python benchmarks/trials.py --dataset mnist --members 250 --epochs 20 --device cuda --profile

The population is run twice: compiling and loading count in the first run alone.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time

import measure
from amongst.bench.execute_population import run_group
from amongst.bench.record import Trial
from amongst.train import as_device

METHODS = ("rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy")
COLUMNS = {"run": "s", "before": ".2f", "an_epoch": ".4f", "after": ".2f", "seconds": ".2f"}


def main() -> None:
    args = arguments()
    rows = [{"run": name, **timed(args, name)} for name in ("first", "second")]
    print(measure.machine(as_device(args.device)))
    print(measure.table(rows, COLUMNS))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="digits")
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--profile", action="store_true", help="print where the host's time goes")
    args = parser.parse_args()
    if args.epochs < 2:
        parser.error("--epochs: the time of an epoch is that between two")
    return args


def trials(args: argparse.Namespace) -> list[Trial]:
    """Like a grid: few seeds, every method, many learning rates."""
    device = as_device(args.device).type
    common = {"epochs": args.epochs, "batch_size": 256, "validation": 0.1}
    common |= {"precision": "bf16" if device == "cuda" else "float32"}
    return [
        Trial(args.dataset, "q=0.3", METHODS[i % len(METHODS)], "mlp", i % 3,
              settings={**common, "lr": 1e-3 * (1 + i % 7)})
        for i in range(args.members)
    ]  # fmt: skip


def timed(args: argparse.Namespace, name: str) -> dict[str, float]:
    """Seconds of one population, in its three parts."""
    ticks: list[float] = []
    group, device = trials(args), str(as_device(args.device))
    profile = cProfile.Profile()
    began = time.perf_counter()
    if args.profile:
        profile.enable()
    run_group(group, device, on_epoch=lambda _: ticks.append(measure.clock(as_device(device))))
    profile.disable()
    ended = measure.clock(as_device(device))
    if args.profile:
        print(name)
        pstats.Stats(profile).sort_stats("cumtime").print_stats(40)
    return {
        "before": ticks[0] - began,
        "an_epoch": (ticks[-1] - ticks[0]) / (len(ticks) - 1),
        "after": ended - ticks[-1],
        "seconds": ended - began,
    }


if __name__ == "__main__":
    main()
