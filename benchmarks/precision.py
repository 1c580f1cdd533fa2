"""What bf16 and tf32 cost in accuracy: MNIST, LW with the cross-entropy, five seeds each.

    AMONGST_DATA=FOLDER python benchmarks/precision.py --json precision.json

Members of one seed share candidate sets, initial weights and orders of rows, so that differences
between precisions pair. Without an official test part, as of digits, the last fifth is it. bf16 and tf32 need a GPU. The file is written after every precision.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import torch

import measure
from amongst.accel.population import Member, train_population
from amongst.algorithms import LW
from amongst.candidates import uniform
from amongst.data import load
from amongst.metrics import accuracy
from amongst.train import Features, Settings, Watch, as_device

COLUMNS = {"variant": "s", "accuracy": ".4f", "spread": ".4f", "difference": "+.4f",
           "seconds": ".1f"}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--precisions", default="float32,tf32,bf16")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rows", type=int, help="training rows, by default all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json")
    args = parser.parse_args()
    device = as_device(args.device)
    data = prepared(args)
    facts = {"dataset": args.dataset, "q": 0.3, "method": "LW, cross-entropy", "seeds": args.seeds,
             "epochs": args.epochs}  # fmt: skip
    rows: list[dict[str, Any]] = []
    for precision in args.precisions.split(","):
        rows.append(measure.attempt(precision, partial(trained, precision, args, data, device)))
        compare(rows)
        measure.save(args.json, {"machine": measure.machine(device), "facts": facts, "rows": rows})
    print(measure.table(rows, COLUMNS))
    measure.end(rows)


def compare(rows: list[dict[str, Any]]) -> None:
    """Set each row's difference from the first, where both have an accuracy."""
    for row in rows:
        if "accuracy" in row and "accuracy" in rows[0]:
            row["difference"] = row["accuracy"] - rows[0]["accuracy"]


def prepared(args: argparse.Namespace) -> dict[str, Any]:
    data = load(args.dataset)
    n = data.n_train or 4 * len(data) // 5
    train, test = data.features[:n][: args.rows], data.features[n:]
    labels = data.labels[: len(train)]
    masks = [
        torch.from_numpy(uniform(labels, 0.3, classes=range(10), seed=seed).to_mask())
        for seed in range(args.seeds)
    ]
    flat = (Features.of(part.reshape(len(part), -1), scale=data.top) for part in (train, test))
    names = ("train", "test")
    return {**dict(zip(names, flat, strict=True)), "truth": data.labels[n:], "masks": masks}


def trained(
    precision: str, args: argparse.Namespace, data: dict[str, Any], device: torch.device
) -> dict[str, Any]:
    measure.check_precision(precision, device)
    members = [
        Member(LW(), mask, Settings(epochs=args.epochs, precision=precision, seed=seed))
        for seed, mask in enumerate(data["masks"])
    ]
    truth = torch.from_numpy(data["truth"]).to(device)
    watch = [Watch("test", data["test"], lambda scores: accuracy(scores, truth))]
    began = time.perf_counter()
    result = train_population(data["train"], members, watch=watch, device=device)
    found = result.last("test", epochs=3)
    return {
        "precision": precision,
        "accuracy": float(found.mean()),
        "spread": float(found.std()),
        "each": found.tolist(),
        "seconds": time.perf_counter() - began,
    }


if __name__ == "__main__":
    main()
