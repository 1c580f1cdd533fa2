"""What the site has beside its pages: the reference, and pictures. MkDocs calls it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import matplotlib
from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOMS = {
    "amongst.candidates": "Candidate sets",
    "amongst.estimators": "Estimators",
    "amongst.selection": "Selection",
    "amongst.trust": "Trust",
    "amongst.losses": "Losses",
    "amongst.algorithms": "Algorithms",
    "amongst.models": "Networks",
    "amongst.train": "Training",
    "amongst.data": "Data",
    "amongst.theory": "Theory",
    "amongst.metrics": "Metrics",
    "amongst.bench": "Experiments",
    "amongst.review": "Review",
    "amongst.errors": "Errors",
}
NAMED = re.compile(r"^([*\w]+(?:, [*\w]+)*) : (.+)$", re.MULTILINE)
GIVEN = re.compile(r"^(?<=Returns\n-------\n)(?:\S.+(?:\n|\Z))+$", re.MULTILINE)
EMPTY = re.compile(r"<th( [^>]*)?></th>")
TRIALS = "reproduction-trials.html"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"(?:^>>> .*(?:\n.+)*\n?)+", re.MULTILINE)


class Examples(Extension):
    """Examples of docstrings are code, what stands behind a name's colon is no type, and what a
    function returns is a sentence."""

    def on_object(self, *, obj: Object, **kwargs: object) -> None:
        """Mark them where Griffe has read a docstring."""
        if obj.docstring:
            text = GIVEN.sub(lambda found: ":\n" + indent(found[0], "    "), obj.docstring.value)
            text = NAMED.sub(r"\1\n    \2", text)
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```\n", text)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rooms into the menu."""
    pages = [{title: f"reference/{room.partition('.')[2]}.md"} for room, title in ROOMS.items()]
    for entry in config.nav or []:
        if "Reference" in entry:
            entry["Reference"] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    for room, title in ROOMS.items():
        path = f"reference/{room.partition('.')[2]}.md"
        files.append(File.generated(config, path, content=f"# {title}\n\n::: {room}\n"))
    files.append(File.generated(config, "demo.png", content=opening()))
    for number, picture in enumerate(pictures(Path(config.docs_dir, "gallery.md"))):
        name = f"gallery/{number}.png"  # the first block draws nothing
        files.append(File.generated(config, name, content=picture))
    trials = File.generated(config, TRIALS, abs_src_path=f"{config.docs_dir}/reproduction.html")
    files.append(trials)
    return files


def opening() -> bytes:
    """The picture of the start page: what `amongst demo` opens with."""
    from matplotlib.figure import Figure

    from amongst.bench.demo import draw_rows, find_labels

    sheet, file = Figure(figsize=(9.5, 9.2)), io.BytesIO()
    sheet.set_layout_engine("constrained", h_pad=0.2)
    draw_rows(sheet, find_labels(rows=800, epochs=20, ensemble=2))
    sheet.savefig(file, format="png", dpi=100)
    return file.getvalue()


def pictures(page: Path) -> Iterator[bytes]:
    """What each block of the page draws, as PNG; the blocks share their names."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    shared: dict[str, Any] = {}
    for text in BLOCK.findall(page.read_text("utf-8")):
        exec(compile(text, page.name, "exec"), shared)
        file = io.BytesIO()
        pyplot.gcf().savefig(file, dpi=110, bbox_inches="tight")
        pyplot.close("all")
        yield file.getvalue()


def on_post_page(output: str, **kwargs: object) -> str:
    """What the theme leaves without a name has one, and a head without words is no head."""
    search = 'data-md-component="search" role="dialog"'
    output = output.replace(search, f'{search} aria-label="Search"')
    return EMPTY.sub(r"<td\1></td>", output)


def on_page_markdown(markdown: str, **kwargs: object) -> str:
    """Lead to the reproduction's other page by the name that it has here."""
    return markdown.replace("](reproduction.html)", f"]({TRIALS})")
