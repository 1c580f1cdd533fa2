"""The tables of docs/defaults.md and results/defaults.md, from results/defaults.csv and its neighbours.

python studies/defaults_report.py results/defaults.csv [--into docs/defaults.md results/defaults.md]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from scipy import stats

from amongst.stats import holm

BEGIN, END = "<!-- {} table -->", "<!-- end of {} table -->"
DEFAULT = "auto-fading"
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
    untouched = (table["stage"] == "default") & (table["method"] == DEFAULT)
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
    gaps = {(name, q): _gap(found.loc[name], q) for name in TITLES for q in qs}
    adjusted = holm([p for _, p in gaps.values()])
    corrected = dict(zip(gaps, adjusted, strict=True))
    for name, title in TITLES.items():
        part = found.loc[name]
        for method, label in NAMES.items():
            cells = [_cell(part.loc[(method, q)]) for q in qs]
            lines.append(f"| {title} | {label}, tuned | " + " | ".join(cells) + " |")
        ours = [_cell(part.loc[(DEFAULT, q)]) for q in qs]
        lines.append(f"| {title} | **`LWClassifier()`** | " + " | ".join(ours) + " |")
        cells = [f"{gap:+.2f} (p = {p:.3f}, Holm {_three(corrected[name, q])})"
                 for q in qs for gap, p in [gaps[name, q]]]  # fmt: skip
        lines.append(f"| {title} | minus the best tuned | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: pd.Series) -> str:
    return f"{row.mean():.2f} ± {row.std():.2f}"


def _three(p: float) -> str:
    return "1" if p > 0.9995 else f"{p:.3f}"


def _gap(part: pd.DataFrame, q: float) -> tuple[float, float]:
    """Mean paired difference to the best tuned method, and the p of a two-sided paired t."""
    tuned = part.loc[[(method, q) for method in NAMES]]
    best = tuned.loc[tuned.mean(axis=1).idxmax()]
    difference = part.loc[(DEFAULT, q)] - best
    return difference.mean(), stats.ttest_1samp(difference, 0).pvalue


def chosen(table: pd.DataFrame) -> str:
    """Accuracy on held-out training rows of every candidate, best mean first."""
    means = table.pivot_table(
        index=["lr", "strength", "fade"], columns=["dataset", "q"], values="val"
    )
    order = means.mean(axis=1).sort_values(ascending=False).index
    names = [f"{TITLES[name]} {q}" for name, q in means.columns]
    head = "| lr | strength | fade | mean | " + " | ".join(names) + " |"
    lines = [head, "|---" * (len(names) + 4) + "|"]
    for lr, strength, fade in order:
        row = means.loc[(lr, strength, fade)]
        values = [f"{row.mean():.2f}", *(f"{value:.2f}" for value in row)]
        lines.append(f"| {lr:g} | {strength:g} | {fade:g} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def unseen(table: pd.DataFrame, question: str) -> str:
    """Mean ± standard deviation of each method at its best learning rate."""
    rows = table[table["question"] == question]
    by_rate = rows.groupby(["dataset", "method", "q", "lr"])["accuracy"].agg(["mean", "std"])
    best = by_rate.groupby(["dataset", "method", "q"])["mean"].idxmax()
    found = by_rate.loc[best].droplevel("lr")
    qs = sorted(rows["q"].unique())
    lines = ["| data | method | " + " | ".join(f"q = {q}" for q in qs) + " |"]
    lines.append("|---" * (len(qs) + 2) + "|")
    for name in rows["dataset"].unique():
        for method in rows["method"].unique():
            cells = [found.loc[(name, method, q)] for q in qs]
            shown = [f"{mean:.2f} ± {std:.2f}" for mean, std in cells]
            lines.append(f"| {name} | {method} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def batches(table: pd.DataFrame) -> str:
    """Mean ± standard deviation over folds of each way to train on small data."""
    found = table.groupby(["dataset", "way"])["accuracy"].agg(["mean", "std", "size"])
    lines = ["| way | " + " | ".join(table["dataset"].unique()) + " |"]
    lines.append("|---" * (1 + table["dataset"].nunique()) + "|")
    for way in table["way"].unique():
        cells = [found.loc[(name, way)] for name in table["dataset"].unique()]
        shown = [f"{c['mean']:.1f} ± {c['std']:.1f} ({c['size']:.0f} folds)" for c in cells]
        lines.append(f"| {way} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def put(text: str, name: str, table: str) -> str:
    """The page with this table between its marks."""
    before, rest = text.split(BEGIN.format(name))
    after = rest.split(END.format(name))[1]
    return f"{before}{BEGIN.format(name)}\n{table}\n{END.format(name)}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path)
    parser.add_argument("--into", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    rows, fading, others, small = (
        pd.read_csv(options.csv.with_name(name))
        for name in (options.csv.name, "fading.csv", "unseen.csv", "batches.csv")
    )
    tables = {
        "defaults": to_markdown(final(rows)),
        "fading": chosen(fading),
        "margin": unseen(others, "margin"),
        "unseen": unseen(others, "default"),
        "batches": batches(small),
        "candidates": tried(rows),
    }
    print("\n\n".join(tables.values()))
    for page in options.into:
        text = page.read_text("utf-8")
        for name, table in tables.items():
            text = put(text, name, table) if BEGIN.format(name) in text else text
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
