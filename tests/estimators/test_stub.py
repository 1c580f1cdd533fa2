"""What editors and type checkers read of the estimators is what the registry has."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from amongst.estimators import ESTIMATORS, NeuralClassifier

SCRIPT = Path(__file__).parents[2] / "scripts" / "stubs.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stubs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_what_the_script_makes_of_the_registry(script: ModuleType) -> None:
    assert script.TARGET.read_text("utf-8") == script.stub()


@pytest.mark.parametrize(
    "name", ["CCClassifier", "CLPLClassifier", "LWClassifier", "PiCOClassifier"]
)
def test_a_class_has_the_parameters_and_defaults_of_the_real_one(
    name: str, script: ModuleType
) -> None:
    tree = ast.parse(script.TARGET.read_text("utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name).body
    own = {
        field.target.id: ast.literal_eval(field.value)  # type: ignore[arg-type, attr-defined]
        for field in body
        if isinstance(field, ast.AnnAssign)
    }
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    shared = inspect.signature(NeuralClassifier).parameters
    assert own == {
        n: p.default
        for n, p in parameters.items()
        if n not in shared or p.default != shared[n].default
    }
