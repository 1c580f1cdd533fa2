"""The pages of the reproduction, from committed evidence alone.

`found` reads a folder of evidence, `study` a study beside it; `sheet` judges a table's cells,
`below`, `gaps`, `gains`, `margins`, `ranks`, `rounds` and `cost` say what came out; `findings`,
`text`, `cost_text` and `page` put it into words; `pages` writes the files.
"""

from lw2021.reproduction.found import Reproduction
from lw2021.reproduction.pages import (
    reproduction_html,
    reproduction_markdown,
    write_pages,
)

__all__ = ["Reproduction", "reproduction_html", "reproduction_markdown", "write_pages"]
