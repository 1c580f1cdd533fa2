"""Known holes and licences of the versions in constraints.txt.

    python scripts/audit.py

Holes are pip-audit's affair, in an environment of its own; without a network they are skipped, and it
says so. A licence is what an installed package states; one that asks for our source is an error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "constraints.txt"
COPYLEFT = re.compile(r"(?<![Ll])(?<!Lesser )\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)


def pins() -> Iterator[tuple[str, str]]:
    """Name and version of each."""
    for line in PINS.read_text("utf-8").splitlines():
        if found := re.match(r"([\w.-]+)==([^\s;]+)", line):
            yield found[1], found[2]


def licences() -> dict[str, str]:
    """What each installed package of the pinned ones states, in a few words."""
    found = {}
    for name, _ in pins():
        try:
            told = metadata(name)
        except PackageNotFoundError:
            continue
        stated = [
            *(told.get_all("License-Expression") or []),
            "; ".join(c for c in told.get_all("Classifier") or [] if "License ::" in c),
            *(told.get_all("License") or []),
        ]
        text = next(filter(None, stated), "").replace("License :: OSI Approved :: ", "")
        found[name] = " ".join(text.split())[:80]
    return found


def unfit(found: dict[str, str]) -> dict[str, str]:
    """Those that state no licence, or one that would make its own demands on this package.

    >>> unfit({"a": "MIT", "b": "GPL-3.0-only", "c": "LGPL-2.1-or-later", "d": ""})
    {'b': 'GPL-3.0-only', 'd': ''}
    """
    return {n: text for n, text in found.items() if not text or COPYLEFT.search(text)}


def holes() -> list[str]:
    """What pip-audit knows of the pins; nothing, and a reason on the screen, where it reaches nobody."""
    quiet: dict[str, Any] = {"capture_output": True, "text": True, "check": False}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = [f"{folder}/bin/python", "-m"]
        subprocess.run([*python, "pip", "install", "--quiet", "pip-audit"], **quiet)
        line = [
            "pip_audit",
            "--requirement",
            str(PINS),
            "--no-deps",
            "--disable-pip",
            "--format=json",
        ]
        done = subprocess.run([*python, *line], **quiet)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        packages = []
    known = [package for package in packages if "vulns" in package]
    print(f"holes: {len(known)} of {len(list(pins()))} packages looked up" + ("" if known else
          "; skipped, for want of a network with PyPI and its list of holes"))  # fmt: skip
    return [f"{p['name']} {p['version']}: {hole['id']}" for p in known for hole in p["vulns"]]


def main() -> int:
    """Both; 1 where something was found."""
    found = licences()
    for text, times in Counter(found.values()).most_common():
        print(f"{times:>4} {text}")
    problems = [
        f"{name} states the licence {text or 'none'}" for name, text in unfit(found).items()
    ]
    problems += holes()
    print(*problems, sep="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
