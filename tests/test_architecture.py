"""The house of STYLE: imports point down, and rooms on one floor do not import each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import amongst

SOURCE = Path(amongst.__file__).parent
FLOORS = (
    ("errors", "checks", "rng", "optional", "archive"),
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
    assert violations(room, imported_rooms(ast.parse(path.read_text()))) == []


def test_the_walk_catches_an_upward_and_a_sideways_import() -> None:
    upward = imported_rooms(ast.parse("from amongst.engine import train"))
    sideways = imported_rooms(ast.parse("from amongst import datasets"))
    assert violations("losses", upward | sideways) == [
        "losses imports datasets",
        "losses imports engine",
    ]


def test_ground_floor_has_no_cycle() -> None:
    for name in GROUND:
        tree = ast.parse((SOURCE / f"{name}.py").read_text())
        assert imported_rooms(tree) <= {"errors"}
