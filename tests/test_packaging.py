"""What the package says it needs is what it imports; optional packages fail late, in one sentence."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from rich.progress import Progress

import amongst
from amongst.bars import bar
from amongst.datasets.resumable import Resumable
from amongst.engine.population.progress import population_bar
from amongst.engine.progress import training_bar
from amongst.errors import MissingDependencyError
from amongst.optional import DISTRIBUTIONS, optional_import

SOURCE = Path(amongst.__file__).parent
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
NAMES = DISTRIBUTIONS | {"sklearn": "scikit-learn"}
BROUGHT = {"triton": "torch", "requests": "pooch", "urllib3": "pooch", "sqlalchemy": "optuna"}
"""Packages that a declared one cannot be without."""
BROKEN = {"typer": "0.18.0"}
"""Versions with which something fails: there, a list option that is left out is None."""


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
            yield ast.literal_eval(node.args[0])


def distributions() -> set[str]:
    """By the name they are installed by, what the source imports from elsewhere."""
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")]
    roots = {name.partition(".")[0] for tree in trees for name in imports(tree)}
    foreign = roots - set(sys.stdlib_module_names) - {"amongst"}
    return {BROUGHT.get(NAMES.get(name, name), NAMES.get(name, name)) for name in foreign}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    stated = [*project["dependencies"], *extras["plot"], *extras["data"]]
    stated += [*extras["search"], *extras["ray"]]
    declared = {re.split(r"[^\w-]", requirement)[0] for requirement in stated}
    assert declared == distributions()


def test_a_release_holds_what_is_committed_and_nothing_that_lies_beside() -> None:
    tool = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]
    stated = set(tool["hatch"]["build"]["targets"]["sdist"]["only-include"])
    where = ["git", "-C", str(PROJECT.parent), "ls-files"]
    listed = subprocess.run(where, capture_output=True, text=True) if shutil.which("git") else None
    if listed is None or not listed.stdout:
        pytest.skip("no git, or no checkout of this person's")
    committed = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert stated == committed - {".gitignore", "pyproject.toml"}  # which are always in it


def test_the_package_is_typed_and_says_its_version() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    assert (SOURCE / "py.typed").is_file()
    assert project["version"] == amongst.__version__


def test_a_version_that_fails_is_not_promised() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    needs = {need.name: need.specifier for need in map(Requirement, project["dependencies"])}
    assert not [name for name, version in BROKEN.items() if version in needs[name]]


def test_a_package_that_is_installed_but_broken_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_there.py").write_text("import json.no_such_part\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"'half_there', which fails \(.*reinstall"):
        optional_import("half_there", extra="plot", purpose="drawing")


def test_a_package_is_called_as_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(MissingDependencyError, match=r"'pillow', which is not installed.*\[data\]"):
        optional_import("PIL.Image", extra="data", purpose="reading images")


def test_bars_that_are_not_shown_print_nothing_with_every_rich(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before 14.3, a bar that was switched off ended with an empty line in a pipe."""
    monkeypatch.setattr(Progress, "stop", lambda progress: progress.console.print())
    with (
        training_bar("LW", epochs=1, show=False),
        population_bar("LW", show=False),
        bar("pairs", 1, show=False),
        Resumable(tmp_path / "a.part", None, progress=False)._bar(1, 0),
    ):
        pass
    assert capsys.readouterr().err == ""
