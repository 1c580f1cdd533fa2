"""The table of docs/defaults.md, from results/defaults.csv.

python studies/defaults_report.py results/defaults.csv [--into docs/defaults.md]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from scipy import stats

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
    """Accuracy by seed (columns): tuned methods, and `LWClassifier()` untouched."""
    untouched = (table["stage"] == "default") & (table["method"] == "auto-1")
    untouched &= (table["lr"] == 0.05) & (table["weight_decay"] == 1e-3)
    kept = table[(table["stage"] == "tuned") | untouched]
    return kept.pivot(index=["dataset", "method", "q"], columns="seed", values="accuracy")


def tried(table: pd.DataFrame) -> str:
    """Mean accuracy of every candidate for the default that was trained, the chosen one included."""
    rows = table[table["stage"] == "default"]
    means = rows.pivot_table(
        index=["dataset", "method", "lr", "weight_decay"], columns="q", values="accuracy"
    )
    head = "| data | candidate | " + " | ".join(f"q = {q}" for q in means.columns) + " |"
    lines = [head, "|---" * (len(means.columns) + 2) + "|"]
    for (name, method, lr, decay), values in means.iterrows():
        cells = ["–" if value != value else f"{value:.2f}" for value in values]
        label = f"{method}, lr {lr:g}, decay {decay:g}"
        lines.append(f"| {TITLES[name]} | {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


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
    return f"{row.mean():.2f} ± {row.std():.2f}"


def _gap(part: pd.DataFrame, q: float) -> str:
    """Mean paired difference to the best tuned method, and the p of a two-sided paired t."""
    tuned = part.loc[[(method, q) for method in NAMES]]
    best = tuned.loc[tuned.mean(axis=1).idxmax()]
    difference = part.loc[("auto-1", q)] - best
    p = stats.ttest_1samp(difference, 0).pvalue
    return f"{difference.mean():+.2f} (p = {p:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    rows = pd.read_csv(options.csv)
    table = f"{to_markdown(final(rows))}\n\nEvery candidate for the default:\n\n{tried(rows)}"
    print(table)
    if options.into:
        before, rest = options.into.read_text().split(BEGIN)
        after = rest.split(END)[1]
        options.into.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
