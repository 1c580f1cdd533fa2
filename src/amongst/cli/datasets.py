"""`amongst datasets list | info | fetch | verify`: what there is, where it is, and if it is sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from amongst.cli.files import check_target
from amongst.cli.saying import fail, in_words, tell
from amongst.data import CATALOGUE, Entry, entry, is_here, names
from amongst.errors import AmongstError, InputError
from amongst.wording import counted

if TYPE_CHECKING:
    from amongst.data import Check, Picture

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="The catalogue of datasets: what there is, where, and if it is sound.",
)
MARKS = {
    "ok": "[green]ok[/]",
    "absent": "[yellow]not here[/]",
    "unread": "[yellow]not read[/]",
    "wrong": "[bold red]wrong[/]",
}
SHADES = " ░▒▓█"
MOST_CELLS = 40
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the dataset, see `amongst datasets list`.")
]


@app.command("list")
def list_command() -> None:
    """One line for each dataset: rows, features, classes, candidates, licence, where it is."""
    console = Console()
    with one_line_errors():
        console.print(catalogue_table())
    console.print(
        "n: training + test rows, where that split is official. candidates: mean size of the sets; "
        "– where they are generated from the true labels. * commonly given, not checked.\n"
        "More on one of them: amongst datasets info NAME",
        style="dim",
    )


@app.command("info")
def info_command(
    name: Name,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it to this file (.png, .svg, .pdf).")
    ] = None,
    q: Annotated[
        float,
        typer.Option(help="Where candidates are generated: chance of a wrong label.", min=0, max=1),
    ] = 0.3,
) -> None:
    """All that the catalogue says of a dataset, and what its candidate sets look like."""
    from amongst.data import draw_picture, load, picture

    console = Console()
    with one_line_errors():
        check_target("--plot", plot)
        found = entry(name)
        console.print(facts(found))
        if not is_here(found):
            console.print(MARKS["absent"], escape(how_to_get(found)))
            if plot is not None:
                raise typer.Exit(1)
            return
        shown = picture(load(name, download=False), q=q)
        console.print(f"\n[bold]{escape(shown.title)}[/]")
        console.print(size_bars(shown))
        if len(shown.class_names) <= MOST_CELLS:
            console.print(shade_map(shown))
        console.print(pair_table(shown))
        if plot is not None:
            tell(f"drawn: {draw_picture(shown, plot)}")


@app.command("fetch")
def fetch_command(
    name: Name,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Make sure that a dataset is on this machine; download what is missing."""
    from amongst.data import fetch, load

    console = Console()
    with one_line_errors():
        for path in fetch(name, progress=not quiet):
            tell(str(path))
        load(name, download=False)
        console.print(f"{name}: {MARKS['ok']}")


@app.command("verify")
def verify_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One dataset; all if left out.")
    ] = None,
) -> None:
    """Compare checksums, shape and statistics with the catalogue; exit 1 if something is wrong."""
    from amongst.data import verify

    console = Console()
    checks: list[Check] = []
    with one_line_errors():
        for chosen in [entry(name).name] if name is not None else names():
            found = verify(chosen)
            checks += found
            for check in found:
                console.print(line_of(check), soft_wrap=True)
    bad = sum(check.state == "wrong" for check in checks)
    absent, unread = (
        {check.dataset for check in checks if check.state == state}
        for state in ("absent", "unread")
    )
    seen = counted(len({check.dataset for check in checks} - absent - unread), "dataset")
    left = f"{len(absent)} not here" + (f", {len(unread)} not read" if unread else "")
    console.print(f"\n{seen} checked, {left}, {bad} wrong")
    if bad or (name is not None and (absent or unread)):
        raise typer.Exit(1)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """An error of ours is one line on stderr, never a traceback; exit status 2 for a mistake of the
    person, 1 for data that are wrong or not to be had."""
    try:
        yield
    except AmongstError as error:
        fail(in_words(error), code=2 if isinstance(error, InputError) else 1)


def catalogue_table() -> Table:
    """Every dataset, one line each; a rule between those with candidates and those without."""
    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
    )
    for column in ("name", "n", "d", "K", "avg\ncandidates", "licence", "here"):
        left = column in ("name", "licence", "here")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for found, after in zip(CATALOGUE, (*CATALOGUE[1:], None), strict=True):
        last = after is None or after.is_partial != found.is_partial
        size = "–" if found.mean_size is None else f"{found.mean_size:.2f}"
        away = "fetch" if found.can_be_fetched else "by hand"
        here = "[green]yes[/]" if is_here(found) else away
        numbers = (rows_of(found), f"{found.d:,}", str(found.n_classes), size)
        table.add_row(found.name, *numbers, found.licence, here, end_section=last)
    return table


