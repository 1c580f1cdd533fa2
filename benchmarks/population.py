"""Seconds per epoch and model: public-code style, the single engine, populations of several sizes.

    python benchmarks/population.py --members 50,250 --json population.json
    python benchmarks/population.py --quick    # small, on whatever device there is

Data are random, of MNIST's shape; speed does not depend on their values. Every variant runs by
itself, and one that fails does not stop the others. Shares are of the ceilings that the same run
measures: matrix products of the variant's precision, and a copy. The file is written after every
variant.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

import measure
import public_style
from amongst.accel.graphs import graphed_step
from amongst.accel.population import Member, plan_memory
from amongst.accel.population.backends import COMPILES_RIGHT, choose_backend, make_stepper
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.accel.population.member import arrange
from amongst.accel.population.result import measure_watched, serve_many
from amongst.accel.population.step import keep_finite, refresh_all
from amongst.algorithms import CC, LW, PRODEN, Method
from amongst.devices import products_in
from amongst.metrics import accuracy
from amongst.models import build_model
from amongst.train import Features, Settings, TrainingData, Watch, as_device
from amongst.train.loop import run_epoch, start

COLUMNS = {
    "variant": "s",
    "members": "d",
    "seconds_per_epoch_and_model": ".6f",
    "ratio": ".1f",
    "product_share": ".3f",
    "copy_share": ".3f",
    "evaluation_share": ".3f",
    "GiB": ".2f",
    "note": "s",
}


def main() -> None:
    args = arguments()
    device = as_device(args.device)
    data = synthetic(args.rows, args.test_rows, device)
    limits = measure.ceilings(device)
    print({name: f"{rate / 1e12:.2f} T" for name, rate in limits.items()}, flush=True)
    content: dict[str, Any] = {"machine": measure.machine(device), "ceilings": limits, "rows": []}
    for row in measured(args, data, device, limits):
        content["rows"].append(row)
        compare(content["rows"])
        measure.save(args.json, content)
    print(content["machine"])
    print(measure.table(content["rows"], COLUMNS))
    measure.end(content["rows"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--members", default="8,50")
    parser.add_argument("--backends", default="eager")
    parser.add_argument("--precisions", default="float32")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--test-rows", type=int, default=10_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2, help="timed epochs of each variant")
    parser.add_argument("--mixed", action="store_true", help="LW, CC and PRODEN; SGD and Adam")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--tiles", help="file of tiles.py with the fused kernels' tiles")
    parser.add_argument("--quick", action="store_true", help="6,000 rows, 8 members")
    parser.add_argument("--json", help="file to write")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.test_rows, args.members = 6_000, 1_000, "8"
        on_gpu = as_device(args.device).type == "cuda"
        args.backends = "fused" if on_gpu else "eager,compiled" if compiles() else "eager"
        args.precisions = "bf16" if on_gpu else "float32"
    return args


def compiles() -> bool:
    """Whether a CPU can have the compiled step: it needs a C++ compiler, and a PyTorch without fault."""
    names = (os.environ.get("CXX", "g++"), "clang++")
    return COMPILES_RIGHT and any(map(shutil.which, names))


def synthetic(rows: int, test_rows: int, device: torch.device) -> dict[str, Any]:
    """Random uint8 images of MNIST's shape, labels, and candidate sets with q = 0.3."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (rows + test_rows, 28, 28), generator=generator).to(torch.uint8)
    labels = torch.randint(10, (rows + test_rows,), generator=generator)
    inside = torch.rand(rows, 10, generator=generator) < 0.3
    inside[torch.arange(rows), labels[:rows]] = True
    scale = torch.tensor(255.0)
    return {
        "images": images,
        "labels": labels,
        "inside": inside,
        "train": Features(images[:rows], scale=scale).to(device),
        "test": Features(images[rows:], scale=scale).to(device),
        "test_labels": labels[rows:].to(device),
        "rows": rows,
    }


def measured(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device, limits: dict[str, float]
) -> Iterator[dict[str, Any]]:
    """The yardsticks, then every population."""
    if not args.no_baselines:
        yield from baselines(args, data, device)
    kinds = (
        args.backends.split(","),
        map(int, args.members.split(",")),
        args.precisions.split(","),
    )
    for backend, members, precision in product(*kinds):
        if backend != "fused" or precision == "bf16":
            yield variant(args, data, device, limits, backend, members, precision)


def compare(rows: list[dict[str, Any]]) -> None:
    """Set each row's ratio to the public style, if that was measured."""
    public = next((row for row in rows if row["variant"] == "public style"), {})
    yardstick = public.get("seconds_per_epoch_and_model")
    for row in rows:
        if yardstick and "seconds_per_epoch_and_model" in row:
            row["ratio"] = yardstick / row["seconds_per_epoch_and_model"]


