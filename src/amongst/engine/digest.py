"""Digests of what a run depends on: a checkpoint knows by them whose it is."""

from __future__ import annotations

import hashlib
import json

import torch
from torch import Tensor, nn

__all__ = ["digest_of", "mark_of_model"]


def digest_of(*parts: str | Tensor | None) -> str:
    """A digest of texts and tensors, the same wherever the tensors are.

    >>> one, two = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    >>> digest_of("x", one) == digest_of("x", one.clone()), digest_of(one) == digest_of(two)
    (True, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Tensor):
            digest.update(f"{part.dtype}{tuple(part.shape)}".encode())
            flat = part.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy().data)
        else:
            digest.update(json.dumps(part).encode())
    return digest.hexdigest()


def mark_of_model(model: nn.Module) -> str:
    """A digest of a network as it is: layers, values, and which of them are trained."""
    parts: list[str | Tensor] = [repr(model)]
    for name, parameter in model.named_parameters():
        parts += [f"{name} {parameter.requires_grad}", parameter]
    for name, buffer in model.named_buffers():
        parts += [name, buffer]
    return digest_of(*parts)
