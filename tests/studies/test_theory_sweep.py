"""The judging of auto, on a small sweep whose answer is known."""

from __future__ import annotations

import runpy
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.theory import AUTO, AutoRule, beta_from_sizes, size_law
from lw2021.theory.sweep import (
    cells,
    compare,
    draw_sweep,
    fit_rule,
    read_sweep,
    to_markdown,
)

REPORT = Path(__file__).parents[2] / "studies" / "beta_report.py"
BETAS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
QS = (0.1, 0.5, 0.9)


def height(psi, q, beta, rule):
    """Accuracy falls by a point for each doubling away from the β of `rule`."""
    ideal = beta_from_sizes(size_law(10, q), psi, rule)
    return 95 - 20 * q - abs(np.log2(max(beta, 0.25) / ideal))


def made(rule=AUTO, datasets=("a", "b")):
    rows = []
    for name, psi, q, beta, lr, seed in product(
        datasets, ("sigmoid", "cross_entropy"), QS, BETAS, (0.01, 0.1), range(3)
    ):
        accuracy = height(psi, q, beta, rule) + 0.1 * (seed - 1) - 5 * (lr == 0.01)
        rows.append((name, psi, q, beta, lr, seed, accuracy))
    return pd.DataFrame(rows, columns=["dataset", "psi", "q", "beta", "lr", "seed", "accuracy"])


@pytest.fixture
def path(tmp_path):
    made().to_csv(tmp_path / "sweep.csv", index=False)
    return tmp_path / "sweep.csv"


def test_cells_take_the_best_learning_rate_and_the_spread_over_seeds(path):
    found = cells(read_sweep(path))
    assert len(found) == 2 * 2 * len(QS) * len(BETAS)
    assert (found["lr"] == 0.1).all()
    assert np.allclose(found["std"], 0.1)
    one = found[(found.dataset == "a") & (found.psi == "sigmoid") & (found.q == 0.5)]
    assert one.set_index("beta").loc[4.0, "mean"] == pytest.approx(
        height("sigmoid", 0.5, 4.0, AUTO)
    )


def test_auto_is_best_where_the_sweep_says_so(path):
    table = compare(read_sweep(path))
    assert len(table) == 12
    assert (table["to_best"] > -0.6).all()
    assert (table["to_small"] > -0.6).all()
    high = table[(table.psi == "cross_entropy") & (table.q == 0.9)]
    assert (high["to_small"] > 1.5).all()
    assert not table["trained"].any()


def test_trained_auto_rows_are_preferred_to_interpolation(path):
    frame = read_sweep(path)
    extra = frame[frame["beta"] == 8.0].copy()
    extra["rule"], extra["accuracy"] = "auto", 99.0
    extra["beta"] = [
        beta_from_sizes(size_law(10, q), psi) for q, psi in zip(extra.q, extra.psi, strict=True)
    ]
    table = compare(pd.concat([frame, extra]))
    assert table["trained"].all()
    assert np.allclose(table["auto"], 99.0)
    other = AutoRule(lift=4.0, scale=6.0, floor=1.0, low=3.0)
    stale = compare(pd.concat([frame, extra]), other)
    assert not stale["trained"].any()


def test_the_noise_takes_the_number_of_seeds_of_each_cell(path):
    """Welch: auto was trained with two seeds, the best fixed β with three."""
    frame = read_sweep(path)
    extra = frame[(frame["beta"] == 8.0) & (frame["lr"] == 0.1) & (frame["seed"] < 2)].copy()
    extra["rule"], extra["accuracy"] = "auto", 50.0 + extra["seed"]
    extra["beta"] = [
        beta_from_sizes(size_law(10, q), psi) for q, psi in zip(extra.q, extra.psi, strict=True)
    ]
    noise = compare(pd.concat([frame, extra]))["noise"]
    assert np.allclose(noise, 2 * np.sqrt(0.5 / 2 + 0.1**2 / 3))
    assert np.allclose(compare(frame)["noise"], 2 * np.sqrt(2 * 0.1**2 / 3))


def by_hand(*rows):
    """Rows of one problem, q = 0.5: (β, lr, seed, accuracy, rule)."""
    columns = ["beta", "lr", "seed", "accuracy", "rule"]
    return pd.DataFrame(rows, columns=columns).assign(dataset="a", psi="sigmoid", q=0.5)


def test_a_line_of_the_comparison_by_hand():
    """The accuracies of β = 1, 2 and 64 have means 80, 82 and 90, spreads 1, 2 and 3."""
    ours = beta_from_sizes(size_law(10, 0.5), "sigmoid")
    fixed = [
        (beta, 0.1, seed, mean + spread * (seed - 1), "fixed")
        for beta, mean, spread in ((1.0, 80.0, 1.0), (2.0, 82.0, 2.0), (64.0, 90.0, 3.0))
        for seed in range(3)
    ]
    auto = [(ours, 0.1, seed, 85.0 + seed, "auto") for seed in range(2)]
    auto += [(ours, 0.2, seed, 70.0, "auto") for seed in range(2)]
    line = compare(by_hand(*fixed, *auto)).iloc[0].to_dict()
    told = ("a", "sigmoid", 0.5, True, ours, 64.0)
    names = ("dataset", "psi", "q", "trained", "auto_beta", "best_beta")
    assert tuple(line[name] for name in names) == told
    numbers = {
        "auto": 85.5,
        "auto_std": 0.5**0.5,
        "best": 90.0,
        "best_std": 3.0,
        "small": 82.0,
        "small_std": 2.0,
        "to_best": -4.5,
        "to_small": 3.5,
        "noise": 2 * (0.5 / 2 + 9 / 3) ** 0.5,
    }
    assert {name: line[name] for name in numbers} == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("factor", "near"), [(0.94, False), (0.96, True), (1.04, True), (1.06, False)]
)
def test_auto_was_trained_where_its_beta_is_within_a_twentieth(factor, near):
    ours = beta_from_sizes(size_law(10, 0.5), "sigmoid")
    fixed = [(beta, 0.1, seed, 80.0, "fixed") for beta in (1.0, 64.0) for seed in range(2)]
    auto = [(ours * factor, 0.1, seed, 95.0, "auto") for seed in range(2)]
    line = compare(by_hand(*fixed, *auto)).iloc[0]
    assert (line["trained"], line["auto"]) == (near, 95.0 if near else 80.0)


