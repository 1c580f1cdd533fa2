"""What the β sweep says of `beta="auto"`: a heat map and a table beside fixed β.

    python studies/beta_report.py results/beta_sweep.csv --png docs/beta_sweep.png \
        [--into results/beta_sweep.md] [--fit mnist fashion_mnist]

`--into` puts the table between the two `beta table` marks of a Markdown file. `--fit` chooses the constants of the rule anew on the datasets named, and shows what they would
give on all; leave out the dataset that is to check the rule.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from amongst.theory import AUTO
from lw2021.theory.sweep import compare, draw_sweep, fit_rule, read_sweep, to_markdown

START, END = "<!-- beta table -->", "<!-- end of beta table -->"


def put_between(path: Path, table: str) -> None:
    text = path.read_text("utf-8")
    if START not in text or END not in text:
        raise SystemExit(f"{path} has no marks {START} and {END}")
    head, tail = text.split(START)[0], text.split(END)[1]
    path.write_text(f"{head}{START}\n{table}\n{END}{tail}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path)
    parser.add_argument("--png", type=Path, help="heat map to write")
    parser.add_argument("--into", type=Path, help="Markdown file that holds the table")
    parser.add_argument("--fit", nargs="+", metavar="DATASET", help="refit the constants on these")
    options = parser.parse_args(arguments)
    frame = read_sweep(options.csv)
    rule = AUTO
    if options.fit:
        rule, loss = fit_rule(frame, options.fit)
        print(
            f"best constants on {', '.join(options.fit)}: {rule}, {loss:.3f} points below the best β\n"
        )
    table = compare(frame, rule)
    print(to_markdown(table))
    print("\nauto minus the best fixed β, and minus the best of β = 1, 2, over q:")
    by = table.groupby(["dataset", "psi"])[["to_best", "to_small"]]
    print(by.agg(["mean", "min"]).round(2).to_string())
    if options.into:
        put_between(options.into, to_markdown(table))
    if options.png:
        draw_sweep(frame, options.png, rule)
        print(f"\nheat map written to {options.png}")


if __name__ == "__main__":
    main()
