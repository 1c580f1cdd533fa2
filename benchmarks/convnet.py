"""Seconds per epoch of the ConvNet: public-code style, the single engine, and its fast path.

    python benchmarks/convnet.py --json convnet.json
    python benchmarks/convnet.py --quick

Data are random, of CIFAR-10's shape. A few batches of each variant are timed and scaled to an
epoch of 50,000 images; evaluation is of 60,000 images, on both sides of a ratio or on neither. A
variant's name lists what it does: "compiled-bf16-all-pointwise" is compiled, in bf16, with all of
cuDNN's algorithms tried and inductor's pointwise kernels tuned; "plain" leaves inductor's own
threshold as it is; "stacked-bf16-4" trains four networks as one population, captured, and counts the
time of one. cuDNN remembers what it found for the rest of the process, so that "all" must come
first. The file is written after every variant. "--profile" also prints where each captured step's
time goes.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.utils.data import DataLoader, Subset

import measure
import public_style
from amongst.accel.graphs import INDUCTOR, GraphedStep
from amongst.accel.population import Member
from amongst.accel.population.backends import make_stepper
from amongst.accel.population.cohort import form_cohort
from amongst.algorithms import LW
from amongst.devices import products_in
from amongst.models import build_model
from amongst.train import (
    Features,
    Settings,
    TrainingData,
    as_device,
    permutation,
    predict_scores,
)
from amongst.train.loop import start, step
from amongst.train.run import Training

EPOCH = 50_000
PRODUCTS = re.compile("fprop|dgrad|wgrad|gemm|convolution|aten::(add)?mm", re.IGNORECASE)
QUICK = "public,single-float32,stacked-float32-2"
EVALUATED = 60_000
OPTIONS = {"pointwise": "max_autotune_pointwise", "descent": "coordinate_descent_tuning"}
COLUMNS = {
    "variant": "s",
    "training_seconds": ".3f",
    "training_ratio": ".2f",
    "seconds_with_evaluation": ".3f",
    "ratio": ".2f",
    "TFLOP_per_second": ".3g",
    "product_share": ".3f",
    "GiB": ".2f",
    "note": "s",
}


def main() -> None:
    args = arguments()
    device = as_device(args.device)
    limits = measure.ceilings(device)
    print({name: f"{rate / 1e12:.2f} T" for name, rate in limits.items()}, flush=True)
    data = synthetic(args.rows, device)
    content: dict[str, Any] = {"machine": measure.machine(device), "ceilings": limits, "rows": []}
    for row in measured(args, data, device):
        content["rows"].append(row)
        compare(content["rows"], limits)
        measure.save(args.json, content)
    print(content["machine"], f"{flop_per_image() / 1e9:.2f} GFLOP per image and step")
    print(measure.table(content["rows"], COLUMNS))
    measure.end(content["rows"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--variants", default="compiled-bf16-all,graph-bf16,single-tf32,public")
    parser.add_argument("--seconds", type=float, default=600, help="start no variant after this")
    parser.add_argument("--rows", type=int, default=20_000, help="images on the device")
    parser.add_argument("--batches", type=int, default=40, help="timed batches")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--quick", action="store_true", help="a miniature for any machine")
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel")
    parser.add_argument("--json", help="file to write")
    args = parser.parse_args()
    if args.quick:
        args.variants, args.rows, args.batches, args.batch_size = QUICK, 64, 2, 16
    return args


def measured(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> Iterator[dict[str, Any]]:
    """One variant after the other, while there is time."""
    until = time.perf_counter() + args.seconds
    for name in args.variants.split(","):
        if time.perf_counter() < until:
            measure.reset_memory(device)
            torch.compiler.reset()
            yield measure.attempt(name, partial(timed, name, args, data, device))


def compare(rows: list[dict[str, Any]], limits: dict[str, float]) -> None:
    """Set each row's ratio to the public style, once that is among them, and its shares."""
    flop = flop_per_image()
    public = next((row for row in rows if row["variant"] == "public"), {})
    for row in rows:
        describe(row, public, flop, limits)