def rows_of(found: Entry) -> str:
    """``60,000 + 10,000``, or one number where there is no official split."""
    return f"{found.n_train:,}" + (f" + {found.n_test:,}" if found.n_test else "")


def facts(found: Entry) -> Table:
    """What the catalogue states, as a table of two columns."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for what, value in fact_lines(found).items():
        if value:
            table.add_row(escape(what), escape(value))
    return table


def fact_lines(found: Entry) -> dict[str, str]:
    """All that an entry states; the value is empty where it does not."""
    shape = " × ".join(map(str, found.row))
    named = ": " + ", ".join(found.class_names) if found.class_names else ""
    size = "generated from the true labels" if found.mean_size is None else f"{found.mean_size:.2f}"
    return {
        found.name: found.title,
        "rows (n)": rows_of(found) + " (training + test)" * bool(found.n_test),
        "features (d)": f"{found.d:,}" + f" = {shape}" * (len(found.row) > 1),
        "classes (K)": f"{found.n_classes}{named}",
        "avg candidates": size,
        "true label inside": f"{found.truth_inside:.2%} of the rows" if found.is_partial else "",
        "preprocessing": PREPROCESSING[found.scaling].format(top=found.top),
        "in the paper": found.used_for,
        "licence": found.terms or found.licence,
        "cite": found.citation,
        "source": found.source,
        **{file.name: f"sha256 {file.sha256 or 'not published'}" for file in found.files},
        "note": found.note,
    }


PREPROCESSING = {
    "unit": "pixels / {top:g}",
    "channel": "each channel to mean 0, variance 1, fitted on training rows",
    "standard": "each column to mean 0, variance 1, fitted on training rows",
    "none": "none",
}


def how_to_get(found: Entry) -> str:
    """One line: how a dataset that is not here gets here."""
    if found.can_be_fetched:
        return f"run: amongst datasets fetch {found.name}"
    return f"put {found.files[0].name} (from {found.source}) into AMONGST_DATA/{found.home}"


def line_of(check: Check) -> Text:
    """One check as one line."""
    mark = Text.from_markup(MARKS[check.state])
    mark.pad_right(9 - len(mark))
    return Text.assemble(mark, f"{check.dataset:<15}", f"{check.what:<28}", (check.detail, "dim"))


def size_bars(shown: Picture, width: int = 48) -> Text:
    """The distribution of set sizes as bars."""
    counts = shown.size_counts
    last = int(counts.nonzero()[0].max(initial=0))
    total = max(int(counts.sum()), 1)
    text = Text("candidates of a row\n", style="bold")
    for size in range(1, last + 1):
        bar = "█" * round(width * int(counts[size]) / int(counts.max()))
        text.append(f"{size:>4} ", style="dim")
        text.append(f"{bar:<{width}} ", style="blue")
        text.append(f"{counts[size]:>7,}  {counts[size] / total:6.1%}\n", style="not bold")
    return text


def shade_map(shown: Picture) -> Text:
    """P(k ∈ s | j ∈ s) as shades, for as many classes as a terminal holds."""
    label = min(max(map(len, shown.class_names)), 12)
    shares = shown.shares.copy()
    shares[range(len(shares)), range(len(shares))] = 0
    top = max(float(shares.max()), 1e-12)
    text = Text("co-occurrence", style="bold")
    text.append(
        f"  share of row j's sets that also have column k; █ = {top:.0%}\n", style="not bold dim"
    )
    for j, name in enumerate(shown.class_names):
        cells = [SHADES[round((len(SHADES) - 1) * share / top)] * 2 for share in shares[j].tolist()]
        cells[j] = "· "
        text.append(f"{name[:label]:>{label}} ", style="not bold dim")
        text.append("".join(cells) + "\n", style="not bold magenta")
    return text


def pair_table(shown: Picture) -> Table:
    """The pairs of classes that share most rows."""
    table = Table("most frequent pairs", box=None, pad_edge=False)
    for head in ("rows", "share"):
        table.add_column(head, justify="right")
    for first, second, rows, share in shown.pairs():
        table.add_row(f"{escape(first)} – {escape(second)}", f"{rows:,}", f"{share:.0%}")
    return table
