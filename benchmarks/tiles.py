"""Where a fused step spends its time, and which tiles are fastest: for tuning on a new GPU.

    python benchmarks/tiles.py --members 250 --json tiles.json

The fastest tiles of each kernel are put together, measured as a whole step, and written as "best",
which `population.py --tiles tiles.json` reads. Every variant starts from fresh members and says how
many are alive at its end: the kernels skip a dead member, so that a row with dead ones is too fast,
and is not chosen. A kernel may refuse some of the tiles that are tried; a whole step or a part of it
that fails is an error. The file is written after every variant, with the best so far.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

import measure
import population
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.train import as_device

with suppress(ModuleNotFoundError):  # Triton comes with PyTorch for GPUs; --help needs neither
    from amongst.accel.population.fused import FusedStep, Tiles

CALLS = 10
COLUMNS = {"variant": "s", "microseconds": ".1f", "alive": "d", "note": "s"}
State = dict[str, Tensor]
# columns, inner step, num_warps, num_stages, maxnreg (0: as many as wanted)
FORWARD = [(64, 64, 8, 2, 128), (64, 64, 16, 3, 0), (128, 64, 16, 3, 0), (32, 64, 8, 2, 0),
           (64, 32, 8, 3, 128), (32, 64, 4, 2, 0), (128, 64, 8, 2, 0), (64, 64, 8, 3, 0)]  # fmt: skip
BACKWARD = [(32, 64, 8, 2, 0), (64, 64, 16, 2, 0), (64, 64, 16, 3, 0), (32, 64, 4, 2, 0),
            (32, 32, 8, 3, 0), (64, 64, 8, 2, 0)]  # fmt: skip
# rows, columns, inner step, num_warps, num_stages, maxnreg
WEIGHT = [(64, 64, 64, 8, 2, 0), (128, 64, 64, 8, 2, 0), (64, 32, 64, 4, 2, 0),
          (64, 64, 64, 8, 3, 0), (64, 64, 64, 4, 2, 128), (128, 64, 64, 16, 2, 0),
          (64, 64, 128, 8, 2, 0), (128, 32, 64, 8, 2, 0), (64, 64, 32, 8, 4, 0),
          (64, 128, 64, 8, 2, 128), (128, 128, 64, 16, 2, 0)]  # fmt: skip
TRIED: dict[str, Sequence[tuple[int, ...]]] = {
    "forward": FORWARD,
    "backward": BACKWARD,
    "weight": WEIGHT,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=250)
    parser.add_argument("--seconds", type=float, default=120, help="start no variant after this")
    parser.add_argument("--json")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("the fused kernels need a GPU, and there is none here")
    args.batch_size, args.mixed = 256, False
    args.until = time.perf_counter() + args.seconds
    device = as_device("cuda")
    data = population.synthetic(60_000, 10, device)
    chosen = population.population(args, data, args.members, "bf16")
    cohort = form_cohort(chosen, data["train"], "mlp", {}, pad=True)
    fresh = {name: value.clone() for name, value in cohort.state().items()}
    content: dict[str, Any] = {"machine": measure.machine(device), "rows": []}
    with torch.no_grad():
        cohort.begin_epoch(0)
        for row, best in measured(cohort, fresh, args.until):
            content["rows"].append(row)
            measure.save(args.json, content | {"best": asdict(best)})
    print(measure.table(content["rows"], COLUMNS))
    print(best)
    measure.end([row for row in content["rows"] if "tiles" not in row])


def measured(cohort: Cohort, fresh: State, until: float) -> Iterator[tuple[dict[str, Any], Tiles]]:
    """Each row, with the best tiles so far: those of each kernel, the whole step, its parts."""
    for row, best in tuned(cohort, fresh, until):
        yield row, best
    for row in parts(cohort, fresh, best):
        yield row, best


def tuned(cohort: Cohort, fresh: State, until: float) -> Iterator[tuple[dict[str, Any], Tiles]]:
    """Sweep the kernels, then the whole step with the best of each."""
    best = Tiles()
    for kind in ("weight", "forward", "backward"):
        start, fastest = best, float("inf")
        for row in sweep(cohort, fresh, kind, until):
            if took(cohort, row) < fastest:
                best, fastest = with_tiles(start, kind, row["tiles"]), took(cohort, row)
            yield row, best
    yield from launched(cohort, fresh, best)


def launched(cohort: Cohort, fresh: State, best: Tiles) -> Iterator[tuple[dict[str, Any], Tiles]]:
    """The whole step, with and without `early` and `overlap`."""
    whole: list[dict[str, Any]] = []
    for early, overlap in product((False, True), (False, True)):
        tiles = replace(best, early=early, overlap=overlap)
        name = f"whole step{' early' * early}{' overlap' * overlap}"
        row = timed(name, layers(cohort, tiles, "whole"), cohort, fresh)
        whole.append(row | {"early": early, "overlap": overlap})
        fastest = min(whole, key=partial(took, cohort))
        yield whole[-1], replace(best, early=fastest["early"], overlap=fastest["overlap"])


def took(cohort: Cohort, row: dict[str, Any]) -> float:
    """Microseconds, infinite for a row that failed or lost a member."""
    whole = row.get("alive") == len(cohort)
    return float(row["microseconds"]) if whole else float("inf")


def sweep(cohort: Cohort, fresh: State, kind: str, until: float) -> Iterator[dict[str, Any]]:
    """All layers' kernels of one kind with each of the tiles in turn, while there is time."""
    for numbers in TRIED[kind]:
        if time.perf_counter() > until:
            break
        *shape, warps, stages, registers = numbers
        name = f"{kind} {'x'.join(map(str, shape))} warps {warps} stages {stages}"
        name += f" registers {registers}" if registers else ""
        run = layers(cohort, with_tiles(Tiles(), kind, numbers), kind)
        yield timed(name, run, cohort, fresh) | {"tiles": numbers}