def baselines(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> Iterator[dict[str, Any]]:
    yield measure.attempt("public style", lambda: time_public(args, data, device))
    yield measure.attempt("single engine", lambda: time_single(args, data, device, False))
    if device.type == "cuda":
        yield measure.attempt("single engine, graph", lambda: time_single(args, data, device, True))


def time_public(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> dict[str, Any]:
    n = data["rows"]
    inside = torch.cat([data["inside"], data["inside"][: len(data["images"]) - n]])
    sets = public_style.PartialDataset(data["images"], inside, data["labels"])
    train, test = (torch.utils.data.Subset(sets, r) for r in (range(n), range(n, len(sets))))
    loaders = [DataLoader(part, args.batch_size, shuffle=True) for part in (train, test)]
    model = build_model("mlp", (28, 28), 10, seed=0).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    weights = torch.ones(len(sets), 10) / 10

    def epoch() -> None:
        public_style.train_epoch(model, loaders[0], optimizer, weights, device)
        for loader in loaders:
            public_style.accuracy(model, loader, device)

    took = measure.seconds(epoch, device, repeats=1)
    return {"members": 1, "seconds_per_epoch_and_model": took, "note": "post, two evaluations"}


def time_single(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device, captured: bool
) -> dict[str, Any]:
    settings = Settings(batch_size=args.batch_size)
    training = TrainingData(data["train"], data["inside"].to(device))
    model = build_model("mlp", (28, 28), 10, seed=0).to(device)
    state = start(model, training, LW(), settings)
    stepper = graphed_step(state, training, settings) if captured else None

    def epoch() -> None:
        run_epoch(state, training, LW(), settings, watched(data), stepper)

    took = measure.seconds(epoch, device, repeats=2)
    return {"members": 1, "seconds_per_epoch_and_model": took, "note": "same, test set"}


def watched(data: dict[str, Any]) -> list[Watch]:
    labels = data["test_labels"]
    return [Watch("test", data["test"], lambda scores: accuracy(scores, labels))]


def variant(
    args: argparse.Namespace,
    data: dict[str, Any],
    device: torch.device,
    limits: dict[str, float],
    backend: str,
    members: int,
    precision: str,
) -> dict[str, Any]:
    name = f"{backend} {precision}" + (" mixed" if args.mixed else "")

    def run() -> dict[str, Any]:
        return time_population(args, data, device, limits, backend, members, precision)

    row = measure.attempt(name, run)
    gc.collect()
    measure.reset_memory(device)
    return row


def population(
    args: argparse.Namespace, data: dict[str, Any], members: int, precision: str
) -> list[Member]:
    """LW with different numbers; mixed: also CC and PRODEN, a part of each with Adam."""
    base = Settings(batch_size=args.batch_size, precision=precision)
    masks = [data["inside"].clone() for _ in range(min(members, 5))]
    found = []
    for i in range(members):
        settings = replace(base, seed=i, lr=0.01 * (1 + i % 5), weight_decay=10.0 ** -(2 + i % 5))
        method: Method = LW(beta=float(1 + i % 2))
        if args.mixed:
            method = (LW(beta=2.0), LW(psi="sigmoid"), CC(), PRODEN())[i % 4]
            settings = replace(settings, optimizer="adam" if i % 3 == 0 else "sgd")
        found.append(Member(method, masks[i % len(masks)], settings, model_seed=i % 5))
    return [found[i] for i in arrange(found)[0]]


def time_population(
    args: argparse.Namespace,
    data: dict[str, Any],
    device: torch.device,
    limits: dict[str, float],
    backend: str,
    members: int,
    precision: str,
) -> dict[str, Any]:
    measure.check_precision(precision, device)
    measure.reset_memory(device)
    chosen = population(args, data, members, precision)
    plan = plan_memory(chosen, data["train"], "mlp", device=device)
    cohort = form_cohort(chosen, data["train"], "mlp", {}, pad=device.type == "cuda")
    options: dict[str, Any] = {}
    if args.tiles:
        import tiles

        options = {"tiles": tiles.read_tiles(args.tiles)}
    stepper = make_stepper(cohort, choose_backend(backend, cohort), **options)
    epochs = iter(range(1000))
    watch = watched(data)

    def train() -> None:
        cohort.begin_epoch(next(epochs))
        for size in cohort.sizes:
            stepper(size)
        keep_finite(cohort)
        refresh_all(cohort)

    with torch.no_grad(), products_in(precision):
        training = measure.seconds(train, device, args.epochs)
        many = serve_many(cohort, watch)
        scoring = measure.seconds(lambda: measure_watched(cohort, watch, many), device, 2)
    each = (training + scoring) / members
    work, traffic = work_of(cohort, 4 if precision != "float64" else 8)
    steps = len(cohort.sizes)
    return {
        "members": members,
        "seconds_per_epoch_and_model": each,
        "milliseconds_per_step": 1e3 * training / steps,
        **share(work * members / training, limits.get(precision)),
        "copy_share": traffic * steps * members / training / limits["copy"],
        "evaluation_share": scoring / (training + scoring),
        **measure.peak_memory(device),
        "planned_GiB": plan.total / 2**30,
        "alive": int(cohort.alive.sum()),
        "note": f"{1e3 * training / steps:.3f} ms/step, plan {plan.total / 2**30:.1f} GiB",
    }


def share(rate: float, limit: float | None) -> dict[str, float]:
    """Of the ceiling of matrix products, where that was measured: it is not for float64."""
    return {} if limit is None else {"product_share": rate / limit}


def work_of(cohort: Cohort, item: int) -> tuple[float, float]:
    """FLOP of one member's epoch, and the bytes of parameters and momenta of one step."""
    weights = [p for p in cohort.network.parameters if p.shape[1] > 1]
    entries = sum(_entries(p) for p in weights)
    flop = cohort.n_rows * (6 * entries - 2 * _entries(weights[0]))
    total = sum(_entries(p) for p in cohort.network.parameters)
    return float(flop), float(4 * item * total)


def _entries(stacked: Tensor) -> int:
    return stacked[0].numel()


if __name__ == "__main__":
    main()
