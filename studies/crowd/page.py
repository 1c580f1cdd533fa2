"""docs/crowd.md and its figures from results/crowd, or the results anew.

python studies/crowd/page.py            # make crowd: the page
AMONGST_DATA=… python studies/crowd/page.py --run   # the studies first, then the page
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from scipy.stats import ttest_rel

mpl.use("Agg")
import matplotlib.pyplot as plt

HOME = Path(__file__).parents[2]
RESULTS, DOCS = HOME / "results" / "crowd", HOME / "docs"
OURS, CEILING = "raters and classifier", "true labels"

NAMES = [
    *("LabelMe", "Sentiment, TF-IDF", "Sentiment, hashed n-grams", "CIFAR-10N"),
    *(f"MNIST, η = {eta}" for eta in ("0", "0.1", "0.2", "0.3")),
]
"""The data sets of the study."""

PAGE = """# Raters, and sets that may be wrong

Made by `make crowd` from `results/crowd`; every number here is of these files.

## Who is right when raters disagree

Each way learns from the answers by the same linear head (`studies/crowd/crowd.py`), and true labels of the test part
judge it. A seed leaves out another tenth of the training rows. Learning rate and weight decay are those that foretell
the answers of left-out rows best: Σ log Σ_z p_z P(said | z). No true label chooses anything, but for the row
"true labels", which learns from them and is the ceiling.

- *majority vote*, *soft votes*: labels, or shares of the votes.
- *Dawid–Skene*: raters judged by the answers alone; its likeliest label, or its posterior.
- *sets*: all that was said, without counts. *votes*: with counts as weights (see [the theory](theory.md)).
- *raters, CC*: P(said | z) of all classes as weights, raters judged by the answers alone.
- *raters and classifier*: `CrowdClassifier`; raters are judged with what the head believes of rows that it has not seen,
  and the head learns the mean of that posterior and of the votes.

MNIST has 2,000 rows here; of eight simulated raters three answer a row, right with chances from 0.9 to 0.3, and in a
share η of the rows nobody says the true label. CIFAR-10N has 3,000 rows, three answers each. Its features are the 128
numbers before the last layer of a FastNet (widths 32, 64, 128), which learnt for ten epochs on a CPU from the votes for
20,000 other training images. No row of the study, no test image and no true label had a part in that. Its three answers
are of many people, and columns of the file, not persons.

{tables}

{missing}

### Sentiment: the test part is of another kind

Its training rows are whole texts of 21 words, its test rows pieces of 9. `studies/crowd/kinds.py` has logistic
regression on TF-IDF learn from four fifths of the training rows, and asks it for the rest and for the test part:

{kinds}

On rows of the kind that was learnt, Dawid–Skene helps, and soft votes are last. On the test part soft votes are first,
and true labels last. What the answers foretell of the training part, by which the ways above choose, cannot see that.

## Sets that lack the true label

`studies/crowd/outside.py`: MNIST, 20,000 rows, q = 0.3; in a share η of the rows the true label is exchanged for another
one. An MLP of two layers of 300, 15 epochs, with and without `outside="auto"`.

{outside}

![Accuracy with and without outside="auto"](crowd-outside.png)

{outside_words}
"""


def with_p(data: pd.DataFrame) -> str:
    """Mean ± std over the seeds, and the paired difference of ours."""
    wide = data.pivot_table(index="seed", columns="way", values="accuracy")
    order = wide.mean().sort_values().index
    lines = ["| way | accuracy, % | ours − it | p |", "|---|--:|--:|--:|"]
    for way in order:
        text = f"{wide[way].mean():.2f} ± {wide[way].std():.2f}"
        if way == OURS:
            lines.append(f"| **{way}** | {text} | | |")
            continue
        ours = wide[OURS]
        p = ttest_rel(ours, wide[way]).pvalue
        lines.append(f"| {way} | {text} | {(ours - wide[way]).mean():+.2f} | {p:.2g} |")
    return "\n".join(lines)


def figure(data: pd.DataFrame, name: str) -> str:
    """A bar for each way; returns the file's name."""
    told = data.groupby("way")["accuracy"].agg(["mean", "std"]).sort_values("mean")
    colours = [
        "#c2410c" if way == OURS else "#94a3b8" if way == CEILING else "#2563eb"
        for way in told.index
    ]
    shape, axes = plt.subplots(figsize=(6.4, 0.34 * len(told) + 0.9))
    axes.barh(told.index, told["mean"], xerr=told["std"], color=colours)
    axes.set_xlim(max(0, told["mean"].min() - 6), min(100, told["mean"].max() + 3))
    axes.set_xlabel("test accuracy, %")
    axes.spines[["top", "right"]].set_visible(False)
    shape.tight_layout()
    file = f"crowd-{name}.png"
    shape.savefig(DOCS / file, dpi=110, metadata={"Software": None})
    plt.close(shape)
    return file