def describe(
    row: dict[str, Any], public: dict[str, Any], flop: float, limits: dict[str, float]
) -> None:
    if "training_seconds" not in row:
        return
    for key, ratio in (
        ("training_seconds", "training_ratio"),
        ("seconds_with_evaluation", "ratio"),
    ):
        if key in public and key in row:
            row[ratio] = public[key] / row[key]
    rate = flop * EPOCH / row["training_seconds"]
    row["TFLOP_per_second"] = rate / 1e12
    row["product_share"] = rate / limits.get(row["precision"], limits["float32"])


def synthetic(rows: int, device: torch.device) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(256, (rows, 3, 32, 32), generator=generator).to(torch.uint8)
    labels = torch.randint(10, (rows,), generator=generator)
    inside = torch.rand(rows, 10, generator=generator) < 0.3
    inside[torch.arange(rows), labels] = True
    features = Features(images, scale=torch.tensor(255.0)).to(device)
    training = TrainingData(features, inside.to(device))
    return {"images": images, "labels": labels, "inside": inside, "training": training}


def timed(
    name: str, args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> dict[str, Any]:
    if name == "public":
        return time_public(args, data, device)
    kind, precision, *extras = name.split("-")
    measure.check_precision(precision, device)
    if kind == "stacked":
        return time_stacked(precision, int(extras[0]), args, data, device)
    settings = Settings(batch_size=args.batch_size, precision=precision)
    model = build_model("convnet", (3, 32, 32), 10, seed=0).to(device)
    method = LW(refresh="post" if "post" in extras else "same")
    state = start(model, data["training"], method, settings)
    with products_in(precision):
        run = stepper(kind, state, data["training"], settings, extras)
        began = time.perf_counter()
        run(torch.arange(args.batch_size, device=device))
        ready = measure.clock(device) - began
        training = time_steps(run, args, data, device)
        scoring = time_scoring(model, data, settings, device)
        if args.profile:
            rows = torch.arange(args.batch_size, device=device)
            print(name, kernels(lambda: run(rows), device), sep="\n", flush=True)
    return {
        "training_seconds": training,
        "seconds_with_evaluation": training + scoring,
        "precision": precision,
        **measure.peak_memory(device),
        "note": f"{1e3 * training * args.batch_size / EPOCH:.2f} ms/step, ready in {ready:.0f} s",
    }


def stepper(
    kind: str,
    state: Training,
    data: TrainingData,
    settings: Settings,
    extras: list[str],
) -> Callable[[torch.Tensor], object]:
    if kind == "single":
        return lambda rows: step(state, data, rows)
    options: dict[str, Any] = {} if "plain" in extras else dict(INDUCTOR)
    options |= {name: True for word, name in OPTIONS.items() if word in extras}
    tune = 0 if "all" in extras else 10
    return GraphedStep(
        state, data, settings, compile=options if kind == "compiled" else False, tune=tune
    )


def time_steps(
    run: Callable[[torch.Tensor], object],
    args: argparse.Namespace,
    data: dict[str, Any],
    device: torch.device,
) -> float:
    """Seconds for an epoch's worth of steps."""
    order = permutation(0, 0, len(data["training"]), device)
    size, count = int(args.batch_size), int(args.batches)

    def batches() -> None:
        for i in range(count):
            a = i * size % (len(order) - size)
            run(order[a : a + size])

    return measure.seconds(batches, device, 3) * EPOCH / (count * size)


def time_scoring(
    model: torch.nn.Module, data: dict[str, Any], settings: Settings, device: torch.device
) -> float:
    """Seconds to score 60,000 images."""
    features = data["training"].features
    took = measure.seconds(lambda: predict_scores(model, features, settings), device, 2)
    return took * EVALUATED / len(features)


def time_stacked(
    precision: str,
    members: int,
    args: argparse.Namespace,
    data: dict[str, Any],
    device: torch.device,
) -> dict[str, Any]:
    """So many networks with a leading axis, through vmap; the time of one."""
    training: TrainingData = data["training"]
    settings = Settings(batch_size=args.batch_size, precision=precision)
    chosen = [Member(LW(), training.inside, settings, model_seed=i) for i in range(members)]
    cohort = form_cohort(chosen, training.features, "convnet", {})
    with torch.no_grad(), products_in(precision):
        stepper = make_stepper(cohort, "graph" if device.type == "cuda" else "eager")
        began = time.perf_counter()
        cohort.begin_epoch(0)
        stepper(args.batch_size)
        ready = measure.clock(device) - began

        def batches() -> None:
            cohort.begin_epoch(0)
            for _ in range(args.batches):
                stepper(args.batch_size)

        took = measure.seconds(batches, device, 3) / (args.batches * members)
    return {
        "training_seconds": took * EPOCH / args.batch_size,
        "precision": precision,
        **measure.peak_memory(device),
        "note": f"{1e3 * took:.2f} ms/step and member, ready in {ready:.0f} s",
    }


def kernels(run: Callable[[], object], device: torch.device, steps: int = 10) -> str:
    """Milliseconds of a step in each kernel, longest first."""
    activity = torch.profiler.ProfilerActivity
    kinds = [activity.CUDA if device.type == "cuda" else activity.CPU]
    with torch.profiler.profile(activities=kinds) as profile:
        for _ in range(steps):
            run()
        measure.clock(device)
    side = "device" if device.type == "cuda" else "cpu"
    spent = [
        (getattr(event, f"self_{side}_time_total") / 1e3 / steps, event.count // steps, event.key)
        for event in profile.key_averages()
    ]
    lines = [f"{ms:8.3f} ms {n:4d}x {key[:110]}" for ms, n, key in sorted(spent)[::-1][:40]]
    products = sum(ms for ms, _, key in spent if PRODUCTS.search(key))
    whole = sum(ms for ms, _, _ in spent)
    return "\n".join([*lines, f"{products:8.3f} ms of {whole:.3f} in convolutions and products"])


def time_public(
    args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> dict[str, Any]:
    """tf32 convolutions as torch allows by default; evaluation on training and test set."""
    sets = public_style.PartialDataset(data["images"], data["inside"], data["labels"])
    n = args.batches * args.batch_size
    part: DataLoader[Any] = DataLoader(Subset(sets, range(n)), args.batch_size, shuffle=True)
    model = build_model("convnet", (3, 32, 32), 10, seed=0).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    weights = torch.ones(len(sets), 10) / 10

    def train() -> None:
        public_style.train_epoch(model, part, optimizer, weights, device)

    training = measure.seconds(train, device, 1) * EPOCH / n
    scoring = measure.seconds(lambda: public_style.accuracy(model, part, device), device, 1)
    scoring *= EVALUATED / n
    return {
        "training_seconds": training,
        "seconds_with_evaluation": training + scoring,
        "precision": "tf32" if device.type == "cuda" else "float32",
        **measure.peak_memory(device),
        "note": "weights from a second pass",
    }


def flop_per_image() -> float:
    """Multiply-adds of all convolutions and the head, ×2, forward and twice backward."""
    macs = []

    def note(module: torch.nn.Module, _inputs: object, output: torch.Tensor) -> None:
        if isinstance(module, torch.nn.Conv2d):
            macs.append(output[0].numel() * module.weight[0].numel())

    model = build_model("convnet", (3, 32, 32), 10, seed=0).to("meta").eval()
    for layer in model.modules():
        layer.register_forward_hook(note)
    model(torch.empty(1, 3, 32, 32, device="meta"))
    return float(6 * sum(macs) - 2 * macs[0])


if __name__ == "__main__":
    main()
