"""`amongst classical`: the cells with the paper's beside them, resumable."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from amongst.bench.plans import make_plan
from amongst.cli.classical import _request, classical
from amongst.errors import InputError

app = typer.Typer()
app.command()(classical)


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def test_ten_folds_beside_the_paper_and_again_from_the_store(
    data_folder: Path, tmp_path: Path
) -> None:
    store = str(tmp_path / "nine.sqlite")
    narrowed = ("--datasets", "lost", "--methods", "ipal", "--workers", "1", "--store", store)
    first = run(*narrowed)
    assert first.exit_code == 0
    line = next(line for line in first.stdout.splitlines() if "IPAL" in line)
    assert "62.37 ± 4.81" in line
    assert line.split()[-1] in ("above", "within")
    assert "10 trials run" in first.stderr
    again = run(*narrowed)
    assert "10 were in" in " ".join(again.stderr.split())
    assert next(row for row in again.stdout.splitlines() if "IPAL" in row) == line


def test_settings_can_be_chosen_without_true_labels() -> None:
    plain, tuned = (_request(("lost",), ("paloc",), tune) for tune in (False, True))
    assert (plain.search, tuned.search, tuned.criterion) == ("none", "grid", "covering")
    assert all(t.settings["validation"] == 0.0 for t in make_plan(plain).trials)
    assert all(t.settings["validation"] == 0.1 for t in make_plan(tuned).trials)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--datasets", "losst"), "datasets='losst' is unknown; did you mean 'lost'"),
        (("--datasets", "yahoo_news"), "datasets='yahoo_news' is unknown. Choose from: birdsong"),
        (("--methods", "plknn"), "methods='plknn' is unknown"),
        (("--methods", "plecco"), "methods='plecco' is unknown; did you mean 'plecoc'"),
    ],
)
def test_bad_names(arguments: tuple[str, str], message: str, tmp_path: Path) -> None:
    found = run(*arguments, "--store", str(tmp_path / "none.sqlite"))
    assert isinstance(found.exception, InputError)
    assert message in str(found.exception)
    assert not (tmp_path / "none.sqlite").exists()
