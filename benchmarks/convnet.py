"""Seconds per epoch of the ConvNet: public-code style, the single engine, and its fast path.

    python benchmarks/convnet.py --json convnet.json

Data are random, of CIFAR-10's shape. A few batches of each variant are timed and scaled to an
epoch of 50,000 images.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.utils.data import DataLoader, Subset

import measure
import public_style
from amongst.engine import Features, Settings, TrainingData, as_device, permutation
from amongst.engine.graphs import GraphedStep, wide_input
from amongst.engine.population.backends import products_in
from amongst.engine.single import Training, start, step
from amongst.methods import LW
from amongst.models import build_model

EPOCH = 50_000
COLUMNS = {
    "variant": "s",
    "seconds_per_epoch": ".3f",
    "ratio": ".2f",
    "TFLOP_per_second": ".1f",
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
    rows = []
    for name in args.variants.split(","):
        measure.reset_memory(device)
        rows.append(measure.attempt(name, lambda name=name: timed(name, args, data, device)))
    flop = flop_per_image()
    for row in rows:
        describe(row, rows[0], flop, limits)
    content = {"machine": measure.machine(device), "ceilings": limits, "rows": rows}
    measure.save(args.json, content)
    print(content["machine"], f"{flop / 1e9:.2f} GFLOP per image and step")
    print(measure.table(rows, COLUMNS))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--variants", default="public,single-tf32,graph-bf16,compiled-bf16")
    parser.add_argument("--rows", type=int, default=20_000, help="images on the device")
    parser.add_argument("--batches", type=int, default=40, help="timed batches")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--json", help="file to write")
    return parser.parse_args()


def describe(
    row: dict[str, Any], first: dict[str, Any], flop: float, limits: dict[str, float]
) -> None:
    if "seconds_per_epoch" not in row:
        return
    if "seconds_per_epoch" in first:
        row["ratio"] = first["seconds_per_epoch"] / row["seconds_per_epoch"]
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
    kind, precision = name.split("-")[:2]
    settings = Settings(batch_size=args.batch_size, precision=precision)
    model = build_model("convnet", (3, 32, 32), 10, seed=0).to(device)
    method = LW(refresh="post" if name.endswith("-post") else "same")
    state = start(model, data["training"], method, settings)
    wide = wide_input(model) if "wide" in name else nullcontext()
    with products_in(precision), _convolutions(precision), wide:
        run = stepper(kind, state, data["training"], method, settings, name)
        return time_steps(run, args, data, device) | {"precision": precision}


def _convolutions(precision: str) -> Any:
    return torch.backends.cudnn.flags(
        enabled=True, benchmark=True, allow_tf32=precision in ("tf32", "bf16")
    )


def stepper(
    kind: str,
    state: Training,
    data: TrainingData,
    method: LW,
    settings: Settings,
    name: str,
) -> Callable[[torch.Tensor], object]:
    if kind == "single":
        return lambda rows: step(state, data, rows, method, settings)
    mode: bool | str = kind == "compiled"
    if "autotune" in name:
        mode = "max-autotune-no-cudagraphs"
    return GraphedStep(state, data, method, settings, compile=mode)


def time_steps(
    run: Callable[[torch.Tensor], object],
    args: argparse.Namespace,
    data: dict[str, Any],
    device: torch.device,
) -> dict[str, Any]:
    order = permutation(0, 0, len(data["training"]), device)
    size = args.batch_size
    run(order[:size])

    def batches() -> None:
        for i in range(args.batches):
            a = i * size % (len(order) - size)
            run(order[a : a + size])

    took = measure.seconds(batches, device, 2) * EPOCH / (args.batches * size)
    return {
        "seconds_per_epoch": took,
        "training_seconds": took,
        "GiB": measure.peak_memory(device),
        "note": f"{1e3 * took * size / EPOCH:.2f} ms/step",
    }


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
    scoring *= 1.2 * EPOCH / n
    return {
        "seconds_per_epoch": training + scoring,
        "training_seconds": training,
        "precision": "tf32",
        "GiB": measure.peak_memory(device),
        "note": f"post; {scoring:.2f} s of it evaluation of 60,000 images",
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
