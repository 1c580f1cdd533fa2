"""The command `amongst`: its parts put together."""

from __future__ import annotations

from functools import partial

import typer

from amongst.cli import bench, datasets, tables
from amongst.cli.results import report, results
from amongst.cli.review import explain, review
from amongst.cli.saying import Commands, options, run
from amongst.cli.search import search
from amongst.cli.theory import theory
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
main = partial(run, app)
"""Run the command line: `saying.run`."""

app.callback()(options)
for _own in (tables.describe, tables.fit, tables.predict, tables.disambiguate):
    app.command(rich_help_panel="Your data")(_own)
for _own in (explain, review, search):
    app.command(rich_help_panel="Your data")(_own)
for _research in (bench.demo, bench.compare, results, report, theory):
    app.command(rich_help_panel="Research")(_research)
app.add_typer(datasets.app, name="datasets", rich_help_panel="Research")

ELSEWHERE = {
    "reproduce": "Run tables and figures of the paper.",
    "evidence": "Results as a folder.",
    "classical": "Cells of the paper's Table 2.",
}
"""Commands of the study of the paper, which a clone has and an installed package names."""


def _elsewhere(ctx: typer.Context) -> None:
    import_study("lw2021.commands", purpose=f"amongst {ctx.info_name}")


if STUDIES.is_dir():
    import_study("lw2021.commands", purpose="amongst").add_to(app)
else:
    _any = {"allow_extra_args": True, "ignore_unknown_options": True}
    for _name, _help in ELSEWHERE.items():
        app.command(_name, help=_help, context_settings=_any, rich_help_panel="Research")(
            _elsewhere
        )
