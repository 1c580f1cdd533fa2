"""`amongst theory`: the verification, which the study in the repository has, or β's rule alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from amongst.cli.files import check_target
from amongst.cli.saying import screen, tell
from amongst.errors import MissingDependencyError

__all__ = ["theory"]

RATES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
CLASSES = 10


def theory(
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with plots.")
    ] = None,
    problems: Annotated[int, typer.Option(help="Random problems for each identity.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
) -> None:
    """Verify the theory of the LW loss: what holds, what does not, and the β that follows."""
    from amongst.optional import import_study, optional_import

    if html is not None:
        check_target("--html", html)
        optional_import("matplotlib", extra="plot", purpose="drawing the theory page")
    try:
        study = import_study("lw2021.theory.terminal", purpose="verifying the theory")
    except MissingDependencyError as error:
        if html is not None or error.code != "no-studies":
            raise
        screen().print(_rule())
        tell(str(error))
        return
    if not study.show(html, problems, seed):
        raise typer.Exit(1)


def _rule() -> Table:
    """β = auto at some uniform rates q."""
    from amongst.theory import beta_from_sizes, size_law

    table = Table(title=f"β from the candidate sets (beta='auto'), {CLASSES} classes", box=None)
    for head in ("q", "sigmoid", "cross entropy"):
        table.add_column(head, justify="right")
    for q in RATES:
        betas = [beta_from_sizes(size_law(CLASSES, q), psi) for psi in ("sigmoid", "cross_entropy")]
        table.add_row(f"{q:g}", *(f"{beta:.2f}" for beta in betas))
    return table
