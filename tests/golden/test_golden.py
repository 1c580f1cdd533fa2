"""The house changed, its answers did not: values and files of the code of 2026-11-18."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import amongst
from amongst.bench.store import Store

HERE = Path(__file__).parent
FILES = HERE / "files"
VALUES: dict[str, Any] = json.loads((HERE / "values.json").read_text("utf-8"))
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text("utf-8"))


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return script("record").everything()  # type: ignore[no-any-return]


@pytest.mark.xdist_group("golden")
@pytest.mark.parametrize("name", [name for name in VALUES if name != "kind"])
def test_the_answer_is_what_it_was(name: str, now: dict[str, Any]) -> None:
    was, found = VALUES[name], now[name]
    if not isinstance(was, dict) or "digest" not in was:
        assert found == was
        return
    if VALUES["kind"] == now["kind"]:
        assert found == was
    assert np.allclose(found["sums"], was["sums"], rtol=1e-4, atol=1e-6)


MODELS = sorted(path.stem for path in FILES.glob("*.amongst"))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_then_answers_as_it_did(name: str) -> None:
    model = amongst.load(FILES / f"{name}.amongst")
    X, _ = script("make_files").rows()
    assert np.allclose(model.decision_function(X), EXPECTED[name], atol=1e-6)


@pytest.mark.parametrize("name", ["LWClassifier", "RCClassifier", "CCClassifier"])
def test_a_checkpoint_of_then_goes_on(name: str, tmp_path: Path) -> None:
    made = script("make_files")
    path = tmp_path / "run"
    shutil.copy(FILES / f"{name}.checkpoint", path)
    X, _ = made.rows()
    kind = getattr(amongst, name)
    model = kind(model="linear", epochs=6, random_state=0, checkpoint=path).fit(X, made.sets())
    kept = json.loads(json.dumps(model.history_["seconds"].tolist()))
    assert len(kept) == 6
    expected = EXPECTED[f"{name}.checkpoint"]
    assert np.allclose(model.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize("backend", ["eager", "alone"])
def test_a_population_of_then_goes_on(backend: str, tmp_path: Path) -> None:
    from amongst.engine import Features
    from amongst.engine.population import train_population

    made, seen = script("make_files"), []
    shutil.copytree(FILES / backend, tmp_path / backend)
    features = Features.of(made.rows()[0])
    result = train_population(
        features,
        made.members(),
        model="linear",
        device="cpu",
        backend=backend,
        checkpoint=tmp_path / backend,
        on_epoch=lambda progress: seen.append(progress.earlier),
    )
    assert seen[-1] == (16 if backend == "eager" else 4), "epochs that the files brought along"
    assert np.allclose(result.scores(features).numpy(), EXPECTED[backend], atol=1e-5)


def test_a_store_of_then_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    shutil.copy(FILES / "store.sqlite", path)
    with Store(path) as store:
        records = {record.trial.method: record for record in store.records()}
    assert {name: record.key for name, record in records.items()} == EXPECTED["store"]
    assert all(0 < record.metrics["accuracy_final"] <= 1 for record in records.values())