def with_tiles(base: Tiles, kind: str, numbers: tuple[int, ...]) -> Tiles:
    *shape, warps, stages, registers = numbers
    launch = {"num_warps": warps, "num_stages": stages}
    launch |= {"maxnreg": registers} if registers else {}
    changed: dict[str, Any] = {kind: tuple(shape), "launches": base.launches | {kind: launch}}
    return replace(base, **changed)


def parts(cohort: Cohort, fresh: State, tiles: Tiles) -> Iterator[dict[str, Any]]:
    """Each kernel of a step, by itself."""
    restore(cohort, fresh)
    step, size = FusedStep(cohort, tiles), cohort.batch_size
    step(cohort, size)
    loss = step.losses[id(cohort.groups[0])]
    assert loss is not None
    n, everyone = step.network.n_hidden, (0, len(cohort))
    runs: dict[str, Callable[[], None]] = {"gather": lambda: step.gather(size)}
    for i in range(n):
        runs[f"forward {i}"] = partial(step._forward_layer, i, size, *everyone)
    runs |= {"forward all + head": lambda: step.forward(size), "loss": lambda: loss.loss(size)}
    for i in reversed(range(n)):
        runs[f"backward {i}"] = partial(step._backward_layer, i, size)
    for i in range(n + 1):
        runs[f"weight {i}"] = partial(step._update_weight, i, size)
    runs["norm 0"] = lambda: step._update_norm(0, size, *everyone, move=True)
    for name, run in runs.items():
        yield timed(name, run, cohort, fresh)


def layers(cohort: Cohort, tiles: Tiles, kind: str) -> Callable[[], None]:
    """All hidden layers' kernels of one kind, or the whole step."""
    made: list[FusedStep] = []

    def run() -> None:
        size = cohort.batch_size
        if not made:
            made.append(FusedStep(cohort, tiles))
            made[0](cohort, size)  # fills the buffers that a kernel alone reads
        step = made[0]
        if kind == "whole":
            step(cohort, size)
            return
        for i in range(step.network.n_hidden):
            if kind == "forward":
                step._forward_layer(i, size, 0, len(cohort))
            elif kind == "backward":
                step._backward_layer(i, size)
            else:
                step._update_weight(i, size)

    return run


def restore(cohort: Cohort, fresh: State) -> None:
    """Members as they were at first, all alive."""
    for name, value in cohort.state().items():
        value.copy_(fresh[name])
    cohort.tick.zero_()


def timed(name: str, run: Callable[[], None], cohort: Cohort, fresh: State) -> dict[str, Any]:
    """Microseconds a call, from replays of a graph of several."""

    def measured() -> dict[str, Any]:
        restore(cohort, fresh)
        run()
        cohort.tick.zero_()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(CALLS):
                run()
                cohort.tick.zero_()
        each = measure.seconds(graph.replay, cohort.device, 5) / CALLS
        alive = int(cohort.alive.sum())
        note = "" if alive == len(cohort) else "dead members are skipped: too fast"
        return {"microseconds": 1e6 * each, "alive": alive, "note": note}

    return measure.attempt(name, measured)


def read_tiles(path: str) -> Tiles:
    """The fastest tiles that an earlier run wrote."""
    best = measure.read(path)["best"]
    shapes = {name: tuple(best[name]) for name in TRIED}
    return Tiles(**best | shapes)


if __name__ == "__main__":
    main()
