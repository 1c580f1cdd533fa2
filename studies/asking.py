"""Whether a person's time is better spent on the rows that `explain` ranks first (results/asking.csv).

    python studies/asking.py --out results/asking.csv
    python studies/asking.py --report results/asking.csv --into docs/asking.md --picture docs/asking.png

A classifier learns from candidate sets; then a person names the true label of up to 100 rows, either those
with the largest expected gain or random ones; it learns again with these as certain. The gain is that of
`explain` with its ensemble, or, as "own", of the model itself, which trained on the rows. Measured after each
step: accuracy on test rows, and the share of all training rows whose label is right. Candidate sets of
digits and MNIST are drawn with q = 0.5; those of LabelMe are what people on the internet said. The order
is found once, before anybody is asked, and from candidate sets alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

from amongst import PRODENClassifier
from amongst.candidates import CandidateSets, uniform
from amongst.data import load

TITLES = {"digits": "digits", "mnist": "MNIST", "labelme": "LabelMe"}
WAYS = {
    "gain": "largest expected gain first",
    "own": "the same, by the model that saw the rows",
    "random": "random rows",
}
ASKED = (0, 50, 100)
ROWS, TEST, Q = 1500, 5000, 0.5
MEASURES = {"test": "accuracy on test rows", "found": "training rows with the right label"}
BEGIN, END = "<!-- asking table -->", "<!-- end of asking table -->"


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with candidate sets, and what they are."""

    X: npt.NDArray[Any]
    truth: npt.NDArray[Any]
    sets: CandidateSets
    test_X: npt.NDArray[Any]
    test: npt.NDArray[Any]


def problem(name: str, seed: int) -> Problem:
    """The rows of one seed; of LabelMe all rows, always."""
    data = load(name)
    X, y = data.features.reshape(len(data.features), -1).astype(np.float64), data.labels
    if data.candidates is not None:
        n = len(data.candidates)
        mask = data.candidates.mask
        return Problem(X[:n], y[:n], CandidateSets(mask, np.arange(mask.shape[1])), X[n:], y[n:])
    fit, test = train_test_split(
        np.arange(len(X)), train_size=min(ROWS, len(X) // 2), random_state=seed, stratify=y
    )
    sets = uniform(y[fit], Q, classes=np.unique(y).tolist(), seed=seed)
    return Problem(X[fit], y[fit], sets, X[test[:TEST]], y[test[:TEST]])


def learnt(
    known: Problem, asked: npt.NDArray[Any], seed: int, epochs: int
) -> tuple[Any, CandidateSets]:
    """A classifier that has been told the true label of the rows that were asked."""
    mask = known.sets.to_mask()
    codes = np.searchsorted(known.sets.classes, known.truth[asked])
    mask[asked] = False
    mask[asked, codes] = True
    sets = CandidateSets(mask, known.sets.classes)
    model = PRODENClassifier(
        epochs=epochs, batch_size=100, lr=0.05, widths=(100,), device="cpu", random_state=seed
    )
    return model.fit(known.X, sets), sets


def judged(known: Problem, model: Any, sets: CandidateSets) -> dict[str, float]:
    """Shares of test rows and of training rows that are right."""
    found = model.disambiguate(known.X, sets)["label"].to_numpy()
    right = {"test": model.predict(known.test_X) == known.test, "found": found == known.truth}
    return {name: float(each.mean()) for name, each in right.items()}


def run(names: list[str], seeds: int, epochs: int) -> pd.DataFrame:
    """Every data set, seed, way and number of rows asked."""
    lines = []
    for name in names:
        for seed in range(seeds):
            known = problem(name, seed)
            first, sets = learnt(known, np.array([], dtype=int), seed, epochs)
            orders = {
                "gain": first.explain(known.X, sets)["rank"].to_numpy().argsort(),
                "own": first.explain(known.X, sets, ensemble=0)["rank"].to_numpy().argsort(),
                "random": np.random.default_rng(seed).permutation(len(known.X)),
            }
            start = judged(known, first, sets)
            for way, order in orders.items():
                for count in ASKED:
                    now = (
                        judged(known, *learnt(known, order[:count], seed, epochs))
                        if count
                        else start
                    )
                    line = {"dataset": name, "seed": seed, "way": way, "asked": count}
                    lines += [line | {"measure": m, "value": v} for m, v in now.items()]
                    print(*line.values(), {m: round(v, 4) for m, v in now.items()}, flush=True)
    return pd.DataFrame(lines)


def to_markdown(table: pd.DataFrame) -> str:
    """Percent after 100 rows, and how much more the ranked ones help, over the seeds."""
    lines = [
        "| data | measure | nobody asked | 100 random rows | 100 by own order | 100 by gain | gain − random | seeds won |",
        "|---|---|---|---|---|---|---|---|",
    ]
    last = table[table["asked"] == ASKED[-1]]
    for name, title in TITLES.items():
        for measure, told in MEASURES.items():
            own = last[(last["dataset"] == name) & (last["measure"] == measure)]
            if own.empty:
                continue
            by_way = own.pivot(index="seed", columns="way", values="value") * 100
            gain = by_way["gain"] - by_way["random"]
            none = table[(table["dataset"] == name) & (table["measure"] == measure)]
            start = 100 * none[none["asked"] == 0]["value"].mean()
            lines.append(
                f"| {title} | {told} | {start:.2f} | {by_way['random'].mean():.2f} | "
                f"{by_way['own'].mean():.2f} | {by_way['gain'].mean():.2f} | {gain.mean():+.2f} ± {gain.std():.2f} | "
                f"{(gain > 0).sum()} of {len(gain)} |"
            )
    return "\n".join(lines).replace("| -", "| −")


def draw(table: pd.DataFrame, path: Path) -> None:
    """Both curves for each data set: the mean over the seeds, and their range."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(10, 5.6), layout="constrained")
    axes = sheet.subplots(len(MEASURES), len(TITLES), sharex=True, squeeze=False)
    for row, (measure, told) in zip(axes, MEASURES.items(), strict=True):
        for axis, (name, title) in zip(row, TITLES.items(), strict=True):
            own = table[(table["dataset"] == name) & (table["measure"] == measure)]
            for way, colour in zip(WAYS, ("#0b6fb4", "#0a7f62", "#c8500a"), strict=True):
                values = own[own["way"] == way].groupby("asked")["value"]
                mean, low, high = 100 * values.mean(), 100 * values.min(), 100 * values.max()
                axis.plot(mean.index, mean, color=colour, marker="o", ms=4, label=WAYS[way])
                axis.fill_between(mean.index, low, high, color=colour, alpha=0.15, lw=0)
            axis.set_title(title if measure == "test" else "")
            axis.grid(alpha=0.3)
        row[0].set_ylabel(f"{told}, %", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("rows that a person looked at")
    axes[0, 0].legend(frameon=False, fontsize=8)
    sheet.savefig(path, dpi=110)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--datasets", nargs="*", choices=TITLES, default=list(TITLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    table = (
        pd.read_csv(options.report)
        if options.report
        else run(options.datasets, options.seeds, options.epochs)
    )
    if options.out:
        table.to_csv(options.out, index=False, float_format="%.5g")
    if options.picture:
        draw(table, options.picture)
    told = to_markdown(table)
    if options.into is None:
        print(told)
        return
    page = options.into.read_text("utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    options.into.write_text(f"{before}{BEGIN}\n{told}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
