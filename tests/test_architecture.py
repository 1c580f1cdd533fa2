"""The house: imports point down, and public names show how they are used."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import amongst

SOURCE = Path(amongst.__file__).parent
FLOORS = (
    (
        "errors",
        "checks",
        "rng",
        "optional",
        "processes",
        "threads",
        "defaults",
        "tensors",
        "wording",
        "atomic",
        "archive",
        "bars",
    ),
    ("candidates", "models", "stats"),
    ("losses", "datasets", "metrics"),
    ("theory",),
    ("methods",),
    ("engine",),
    ("estimators",),
    ("selection",),
    ("bench",),
    ("cli",),
    ("__main__",),
)
FLOOR_OF = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
GROUND = set(FLOORS[0])


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "amongst" and len(part) > 1} & set(FLOOR_OF)


def violations(room: str, imported: set[str]) -> list[str]:
    return [
        f"{room} imports {other}"
        for other in sorted(imported - {room})
        if FLOOR_OF[other] >= FLOOR_OF[room] and not {room, other} <= GROUND
    ]


MODULES = sorted(
    path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py"
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    assert room in FLOOR_OF, f"{room} stands on no floor: add it to FLOORS"
    assert violations(room, imported_rooms(ast.parse(path.read_text("utf-8")))) == []


def test_the_walk_catches_an_upward_and_a_sideways_import() -> None:
    upward = imported_rooms(ast.parse("from amongst.engine import train"))
    sideways = imported_rooms(ast.parse("from amongst import datasets"))
    assert violations("losses", upward | sideways) == [
        "losses imports datasets",
        "losses imports engine",
    ]


def test_ground_floor_has_no_cycle() -> None:
    """Each imports what stands before it in `FLOORS`."""
    for place, name in enumerate(FLOORS[0]):
        tree = ast.parse((SOURCE / f"{name}.py").read_text())
        assert imported_rooms(tree) <= set(FLOORS[0][:place])


PACKAGES = sorted(
    ".".join(("amongst", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.py")
    if path.parent != SOURCE and room_of(path) != "cli" and path.parent.name != "reproduction"
)
"""What is used from Python: not the command line, nor the pages that it makes."""


def examples(thing: object) -> bool:
    own = [thing, *(vars(thing).values() if inspect.isclass(thing) else ())]
    return any(">>>" in (inspect.getdoc(part) or "") for part in own)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_an_example(package: str) -> None:
    module = import_module(package)
    public = {name: getattr(module, name) for name in module.__all__}
    made = {n: t for n, t in public.items() if inspect.isclass(t) or inspect.isfunction(t)}
    assert [name for name, thing in made.items() if not examples(thing)] == []
