"""What the library says to Python, said to a person at the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["FITTED", "worded"]

OPTIONS = (
    "alpha|batch|batch_size|beta|candidates|checkpoint|condition|conditions|criterion|datasets|device|"
    "engine|epochs|features|folds|ignore|index|keep|kind|lr|method|methods|metric|model|models|out|precision|protocol|"
    "psi|random_state|ray_address|screen|search|search_seeds|seed|seeds|separator|study|study_name|trials|truth|validation|"
    "weight_decay|workers"
)

RENAMED = {"random_state": "seed", "condition": "conditions"}
"""Arguments whose option has another name."""

Phrases = Iterable[tuple[str, str]]

PHRASES: Phrases = (
    (
        r"Encode them as numbers, name them in ignore=\S+ or choose columns with features=\S+",
        "Encode them as numbers, leave them out with --ignore, or choose columns with --features.",
    ),
    (
        r"(If ('[^']*') names the rows), pass index=\2",
        r"\1, leave it out, or name it by --index \2 of fit and search",
    ),
    (r"name it in candidates=…\.", "name it with --candidates."),
    (
        r"; name other keys, or None for candidates or truth that are not known",
        "; name others with --features, --candidates and --truth",
    ),
    (r"Pass features=…: ", "Name it with --features; it holds: "),
    (r"\b(quick|refit)=True", r"--\1"),
    (r"must be None, (a whole number .*), or a NumPy generator", r"must be \1"),
    (r", or reshape X", ""),
    (r"^ray_address (is for)", r"--ray-address \1"),
    (r"(give a file), or use load_image_folder for images", r"\1"),
    (r"^name=('.*?' is unknown)", r"\1"),
    (r"^path='(.*)' (has an unknown ending)", r"\1 \2"),
    (r"^path='(.*)' (must end in .parquet)", r"--export \1 \2"),
    (r"^path='(.*)' (must end in .png)", r"--plot \1 \2"),
    (r"name the column in ignore=\[…\]", "leave the column out with --ignore"),
    (
        r"; say which with features=\[…\]",
        ": all are named in --candidates, --truth, --index or --ignore",
    ),
    (r', or pass empty="full"', ", or pass --empty full if any label may be right"),
    (
        r"(\.mat: truth: .*), or pass outside=\"keep\" if the sets are noisy",
        r"\1, or leave --truth out and pass --ignore target",
    ),
    (r', or pass outside="keep" if the sets are noisy', ", or leave --truth out"),
    (r", or leave truth out", ", or leave --truth out"),
    (r"Pass as_candidates\(.*?\) if there are more", "Check the column and --separator"),
    (r"\by\[(\d+)\]", r"row \1"),
    (r"^y has one class", "the candidate labels have one class"),
    (r"^y has too few rows", "there are too few rows"),
    (r"^y mixes labels of different", "the candidate labels have different"),
    (r"^y holds labels such as", "the candidate labels include"),
    (r"^y holds (?=.* in \d+ columns)", "the table of candidates holds "),
    (r"\bRaise batch_size\b", "Raise --batch-size"),
    (r"(every candidate set) in y\b", r"\1"),
    (r"\b(use another) study_name", r"\1 --study-name"),
    (r"^(candidates|truth|features|index|ignore)(?= \(|:)", r"--\1"),
    (
        r"^overflow encountered in .*",
        "some feature values are too large to compute with; rescale them.",
    ),
)
"""Patterns, and what a person at the command line reads instead."""

FITTED: Phrases = (
    (r", or pass kind=\"labels\" if it is one label", ""),
    (r" If the columns are annotators, .*?\.", ""),
    (
        r"Encode them as numbers, name .*",
        "Encode them as in the file that the model was fitted on.",
    ),
    (r", drop the rows, or name the column in ignore=\[…\]", ", or drop the rows"),
    (
        r"is not in classes (\(.*\))\. Add it to classes, or correct the row",
        r"the model does not know \1. Correct the row, or fit again with rows that have it",
    ),
    (r"^features: (.* has no column '.*?')(?=[;.])", r"\1, which the model was fitted on"),
)
"""Where a model says which columns it needs, so that none can be left out."""


def worded(text: str, phrases: Phrases = PHRASES) -> str:
    """The message in one line, with options instead of Python's arguments.

    >>> worded("epochs=0 must be a whole number of at least 1.")
    '--epochs 0 must be a whole number of at least 1.'
    >>> worded("batch_size='x' is unknown; is separator=',' meant?")
    "--batch-size x is unknown; is --separator ',' meant?"
    """
    line = " ".join(text.split())
    for pattern, instead in phrases:
        line = re.sub(pattern, instead, line, flags=re.IGNORECASE)
    return re.sub(rf"(?<![\w-])({OPTIONS})=('[^']*'|[^\s,;:)]*[^\s,;:).])", _option, line)


def _option(found: re.Match[str]) -> str:
    name = RENAMED.get(found[1], found[1]).replace("_", "-")
    bare = found[2].strip("'\"")
    plain = re.fullmatch(r"[\w./:@+-]+", bare) is not None
    return f"--{name} {bare if plain else found[2]}"
