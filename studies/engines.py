"""What an engine's rounding does to a trial (results/engines.csv).

    python studies/engines.py --out results/engines.csv

Every trial of the demo by the local engine, by the population engine, and by the local one in float64.
A row has the accuracy on test rows after the last epoch by each, and the largest gap of any epoch's loss
between each two of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

import amongst.bench.trial
from amongst.bench import Record, Trial
from amongst.bench.execute_population import group_trials, run_group
from amongst.bench.plans import Request, make_plan

local: Any = amongst.bench.trial


@contextmanager
def in_float64() -> Iterator[None]:
    """The local engine as it is, on data and networks of double precision."""
    data, build = local.trial_data, local.build_model

    def wide(*given: Any) -> Any:
        found = data(*given)
        parts = {n: getattr(found, n).to("cpu", torch.float64) for n in ("features", "test")}
        return replace(found, **parts)

    def wide_model(*given: Any, **options: Any) -> torch.nn.Module:
        wide: torch.nn.Module = build(*given, **options).double()
        return wide

    with patch.multiple(local, trial_data=wide, build_model=wide_model):
        yield


def row(trial: Trial, found: dict[str, Record]) -> dict[str, Any]:
    """What one trial gave by each way."""
    own: dict[str, Any] = {"method": trial.method, "condition": trial.condition, "seed": trial.seed}
    own |= {name: round(100 * r.metrics["accuracy_final"], 2) for name, r in found.items()}
    for (a, one), (b, other) in combinations(found.items(), 2):
        gap = np.abs(np.subtract(one.curves["loss"], other.curves["loss"])).max()
        own[f"loss {a} to {b}"] = float(f"{gap:.1e}")
    return own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    torch.set_num_threads(1)
    trials = make_plan(Request("demo", seeds=args.seeds, epochs=args.epochs)).trials
    stacked = {r.key: r for group in group_trials(trials, 32) for r in run_group(group)}
    rows = []
    for trial in trials:
        found = {"local": local.run_trial(trial), "population": stacked[trial.key]}
        with in_float64():
            found["float64"] = local.run_trial(trial)
        rows.append(row(trial, found))
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv(args.out, index=False)


if __name__ == "__main__":
    main()
