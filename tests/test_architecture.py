"""The house: imports point down, and public names show how they are used."""

from __future__ import annotations

import ast
import inspect
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import amongst

SOURCE = Path(amongst.__file__).parent
FLOORS = (
    (
        "wording",
        "errors",
        "checks",
        "optional",
        "processes",
        "devices",
        "registry",
        "files",
        "bars",
        "markup",
    ),
    ("candidates", "models", "stats"),
    ("losses", "data", "metrics"),
    ("theory", "trust"),
    ("algorithms",),
    ("train",),
    ("accel",),
    ("estimators",),
    ("selection",),
    ("bench", "review"),
    ("cli",),
    ("__main__", "methods", "datasets", "engine"),
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
    upward = imported_rooms(ast.parse("from amongst.train import train"))
    sideways = imported_rooms(ast.parse("from amongst import data"))
    assert violations("losses", upward | sideways) == [
        "losses imports data",
        "losses imports train",
    ]


def module_name(path: Path) -> str:
    parts = ["amongst", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(tree: ast.AST, modules: set[str]) -> set[str]:
    """What the code imports when it runs, inside functions too; not what only types name."""
    typed = [
        n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)
    ]
    left_out = {id(inner) for block in typed for node in block.body for inner in ast.walk(node)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else str(node.module) for name in names}
    return found & modules


def cycle(graph: dict[str, set[str]]) -> tuple[str, ...]:
    """Nodes of one cycle; none where there is no cycle."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def test_no_modules_import_each_other() -> None:
    """Over all rooms, so that rooms are in no cycle either."""
    paths = {module_name(path): path for path in SOURCE.rglob("*.py")}
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in paths.items()}
    graph = {name: imported_modules(tree, {*paths}) - {name} for name, tree in trees.items()}
    assert sum(map(len, graph.values())) > 500
    assert cycle(graph) == ()


def test_a_cycle_inside_a_function_is_seen() -> None:
    late = ast.parse("def f():\n    from amongst.b import g")
    typed = ast.parse("if TYPE_CHECKING:\n    from amongst import a")
    modules = {"amongst.a", "amongst.b"}
    assert imported_modules(late, modules) == {"amongst.b"}
    assert imported_modules(typed, modules) == set()
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


def test_ground_floor_has_no_cycle() -> None:
    """Each imports what stands before it in `FLOORS`."""
    for place, name in enumerate(FLOORS[0]):
        tree = ast.parse((SOURCE / f"{name}.py").read_text())
        assert imported_rooms(tree) <= set(FLOORS[0][:place])


ROOMS = {path.parent for path in SOURCE.rglob("__init__.py")} | {
    SOURCE / "metrics",
    SOURCE / "stats",
}
PACKAGES = sorted(
    ".".join(("amongst", *path.relative_to(SOURCE).parts))
    for path in ROOMS
    if path != SOURCE and path.name != "cli"
)
"""What is used from Python: not the command line."""


def examples(thing: object) -> bool:
    own = [thing, *(vars(thing).values() if inspect.isclass(thing) else ())]
    return any(">>>" in (inspect.getdoc(part) or "") for part in own)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_an_example(package: str) -> None:
    module = import_module(package)
    own = [n for n, t in vars(module).items() if getattr(t, "__module__", "") == package]
    listed = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
    public = {name: getattr(module, name) for name in listed}
    made = {n: t for n, t in public.items() if inspect.isclass(t) or inspect.isfunction(t)}
    assert [name for name, thing in made.items() if not examples(thing)] == []
