"""A fitted network goes to ONNX by the recipe of docs/pytorch.md, and answers there as here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from amongst import LWClassifier
from amongst.candidates import uniform

WHY = "pip install onnx onnxscript onnxruntime to run this"


class Deployed(nn.Module):
    def __init__(self, fitted: LWClassifier) -> None:
        super().__init__()
        self.net = fitted.model_
        self.register_buffer("shift", torch.tensor(fitted.shift_))
        self.register_buffer("scale", torch.tensor(fitted.scale_))

    def forward(self, raw: Tensor) -> Tensor:
        return self.net(((raw - self.shift) / self.scale).float()).softmax(-1)  # type: ignore[no-any-return,operator]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("kind", ["linear", "mlp", "convnet"])
def test_a_fitted_network_answers_in_onnx(kind: str, tmp_path: Path) -> None:
    for name in ("onnx", "onnxscript"):
        pytest.importorskip(name, reason=WHY)
    runtime = pytest.importorskip("onnxruntime", reason=WHY)
    digits = load_digits()
    X = digits.data[:60]
    if kind == "convnet":
        X = np.kron(digits.images[:60], np.ones((4, 4)))[:, None]
    sets = uniform(digits.target[:60], q=0.3, seed=0, classes=range(10))
    fitted = LWClassifier(model=kind, epochs=2, random_state=0, device="cpu").fit(X, sets)
    rows = ({0: torch.export.Dim("rows")},)
    program = torch.export.export(
        Deployed(fitted).eval(), (torch.tensor(X[:2]),), dynamic_shapes=rows
    )
    torch.onnx.export(program, dynamo=True).save(tmp_path / "net.onnx")  # type: ignore[union-attr]
    session = runtime.InferenceSession(tmp_path / "net.onnx")
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(found, fitted.predict_proba(X), atol=1e-5)
