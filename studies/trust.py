"""How far confidences, predicted sets and rejected rows can be trusted (results/trust.csv).

    python studies/trust.py --out results/trust.csv
    python studies/trust.py --report results/trust.csv --into docs/trust.md

A small network (`PRODENClassifier`, 6,000 rows, 30 epochs) learns from candidate sets, is calibrated on
the candidate sets of 2,000 other rows, and is judged by the true labels of 5,000 test rows. The sets come by
three laws: each wrong label by itself at q = 0.3 and 0.7 ("chance"); and "alike": each wrong label at the
rate at which it looks plausible to another network, which no law of calibration knows. True labels judge;
they choose nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst import LWClassifier, PRODENClassifier
from amongst.candidates import CandidateSets, instance_dependent, uniform
from amongst.data import load
from amongst.trust import reliability

TITLES = {"digits": "digits", "mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
LAWS = ("q=0.3", "q=0.7", "alike")
TRAIN, HELD, TEST, HELPER = 6000, 2000, 5000, 5000
COVERAGE, ERROR = 0.9, 0.02
BEGIN, END = "<!-- trust table -->", "<!-- end of trust table -->"

Floats = npt.NDArray[np.floating[Any]]


def drawn(law: str, y: Any, X: Any, helper: Any, seed: int) -> CandidateSets:
    """Candidate sets of rows by one of the laws."""
    if law == "alike":
        return instance_dependent(y, helper.predict_proba(X), rate=0.7, seed=seed)
    return uniform(y, float(law.removeprefix("q=")), classes=range(10), seed=seed)


def gap(confidence: Floats, right: Any) -> tuple[float, float]:
    """The mean gap between confidence and share of right ones over bins, and the gap of the means."""
    bins = reliability(confidence, right)
    each = (bins["confidence"] - bins["right"]).abs()
    return float((each * bins["rows"]).sum() / bins["rows"].sum()), float(
        confidence.mean() - right.mean()
    )


def judged(model: Any, held: Any, sets: CandidateSets, X: Any, y: Any) -> list[dict[str, Any]]:
    """Every measured value of one fit."""
    right = model.predict(X) == y
    found = {"accuracy": right.mean()}
    found["gap_raw"], found["over_raw"] = gap(model.predict_proba(X).max(axis=1), right)
    model.calibrate(held, sets)
    found["gap"], found["over"] = gap(model.predict_proba(X).max(axis=1), right)
    for how in ("chance", "any"):
        answer = model.predict_set(X, COVERAGE, how)
        found[f"covered_{how}"] = answer.contains(y).mean()
        found[f"size_{how}"] = answer.sizes.mean()
    kept = ~model.reject(X, ERROR)
    found |= {"answered": kept.mean(), "error": 1 - right[kept].mean() if kept.any() else np.nan}
    return [{"measure": name, "value": float(value)} for name, value in found.items()]


def parts(n: int, n_train: int | None, seed: int) -> tuple[Any, Any, Any, Any]:
    """Rows to learn from, to calibrate on, to test on, and for the other network."""
    rng = np.random.default_rng(seed)
    if n_train is None:  # a small data set for a try
        rows = rng.permutation(n)
        return rows[: n // 2], rows[n // 2 : 3 * n // 4], rows[3 * n // 4 :], rows[: n // 2]
    rows = rng.permutation(n_train - HELPER)
    test = n_train + np.random.default_rng(seed).permutation(n - n_train)[:TEST]
    return rows[:TRAIN], rows[TRAIN : TRAIN + HELD], test, np.arange(n_train - HELPER, n_train)


def run(names: list[str], seeds: int, epochs: int) -> pd.DataFrame:
    """Every data set, law and seed."""
    lines = []
    for name in names:
        data = load(name)
        X = data.features.reshape(len(data.features), -1).astype(np.float32)
        X, labels = X / X.max(), data.labels
        others = parts(len(X), data.n_train, 0)[3]
        helper = LWClassifier(epochs=5, widths=(100,), device="cpu", random_state=99)
        helper.fit(X[others], labels[others])
        for seed in range(seeds):
            fit, held, test, _ = parts(len(X), data.n_train, seed)
            for law in LAWS:
                model = PRODENClassifier(
                    epochs=epochs, widths=(300, 300), device="cpu", random_state=seed
                )
                model.fit(X[fit], drawn(law, labels[fit], X[fit], helper, seed))
                sets = drawn(law, labels[held], X[held], helper, 1000 + seed)
                known = judged(model, X[held], sets, X[test], labels[test])
                lines += [{"dataset": name, "law": law, "seed": seed} | line for line in known]
                print(
                    name, law, seed, {k["measure"]: round(k["value"], 3) for k in known}, flush=True
                )
    return pd.DataFrame(lines)


def to_markdown(table: pd.DataFrame) -> str:
    """Means over the seeds, in percent."""
    means = table.pivot_table(
        index=["dataset", "law"], columns="measure", values="value", dropna=False
    )
    heads = ("data", "sets", "accuracy", "gap, raw", "gap, calibrated", "covered, chance", "labels",
             "covered, any", "labels", "answered", "wrong of these")  # fmt: skip
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for (name, law), m in means.sort_index(key=lambda keys: keys.map(_place)).iterrows():
        cells = [
            TITLES[name], law, *(_percent(m[key]) for key in ("accuracy", "gap_raw", "gap")),
            _percent(m["covered_chance"]), f"{m['size_chance']:.2f}",
            _percent(m["covered_any"]), f"{m['size_any']:.2f}",
            _percent(m["answered"]), _percent(m["error"]),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(name: str) -> int:
    return (*TITLES, *LAWS).index(name)


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="*", choices=TITLES, default=["mnist", "fashion_mnist"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    asked = options.datasets, options.seeds, options.epochs
    table = pd.read_csv(options.report) if options.report else run(*asked)
    if options.out:
        table.to_csv(options.out, index=False, float_format="%.5g")
    told = to_markdown(table)
    if options.into is None:
        print(told)
        return
    page = options.into.read_text("utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    options.into.write_text(f"{before}{BEGIN}\n{told}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
