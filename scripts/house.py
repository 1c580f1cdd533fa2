"""The size of the house: lines of each room, and the files that a call goes through.

python scripts/house.py            # the table that CONTRIBUTING.md shows
python scripts/house.py --write    # write it there
python scripts/house.py --files    # and the files that each call goes through
python scripts/house.py --check    # exit 1 if it is larger than the plan allows
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "amongst"
GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"
SHOWN = re.compile(r"\| room \|.*?Files of ours that a call goes through: [^\n]*", re.DOTALL)
KINDS = {".py", ".pyi", ".html", ".css", ".js", ".toml"}
ROOMS = {
    "candidates": "what is known about a row's label",
    "losses": "ψ, and losses as functions and as `nn.Module`s",
    "algorithms": "what learns: losses as values, and algorithms that own more; one file each",
    "models": "networks",
    "train": "one loop, data on the device, callbacks, checkpoints",
    "accel": "captured steps, stacked populations, kernels: the same answers, faster",
    "estimators": "the scikit-learn face, made from the registry; estimators without a network",
    "selection": "hyper-parameters without true labels",
    "data": "files in; features, candidates and truth out",
    "theory": "laws of sets, risks, β",
    "trust": "which rows and answers to believe, and how far",
    "bench": "trials, store, executors, tables, report",
    "review": "doubtful rows before a person, in the browser",
    "cli": "arguments in, calls out",
    "ground floor": "errors, checks, the registry, archives, small tools",
}
LARGEST, FIT_FILES, DISAMBIGUATE_FILES = 22_000, 15, 20


def lines() -> Counter[str]:
    """Lines of each room; old names of rooms count for the ground floor."""
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*"):
        if path.suffix in KINDS:
            room = path.relative_to(SOURCE).parts[0]
            room = room if room in ROOMS else "ground floor"
            found[room] += len(path.read_text("utf-8").splitlines())
    return found


def files_of(call: Callable[[], Any]) -> set[str]:
    """The files of ours in which a function runs during a call."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            seen.add(str(Path(name).relative_to(SOURCE)))

    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call()
    finally:
        sys.setprofile(None)
    return seen


def paths() -> dict[str, set[str]]:
    """The files that a fit in Python, and a command, go through."""
    from sklearn.datasets import load_iris

    from amongst import LWClassifier
    from amongst.candidates import uniform
    from amongst.cli import main

    X, y = load_iris(return_X_y=True)
    sets = uniform(y, 0.3, seed=0).to_lists()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "iris.csv")
        rows = [f"{a},{b},{'|'.join(map(str, s))}" for (a, b, *_), s in zip(X, sets, strict=True)]
        table.write_text("\n".join(["a,b,species", *rows]), "utf-8")
        model, out = str(Path(folder, "model")), str(Path(folder, "out.csv"))
        command = [
            str(table),
            "--candidates",
            "species",
            "--out",
            model,
            "--epochs",
            "2",
            "--quiet",
        ]

        def run(*words: str) -> None:
            with contextlib.suppress(SystemExit):
                main(list(words))

        run("fit", *command)
        return {
            "`LWClassifier().fit`": files_of(lambda: LWClassifier(epochs=2).fit(X, sets)),
            "`amongst disambiguate`": files_of(
                lambda: run("disambiguate", model, str(table), "--out", out)
            ),
        }


def table() -> str:
    """Rooms and their lines, and how many files each path touches."""
    found = lines()
    rows = [
        f"| `{r}` | {what} | {found[r]:,} |" for r, what in ROOMS.items() if r != "ground floor"
    ]
    rows.append(f"| ground floor | {ROOMS['ground floor']} | {found['ground floor']:,} |")
    rows.append(f"| together | | {found.total():,} |")
    told = ", ".join(f"{what} {len(files)}" for what, files in paths().items())
    head = "| room | its one job | lines |\n|---|---|--:|\n"
    return f"{head}{chr(10).join(rows)}\n\nFiles of ours that a call goes through: {told}."


if __name__ == "__main__":
    print(made := table())
    if "--write" in sys.argv:
        GUIDE.write_text(SHOWN.sub(lambda _: made, GUIDE.read_text("utf-8"), count=1), "utf-8")
    if "--files" in sys.argv:
        for what, files in paths().items():
            print(what, *sorted(files), sep="\n  ")
    if "--check" in sys.argv:
        fit, disambiguate = map(len, paths().values())
        sys.exit(lines().total() > LARGEST or fit > FIT_FILES or disambiguate > DISAMBIGUATE_FILES)
