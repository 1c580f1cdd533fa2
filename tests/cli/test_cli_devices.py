"""GPUs that are not here, no longer here, or full: one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from amongst import LWClassifier
from amongst.cli import main, saying

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    kinds = np.array(["owl", "kite", "owl|kite"])[np.arange(30) % 3]
    frame = pd.DataFrame({"wing": rng.normal(size=30), "tail": rng.normal(size=30)})
    frame.assign(bird=kinds).to_csv(tmp_path / "birds.csv", index=False)
    return tmp_path / "birds.csv"


@NO_GPU
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "cuda:x"])
@pytest.mark.parametrize(
    "words",
    [
        "fit {file} --out {folder}/model.amongst --quiet --epochs 1",
        "search {file} --quiet --epochs 1",
        "reproduce demo --seeds 1 --epochs 1 --store {folder}/runs.sqlite",
        "compare {file} --quick --seeds 1 --store {folder}/runs.sqlite",
    ],
)
def test_a_gpu_that_is_not_here_costs_one_line(
    words: str, device: str, birds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = words.format(file=birds, folder=birds.parent).split()
    assert run(*command, "--device", device) == 2
    (line,) = [text for text in capsys.readouterr().err.splitlines() if text.strip()]
    assert f"--device {device} cannot be used here (" in line
    assert "Use --device cpu, or --device auto." in line


@NO_GPU
@pytest.mark.parametrize("asked", ["predict", "disambiguate"])
def test_a_model_that_was_fitted_on_a_gpu_answers_without_one(asked: str, birds: Path) -> None:
    """The file remembers the device, and these commands have no option for another."""
    frame, out = pd.read_csv(birds), birds.parent / "model.amongst"
    fitted = LWClassifier(model="linear", epochs=2, device="cpu", random_state=0)
    fitted.fit(frame[["wing", "tail"]], frame["bird"]).set_params(device="cuda")
    fitted.save(out, metadata={"candidates": ["bird"]})
    assert run(asked, out, birds, "--out", birds.parent / "answer.csv") == 0
    answer = pd.read_csv(birds.parent / "answer.csv")
    assert answer["label"].isin(["owl", "kite"]).all()


def test_a_gpu_that_is_full_costs_one_line(birds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def full(_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    with pytest.raises(SystemExit) as ended:
        saying.run(full, ["fit", str(birds)])
    assert ended.value.code == 2
    assert "the GPU has not enough memory. Use a smaller --batch-size" in capsys.readouterr().err


@pytest.mark.parametrize("ask", [lambda: np.empty(1 << 60, "u1"), lambda: torch.empty(1 << 58)])
def test_a_machine_without_memory_costs_one_line(
    ask: Callable[[], object], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        saying.run(lambda _: ask(), ["fit"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "amongst: this machine has not enough memory for it."
    ]


def test_other_errors_stay_what_they_are() -> None:
    def broken(_: object) -> None:
        raise RuntimeError("a mistake of ours")

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        saying.run(broken, ["fit"])
