"""docs/pytorch.md: Lightning and the Trainer of Transformers train as the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from amongst.losses import LWLoss

PAGE = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")
EPOCHS = 20


class Counted(LWLoss):
    """Knows how often each row's weights were set."""

    def __init__(self, candidates: Any) -> None:
        super().__init__(candidates)
        self.visits = torch.zeros(len(candidates), dtype=torch.int64)

    def update(self, scores: Tensor, index: Tensor, group: Any = None) -> None:
        super().update(scores, index, group)
        self.visits[index.cpu()] += 1


def ran(package: str) -> dict[str, Any]:
    """The names that the page's block of a package leaves, and the examples before it."""
    block = re.search(rf"```python\n# pip install {package}.*?\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(doctest.script_from_examples(PAGE[: block.start()]), names)
    names["LWLoss"] = Counted
    torch.manual_seed(0)
    exec(block[1], names)
    return names


def check_training(names: dict[str, Any]) -> None:
    model = names["model"].cpu().eval()
    hits = model(names["x"])["logits"].argmax(1) == torch.tensor(names["y"])
    assert hits.float().mean() > 0.8
    assert (model.criterion.visits == EPOCHS).all()


def test_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightning", reason="pip install lightning to run this")
    monkeypatch.chdir(tmp_path)
    names = ran("lightning")
    check_training(names)
    names["trainer"].save_checkpoint("saved.ckpt")
    saved = torch.load("saved.ckpt", weights_only=False)["state_dict"]
    assert torch.equal(saved["model.criterion.weights"].cpu(), names["model"].criterion.weights)


def test_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers", reason="pip install transformers accelerate to run this")
    pytest.importorskip("accelerate", reason="pip install transformers accelerate to run this")
    monkeypatch.chdir(tmp_path)
    names = ran("transformers")
    check_training(names)
    names["trainer"].save_model("saved")
    model, saved = names["model"], load_file("saved/model.safetensors")
    assert torch.equal(saved["criterion.weights"], model.criterion.weights)
    torch.testing.assert_close(torch.tensor(names["scores"]), model(names["x"])["logits"].detach())
