"""The table of docs/defaults.md, from results/defaults.csv.

python studies/defaults_report.py results/defaults.csv [--into docs/defaults.md]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

BEGIN, END = "<!-- defaults table -->", "<!-- end of defaults table -->"
TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "kmnist": "Kuzushiji-MNIST"}
NAMES = {
    "rc": "RC",
    "cc": "CC",
    "proden": "PRODEN",
    "lw-sigmoid": "LW-Sigmoid",
    "lw-cross_entropy": "LW-Cross entropy",
}


def final(table: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds: tuned methods, and `LWClassifier()` untouched."""
    untouched = (table["stage"] == "default") & (table["method"] == "auto-1")
    untouched &= (table["lr"] == 0.05) & (table["weight_decay"] == 1e-3)
    kept = table[(table["stage"] == "tuned") | untouched]
    return kept.groupby(["dataset", "method", "q"])["accuracy"].agg(["mean", "std"])


def to_markdown(found: pd.DataFrame) -> str:
    qs = sorted(found.index.get_level_values("q").unique())
    head = "| data | method | " + " | ".join(f"q = {q}" for q in qs) + " |"
    lines = [head, "|---" * (len(qs) + 2) + "|"]
    for name, title in TITLES.items():
        part = found.loc[name]
        for method, label in NAMES.items():
            cells = [_cell(part.loc[(method, q)]) for q in qs]
            lines.append(f"| {title} | {label}, tuned | " + " | ".join(cells) + " |")
        ours = [_cell(part.loc[("auto-1", q)]) for q in qs]
        lines.append(f"| {title} | **`LWClassifier()`** | " + " | ".join(ours) + " |")
        gaps = [_gap(part, q) for q in qs]
        lines.append(f"| {title} | minus the best tuned | " + " | ".join(gaps) + " |")
    return "\n".join(lines)


def _cell(row: pd.Series) -> str:
    return f"{row['mean']:.2f} ± {row['std']:.2f}"


def _gap(part: pd.DataFrame, q: float) -> str:
    """Difference to the best tuned mean, and that in standard deviations of the difference."""
    tuned = part.loc[[(method, q) for method in NAMES]]
    best = tuned.loc[tuned["mean"].idxmax()]
    ours = part.loc[("auto-1", q)]
    difference = ours["mean"] - best["mean"]
    spread = (ours["std"] ** 2 + best["std"] ** 2) ** 0.5
    return f"{difference:+.2f} ({difference / spread:+.1f} σ)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    table = to_markdown(final(pd.read_csv(options.csv)))
    print(table)
    if options.into:
        before, rest = options.into.read_text().split(BEGIN)
        after = rest.split(END)[1]
        options.into.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