def test_runs_of_auto_are_one_cell_whatever_their_betas():
    rows = [(beta, 0.1, seed, 80.0 + seed, "auto") for seed, beta in enumerate((1.5, 1.75, 2.0))]
    found = cells(by_hand(*rows, (9.0, 0.2, 0, 10.0, "auto"), (1.0, 0.1, 0, 99.0, "fixed")), "auto")
    numbers = found[["beta", "lr", "mean", "std", "n"]].to_numpy().tolist()
    assert numbers == [[1.75, 0.1, 81.0, 1.0, 3]]


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({0.0: 10.0, 1.0: 80.0, 4.0: 90.0}, 80 + 10 * np.log(1.75) / np.log(4)),
        ({4.0: 90.0, 1.0: 80.0}, 80 + 10 * np.log(1.75) / np.log(4)),
        ({1.0: 80.0, 1.5: 84.0}, 84.0),
        ({2.0: 70.0, 4.0: 84.0}, 70.0),
    ],
)
def test_between_two_betas_accuracy_is_linear_in_their_logarithm(means, expected):
    """Beyond the last it is that of the last, and β = 0 has no logarithm. Auto has β = 1.75."""
    rows = [(beta, 0.1, seed, mean, "fixed") for beta, mean in means.items() for seed in range(2)]
    line = compare(by_hand(*rows)).iloc[0]
    assert line["auto_beta"] == 1.75
    assert line["auto"] == pytest.approx(expected)


def test_constants_are_found_again_on_other_data_than_the_check():
    truth = AutoRule(lift=3.0, scale=6.0, floor=4.0, cap=64.0)
    frame = pd.concat([made(truth, ("a", "b")), made(AUTO, ("check",))])
    frame["rule"] = "fixed"
    found, loss = fit_rule(frame, ["a", "b"])
    assert found.lift in (2.5, 3.0)
    assert (found.scale, found.floor) == (6.0, 4.0)
    assert loss < 0.5
    with pytest.raises(InputError, match="no rows of c"):
        fit_rule(frame, ["c"])


def test_report_prints_the_table_and_draws(path, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    png, page = tmp_path / "map.png", tmp_path / "page.md"
    page.write_text("# Before\n<!-- beta table -->\nold\n<!-- end of beta table -->\nafter\n")
    arguments = [str(path), "--png", str(png), "--into", str(page), "--fit", "a"]
    monkeypatch.setattr(sys, "argv", ["beta_report.py", *arguments])
    runpy.run_path(str(REPORT), run_name="__main__")
    shown = capsys.readouterr().out
    assert "best constants on a: AutoRule(" in shown
    assert "| b | cross entropy | 0.9 |" in shown
    text = page.read_text()
    assert text.count("| cross entropy |") == text.count("| sigmoid |") == 6
    assert text.startswith("# Before\n")
    assert text.endswith("-->\nafter\n")
    assert "old" not in text
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("psi", "dataset"), [("sigmoid", "b"), ("cross_entropy", "a")])
def test_a_ragged_sweep_is_drawn_too(path, tmp_path, psi, dataset):
    """With its scale of colours, which was left out where the last map has no rows."""
    pytest.importorskip("matplotlib")
    frame = read_sweep(path)
    draw_sweep(frame[(frame.psi == psi) | (frame.dataset == dataset)], tmp_path / "map.svg")
    drawn = (tmp_path / "map.svg").read_text()
    assert "</svg>" in drawn
    titles = [f"{d}, {p.replace('_', ' ')}" for d in "ab" for p in ("cross_entropy", "sigmoid")]
    for text in ("points below the best β of this q", *(f"{beta:g}" for beta in BETAS), *titles):
        assert f"<!-- {text} -->" in drawn


def test_markdown_marks_what_was_not_trained(path):
    line = to_markdown(compare(read_sweep(path))).splitlines()[2]
    assert line.startswith("| a | cross entropy | 0.1 | 2.00 |")
    assert "± 0.10*" in line


def test_bad_files_are_told(tmp_path):
    with pytest.raises(DataNotFoundError, match="no sweep at"):
        read_sweep(tmp_path / "none.csv")
    made().drop(columns="lr").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(FileFormatError, match="lacks the columns lr"):
        read_sweep(tmp_path / "a.csv")
    gap = made()
    gap.loc[3, "accuracy"] = np.nan
    gap.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(FileFormatError, match="row 5 has a missing number"):
        read_sweep(tmp_path / "b.csv")
    without = made()[lambda rows: ~rows.beta.isin((1.0, 2.0))].assign(rule="fixed")
    with pytest.raises(InputError, match="neither β = 1 nor 2"):
        compare(without)


def test_the_constants_in_use_are_what_mnist_and_fashion_mnist_choose():
    frame = read_sweep(REPORT.parents[1] / "results" / "beta_sweep.csv")
    assert fit_rule(frame, ["mnist", "fashion_mnist"])[0] == AUTO
