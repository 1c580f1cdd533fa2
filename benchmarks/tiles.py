"""Where a fused step spends its time, and which tiles are fastest: for tuning on a new GPU.

python benchmarks/tiles.py --members 250 --json tiles.json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import measure
import population
from amongst.engine import as_device
from amongst.engine.population.cohort import Cohort, form_cohort
from amongst.engine.population.fused import FusedStep, Tiles

CALLS = 20
FORWARD = [(64, 64, 8, 3), (64, 64, 8, 4), (64, 32, 8, 4), (64, 32, 8, 6), (32, 64, 8, 3),
           (32, 64, 4, 3), (128, 64, 8, 3), (128, 32, 8, 4), (64, 128, 8, 2)]  # fmt: skip
WEIGHT = [(64, 64, 64, 4, 2), (64, 64, 64, 4, 3), (64, 64, 128, 4, 2), (64, 64, 32, 4, 4),
          (128, 64, 64, 8, 2), (128, 64, 64, 8, 3), (64, 128, 64, 8, 2), (128, 128, 64, 8, 2),
          (64, 32, 64, 4, 2), (32, 64, 64, 4, 2), (64, 64, 64, 8, 2), (32, 128, 64, 4, 2)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=250)
    parser.add_argument("--json")
    args = parser.parse_args()
    args.batch_size, args.mixed = 256, False
    device = as_device("cuda")
    data = population.synthetic(60_000, 10, device)
    chosen = population.population(args, data, args.members, "bf16")
    cohort = form_cohort(chosen, data["train"], "mlp", {}, pad=True)
    with torch.no_grad():
        cohort.begin_epoch(0)
        rows = parts(cohort) + sweep(cohort)
    measure.save(args.json, {"machine": measure.machine(device), "rows": rows})
    print(measure.table(rows, {"variant": "s", "microseconds": ".1f", "note": "s"}))


def parts(cohort: Cohort) -> list[dict[str, Any]]:
    """Each kernel of a step, by itself."""
    step, size = FusedStep(cohort), cohort.batch_size
    loss = step.losses[id(cohort.groups[0])]
    assert loss is not None
    n = step.network.n_hidden
    runs: dict[str, Callable[[], None]] = {"gather": lambda: step.gather(size)}
    for i in range(n):
        runs[f"forward {i}"] = lambda i=i: step._forward_layer(i, size, 0, len(cohort))
    runs |= {"forward all + head": lambda: step.forward(size), "loss": lambda: loss.loss(size)}
    for i in reversed(range(n)):
        runs[f"backward {i}"] = lambda i=i: step._backward_layer(i, size)
    for i in range(n + 1):
        runs[f"weight {i}"] = lambda i=i: step._update_weight(i, size)
    runs["whole step"] = lambda: step(cohort, size)
    return [timed(name, run, cohort) for name, run in runs.items()]


def sweep(cohort: Cohort) -> list[dict[str, Any]]:
    """Forward, backward and weight kernels with other tiles."""
    rows = []
    for kind in ("forward", "backward"):
        for columns, inner, warps, stages in FORWARD:
            tiles = tiles_with(kind, (columns, inner), warps, stages)
            name = f"{kind} {columns}x{inner} warps {warps} stages {stages}"
            rows.append(timed(name, layers(cohort, tiles, kind), cohort))
    for *shape, warps, stages in WEIGHT:
        tiles = tiles_with("weight", tuple(shape), warps, stages)
        name = f"weight {'x'.join(map(str, shape))} warps {warps} stages {stages}"
        rows.append(timed(name, layers(cohort, tiles, "weight"), cohort))
    return rows


def tiles_with(kind: str, shape: tuple[int, ...], warps: int, stages: int) -> Tiles:
    base = Tiles()
    launches = base.launches | {kind: {"num_warps": warps, "num_stages": stages}}
    return replace(base, **{kind: shape}, launches=launches)


def layers(cohort: Cohort, tiles: Tiles, kind: str) -> Callable[[], None]:
    """All layers' kernels of one kind."""

    def run() -> None:
        step, size = made.setdefault("step", None) or FusedStep(cohort, tiles), cohort.batch_size
        made["step"] = step
        for i in range(step.network.n_hidden):
            if kind == "forward":
                step._forward_layer(i, size, 0, len(cohort))
            elif kind == "backward":
                step._backward_layer(i, size)
            else:
                step._update_weight(i, size)

    made: dict[str, Any] = {}
    return run


def timed(name: str, run: Callable[[], None], cohort: Cohort) -> dict[str, Any]:
    """Microseconds a call, from replays of a graph of several."""

    def measured() -> dict[str, Any]:
        run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(CALLS):
                run()
                cohort.tick.zero_()
        took = measure.seconds(graph.replay, cohort.device, 3) / CALLS
        return {"microseconds": 1e6 * took, "note": ""}

    return measure.attempt(name, measured)


if __name__ == "__main__":
    main()