def crowd_part() -> tuple[str, str]:
    """The tables with their figures, and what is still to be run."""
    data = pd.read_csv(RESULTS / "crowd.csv")
    parts = []
    for name, rows in data.groupby("data", sort=False):
        if OURS not in set(rows["way"]):
            continue
        short = "".join(
            c for c in str(name).lower().replace("η = ", "eta") if c.isalnum() or c == "."
        )
        file = figure(rows, short)
        count = rows["seed"].nunique()
        parts.append(
            f"### {name}\n\n{with_p(rows)}\n\n{count} seeds; p by a paired t test.\n\n![{name}]({file})"
        )
    shown = {name for name, rows in data.groupby("data") if OURS in set(rows["way"])}
    absent = ", ".join(name for name in NAMES if name not in shown)
    missing = f"Not run yet: {absent}." if absent else ""
    return "\n\n".join(parts), missing


def outside_part() -> tuple[str, str]:
    data = pd.read_csv(RESULTS / "outside.csv")
    means = data.groupby(["method", "eta", "outside"], sort=False).mean(numeric_only=True)
    lines = [
        "| method | η | outside | accuracy, % | η found | of missing rows found | proposed label right |",
        "|---|--:|---|--:|--:|--:|--:|",
    ]
    for (method, eta, outside), row in means.iterrows():
        cells = [
            f"{row['accuracy']:.2f}",
            _share(row["found"]),
            _share(row["missing_found"]),
            _share(row["proposed_right"]),
        ]
        lines.append(f"| {method} | {eta:g} | {outside} | {' | '.join(cells)} |")
    shape, axes = plt.subplots(figsize=(6.4, 2.6))
    for place, (method, rows) in enumerate(data.groupby("method", sort=False)):
        for step, (outside, own) in enumerate(rows.groupby("outside", sort=False)):
            told = own.groupby("eta")["accuracy"].mean()
            at = [place * 3 + i + 0.36 * step for i in range(len(told))]
            bars = axes.bar(
                at,
                told,
                0.34,
                color=("#94a3b8", "#c2410c")[step],
                label=outside if not place else None,
            )
            axes.bar_label(bars, [f"η {eta:g}" for eta in told.index], fontsize=7)
        axes.text(place * 3 + 0.7, data["accuracy"].min() - 4.5, method, ha="center")
    axes.set_ylim(data["accuracy"].min() - 3, 100)
    axes.set_xticks([])
    axes.set_ylabel("test accuracy, %")
    axes.legend(title="outside", loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    shape.savefig(
        DOCS / "crowd-outside.png", dpi=110, bbox_inches="tight", metadata={"Software": None}
    )
    plt.close(shape)
    said = []
    for method in data["method"].unique():
        value = {
            key: means.loc[(method, *key), "accuracy"]
            for key in ((0.0, "off"), (0.0, "auto"), (0.2, "off"), (0.2, "auto"))
            if (method, *key) in means.index
        }
        if len(value) == 4:
            clean, same, off, auto = value.values()
            said.append(
                f"{method}: on clean sets it changes {same - clean:+.2f} points; at η = 0.2 it brings {off:.2f} to {auto:.2f}, {clean - auto:.2f} below η = 0 without it."
            )
    return "\n".join(lines), " ".join(said) + f" Seeds: {data['seed'].nunique()}."


def kinds_part() -> str:
    """Accuracy on rows of either kind."""
    told = pd.read_csv(RESULTS / "kinds.csv").groupby("way", sort=False)[["left_out", "test"]]
    mean, std = 100 * told.mean(), 100 * told.std()
    lines = ["| learnt from | left-out training rows, % | test part, % |", "|---|--:|--:|"]
    for way in mean.index:
        cells = (f"{mean.loc[way, n]:.2f} ± {std.loc[way, n]:.2f}" for n in mean.columns)
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="Run the studies first; hours on a CPU.")
    if parser.parse_args().run:
        for name in ("crowd", "kinds", "outside"):
            script = Path(__file__).with_name(f"{name}.py")
            subprocess.run([sys.executable, script, "--out", RESULTS / f"{name}.csv"], check=True)
    tables, missing = crowd_part()
    outside, words = outside_part()
    text = PAGE.format(
        tables=tables, missing=missing, kinds=kinds_part(), outside=outside, outside_words=words
    )
    (DOCS / "crowd.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
