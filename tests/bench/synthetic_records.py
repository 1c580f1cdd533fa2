"""Records that look like those of real training: published means, seeds, noise, curves."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from amongst.bench import Record, Trial
from amongst.bench.paper import Slot
from amongst.bench.plans import Plan

VERSIONS = {"amongst": "0.1.0", "numpy": "2.4.6", "python": "3.11.2", "torch": "2.13.0"}


def synthetic(plan: Plan, *, seed: int = 0, epochs: int = 250, share: float = 1.0) -> list[Record]:
    """Records for a share of a plan's trials."""
    rng = np.random.default_rng(seed)
    drift = {cell.slot.method: rng.normal(0, 0.15) for cell in plan.cells}
    records = [
        _record(trial, cell.slot, drift[cell.slot.method], epochs, rng)
        for cell in plan.cells
        for trial in cell.trials
    ]
    return list({r.key: r for r in records[: round(share * len(records))]}.values())


def _record(
    trial: Trial, slot: Slot, drift: float, epochs: int, rng: np.random.Generator
) -> Record:
    mean, std = (slot.published.mean, slot.published.std) if slot.published else (_guess(slot), 0.4)
    goal = float(np.clip(rng.normal(mean + drift * (0.3 + std), std), 1, 99.9)) / 100
    curve = _rise(goal, epochs, rng)
    held_out = _rise(goal * 0.97, epochs, rng)
    number = sum(map(ord, trial.key[:8])) % 7
    return Record(
        trial.with_data(sha256(trial.dataset.encode()).hexdigest()),
        metrics={
            "accuracy_final": float(curve[-1]),
            "accuracy_last10": float(curve[-10:].mean()),
            "approximated_val_last10": float(held_out[-10:].mean()),
            "covering_val_last10": float(min(1, held_out[-10:].mean() + 0.02)),
        },
        curves={"accuracy_test": curve, "approximated_val": held_out, "loss": 1.1 - curve},
        seconds=float(rng.gamma(40, 1.5)),
        device="cuda: NVIDIA H200" if number < 5 else "cpu",
        engine="population" if number < 5 else "local",
        versions=VERSIONS,
        revision="8fa2ca3",
        created=f"2026-03-{10 + number:02d}T12:00:00+00:00",
    )


def _guess(slot: Slot) -> float:
    settings = dict(slot.fixed)
    beta, alpha = float(settings.get("beta", 1.0)), float(settings.get("alpha", 1.0))
    if not alpha or not beta:
        return 72.0
    return 92.0 - 1.5 * abs(np.log2(beta / alpha))


def _rise(goal: float, epochs: int, rng: np.random.Generator) -> np.ndarray:
    t = np.arange(1, epochs + 1)
    shape = goal - 0.45 * np.exp(-t / 9) - 0.03 * np.exp(-t / 70)
    return np.clip(shape + rng.normal(0, 0.004, epochs) * np.exp(-t / 120), 0, 1)
