"""What static tools cannot run: the estimators that are made from the registry, written as classes.

    python scripts/stubs.py

writes src/amongst/estimators/__init__.pyi, which editors and type checkers read in place of the code.
A test compares it with the registry.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from amongst.algorithms import METHODS, Recipe
from amongst.algorithms._base import hyper_parameters
from amongst.estimators import ESTIMATORS
from amongst.registry import ALGORITHMS

TARGET = Path(__file__).parents[1] / "src" / "amongst" / "estimators" / "__init__.pyi"

HEAD = '''"""Made by scripts/stubs.py from the registry: the estimators, for editors and type checkers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amongst.estimators.base import PartialLabelClassifier as PartialLabelClassifier
from amongst.estimators.by_algorithm import estimator_for as estimator_for
{classical}
from amongst.estimators.crowd import CrowdClassifier as CrowdClassifier
from amongst.estimators.neural import NeuralClassifier as NeuralClassifier
from amongst.estimators.partial_label import PartialLabel as PartialLabel
from amongst.estimators.persistence import load as load
from amongst.estimators.persistence import save as save
from amongst.estimators.pipelines import disambiguate as disambiguate

CLASSICAL: Mapping[str, Any]
ESTIMATORS: Mapping[str, type[PartialLabelClassifier]]

'''


def stub() -> str:
    """The whole text."""
    classical = [
        f"from {kind.__module__} import {name} as {name}"
        for name, kind in sorted(ESTIMATORS.items())
        if kind.__module__ != "amongst.estimators"
    ]
    own = [kind for name, kind in sorted(METHODS.items()) if ALGORITHMS.folder(name)]
    text = HEAD.format(classical="\n".join(classical))
    return text + "\n".join(map(_class, own)) + "\ndef __getattr__(name: str) -> Any: ...\n"


def _class(recipe: type[Recipe]) -> str:
    given = {n: d for n, d in hyper_parameters(recipe).items() if n not in recipe.switches}
    lines = [
        f"    {name}: {_type(recipe, name, default)} = {_text(default)}"
        for name, default in (given | dict(recipe.preset)).items()
    ]
    for name in recipe.chosen:
        lines.append(f"    @property\n    def {name}_(self) -> Any: ...")
    head = "@dataclass(kw_only=True, eq=False, repr=False)\n" if lines else ""
    about = [f'    """{recipe.title}: {recipe.reference}."""', *([""] if lines else [])]
    body = "\n".join([*about, *lines])
    return f"{head}class {recipe.__name__}Classifier(NeuralClassifier):\n{body}\n"


def _text(default: object) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _type(recipe: type[Recipe], name: str, default: object) -> str:
    fields = recipe.__dataclass_fields__  # type: ignore[attr-defined]
    declared = str(fields[name].type) if name in fields else "Any"
    kinds = [kind for kind in re.split(r"\s*\|\s*", declared) if kind != "Tensor"]
    own = "None" if default is None else type(default).__name__
    return " | ".join(dict.fromkeys([*kinds, own] if declared != "Any" else kinds))


if __name__ == "__main__":
    TARGET.write_text(stub(), "utf-8")
