"""Tensors of PyTorch at the doors that read with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from amongst import LWClassifier, as_candidates
from amongst.candidates import instance_dependent
from amongst.checks import on_host

X = torch.linspace(0, 1, 12).reshape(6, 2)
SETS = as_candidates([[0], [0, 1], [1], [1], [0, 1], [0]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn])
def test_numbers_that_numpy_has_no_type_for(dtype: torch.dtype) -> None:
    assert np.array_equal(np.asarray(on_host(X.to(dtype))), X.to(dtype).float().numpy())


def test_features_and_probabilities_in_bfloat16() -> None:
    """As an embedding comes from a large network: an error of PyTorch, or a misleading one of ours."""
    half = X.bfloat16()
    model = LWClassifier(model="linear", epochs=1, random_state=0).fit(half, SETS)
    assert np.array_equal(model.predict_proba(half), model.predict_proba(half.float()))
    drawn = [instance_dependent([0, 1] * 3, p, seed=0) for p in (half, half.float().numpy())]
    assert drawn[0] == drawn[1]
