"""The command `amongst`: its parts put together."""

from __future__ import annotations

from functools import partial

import typer
from rich.table import Table

from amongst.cli import bench, datasets, tables
from amongst.cli.classical import classical
from amongst.cli.results import report, results
from amongst.cli.review import explain, review
from amongst.cli.saying import Commands, options, run, screen, tell
from amongst.cli.search import search
from amongst.errors import MissingDependencyError
from amongst.optional import STUDIES, import_study

__all__ = ["app", "main"]

app = typer.Typer(
    name="amongst",
    cls=Commands,
    help="Learn from ambiguous labels: every row has several candidate labels, one is right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
RATES, CLASSES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9), 10
main = partial(run, app)
"""Run the command line: `saying.run`."""

app.callback()(options)
for _own in (tables.describe, tables.fit, tables.predict, tables.disambiguate):
    app.command(rich_help_panel="Your data")(_own)
for _own in (explain, review, search):
    app.command(rich_help_panel="Your data")(_own)
for _research in (bench.demo, bench.compare, bench.reproduce, classical, results, report):
    app.command(rich_help_panel="Research")(_research)
app.add_typer(datasets.app, name="datasets", rich_help_panel="Research")

ELSEWHERE = {
    "evidence": "Results as a folder.",
    "theory": "β from the candidate sets; in a clone, the theory verified.",
}
"""Commands of the study of the paper, which a clone has and an installed package names."""


def _elsewhere(ctx: typer.Context) -> None:
    """Where the command is; of the theory, the rule of β is here."""
    try:
        import_study("lw2021.commands", purpose=f"amongst {ctx.info_name}")
    except MissingDependencyError as error:
        if ctx.info_name != "theory" or ctx.args:
            raise
        screen().print(_rule())
        tell(str(error))


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


if STUDIES.is_dir():
    import_study("lw2021.commands", purpose="amongst").add_to(app)
else:
    _any = {"allow_extra_args": True, "ignore_unknown_options": True}
    for _name, _help in ELSEWHERE.items():
        app.command(_name, help=_help, context_settings=_any, rich_help_panel="Research")(
            _elsewhere
        )
