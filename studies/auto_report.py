"""The tables of docs/auto.md, from results/auto.csv.

python studies/auto_report.py results/auto.csv [--into docs/auto.md]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from auto import AUTO, names

TITLES = {
    "usps": "USPS",
    "optdigits": "optdigits",
    "pendigits": "pendigits",
    "ecoli": "ecoli",
    "dermatology": "dermatology",
    "mfeat_fourier": "mfeat-fourier",
    "lost": "Lost",
    "msrcv2": "MSRCv2",
    "birdsong": "BirdSong",
    "fgnet": "FG-NET",
    "labelme": "LabelMe",
    "sentiment": "Sentiment",
}


def whole_splits(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by (set, q, split) and method, of those that have a line for every method."""
    table = table.assign(q=table["q"].map(lambda q: "" if pd.isna(q) else f"{q:g}"))
    keys = ["set", "q", "split"]
    counts = table.groupby(keys, sort=False)["method"].nunique()
    whole = [key for key, count in counts.items() if count == len(names(key[0]))]
    kept = table.set_index(keys).loc[lambda t: t.index.isin(whole)]
    return kept.set_index("method", append=True)["accuracy"].unstack("method")


def of_cells(found: pd.DataFrame) -> str:
    """A line for each set and q: `AutoClassifier`, the best of the others, and how far it is from it."""
    lines = ["| data | q | splits | `AutoClassifier` | best single method | difference |"]
    lines += ["|---|---:|---:|---:|---|---:|"]
    for name, q, part in _cells(found):
        means = part.mean().drop(AUTO)
        best, ours = str(means.idxmax()), part[AUTO].mean()
        cells = [TITLES[name], q or "its own", str(len(part)), f"{ours:.1f}"]
        cells += [f"{best} {means.max():.1f}", f"{ours - means.max():+.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_ranks(found: pd.DataFrame) -> str:
    """Each method's mean rank over sets and q; one that was left out is last there."""
    means = found.groupby(level=["set", "q"], sort=False).mean()
    ranks = means.rank(axis=1, ascending=False, na_option="bottom")
    behind = means.sub(means.max(axis=1), axis=0)
    order = ranks.mean().sort_values(kind="stable").index
    lines = ["| method | mean rank | points behind the best: mean | most | left out |"]
    lines += ["|---|---:|---:|---:|---:|"]
    for name in order:
        shown = f"**`{name}`**" if name == AUTO else str(name)
        gaps = behind[name].dropna()
        cells = [shown, f"{ranks[name].mean():.1f}", f"{-gaps.mean():.1f}", f"{-gaps.min():.1f}"]
        lines.append("| " + " | ".join([*cells, f"{int(means[name].isna().sum())}"]) + " |")
    return "\n".join(lines)


def of_errors(table: pd.DataFrame) -> str:
    """How well `AutoClassifier` knew its own error, in a sentence."""
    rows = table[(table["method"] == AUTO) & table["accuracy"].notna()]
    error, off = 100 - rows["accuracy"], 100 * rows["error"] - (100 - rows["accuracy"])
    inside = (off.abs() <= 196 * rows["error_se"]).mean()
    return (
        f"Over {len(rows)} fits the error that `AutoClassifier` estimated from candidate sets was "
        f"{off.mean():+.1f} points off on average (the true one: {error.mean():.1f} %), and the interval "
        f"that it gave held the true error in {inside:.0%} of them."
    )


def of_run(table: pd.DataFrame, found: pd.DataFrame) -> str:
    """What was run, in a sentence."""
    cells, sets = found.groupby(level=["set", "q"]).ngroups, found.groupby(level="set").ngroups
    splits = sorted(found.groupby(level=["set", "q"]).size().unique().tolist())
    return (
        f"So far: {cells} of 18 cells, from {sets} of the 12 sets, {' to '.join(map(str, splits))} of five "
        f"splits each; at most {int(table['rows'].max()):,} rows trained, and `AutoClassifier` had at most "
        f"{table.loc[table['method'] == AUTO, 'seconds'].median():.0f} s of one processor core for all that "
        "it does."
    )


def _cells(found: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    parts = dict(iter(found.groupby(level=["set", "q"])))
    order = [(name, q) for name in TITLES for q in ("0.3", "0.7", "")]
    return [(name, q, parts[name, q]) for name, q in order if (name, q) in parts]


def into(text: str, tables: dict[str, str]) -> str:
    """The page with its tables."""
    for name, table in tables.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    table = pd.read_csv(options.results)
    found = whole_splits(table)
    tables = {"run": of_run(table, found), "cells": of_cells(found), "ranks": of_ranks(found)}
    tables["errors"] = of_errors(table)
    if options.into is None:
        print(*tables.values(), sep="\n\n")
    else:
        options.into.write_text(into(options.into.read_text("utf-8"), tables), "utf-8")


if __name__ == "__main__":
    main()
