"""What the package says it needs is what it imports; optional packages fail late, in one sentence."""

from __future__ import annotations

import ast
import importlib
import os
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
from amongst.accel.population.result import population_bar
from amongst.bars import bar
from amongst.data.download import _bar
from amongst.errors import MissingDependencyError
from amongst.optional import DISTRIBUTIONS, optional_import
from amongst.train import TrainingBar

SOURCE = Path(amongst.__file__).parent
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
NAMES = DISTRIBUTIONS | {"sklearn": "scikit-learn"}
BROUGHT = {"triton": "torch", "urllib3": "requests", "sqlalchemy": "optuna"}
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
    stated += [*extras["search"], *extras["ray"], *extras["review"], *extras["timm"]]
    stated += extras["text"]
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


def test_the_wheel_alone_runs_the_first_example(tmp_path: Path) -> None:
    """Installed without this checkout: no file of it, such as a template, may be left out."""
    python, root = [sys.executable, "-m"], PROJECT.parent
    options = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    pip, asked = [*python, "pip"], {"capture_output": True, "text": True, "check": False}
    built = subprocess.run([*pip, "wheel", *options, "-w", str(tmp_path), str(root)], **asked)
    if built.returncode and re.search("hatchling|onnection", built.stderr):
        pytest.skip("the wheel cannot be built: pip reaches no index, which has hatchling")
    (wheel,) = tmp_path.glob("*.whl")
    place = tmp_path / "installed"
    subprocess.run([*pip, "install", *options, "--target", str(place), str(wheel)], check=True)
    listed = [path.relative_to(SOURCE) for path in SOURCE.rglob("*") if path.is_file()]
    assert {p for p in listed if p.suffix != ".pyc"} <= {
        path.relative_to(place / "amongst") for path in (place / "amongst").rglob("*")
    }
    page = (root / "README.md").read_text("utf-8")
    example = re.search(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert example
    told = "import amongst; print(amongst.__file__)"
    own = os.environ | {"PYTHONPATH": str(place), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    runs = [["-c", f"{example[1]}\n{told}"], ["-m", "amongst", "describe", "iris.csv"]]
    for words in runs:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=own, **asked)
        assert done.returncode == 0, done.stderr
        assert str(place) in done.stdout or "describe" in words


def test_licences_of_the_pinned_packages_ask_nothing_of_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`make audit` also asks for their known holes, for which it needs a network."""
    monkeypatch.syspath_prepend(PROJECT.parent / "scripts")
    audit = importlib.import_module("audit")
    found = audit.licences()
    assert {"torch", "numpy", "scikit-learn"} <= set(found)
    assert audit.unfit(found) == {}
    assert set(audit.unfit({"a": "MIT", "b": "GPL-3.0-only", "c": "LGPL-3.0-only", "d": ""})) == {
        "b",
        "d",
    }


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
    training = TrainingBar("LW", show=False)
    training.close()
    with (
        population_bar("LW", show=False),
        bar("pairs", 1, show=False),
        _bar(tmp_path / "a.part", 1, 0, show=False),
    ):
        pass
    assert capsys.readouterr().err == ""
