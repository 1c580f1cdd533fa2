"""Candidate masks of many members, kept as bits and unpacked batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["PackedCandidates", "pack"]

_CODES = ((8, torch.uint8), (15, torch.int16), (31, torch.int32), (63, torch.int64))


@dataclass(frozen=True, eq=False)
class PackedCandidates:
    """S masks over n rows, and which of them each of M members uses.

    Attributes
    ----------
    codes : shape (S·n,), bit z of a code is [z ∈ s]; or bool of shape (S·n, K) beyond 63 classes.
    first : shape (M, 1), where each member's mask begins.
    n_classes : K.
    """

    codes: Tensor
    first: Tensor
    n_classes: int

    def of(self, index: Tensor, part: slice = slice(None)) -> Tensor:
        """Masks of rows (m, B) or (B,) of the features: bool, shape (m, B, K)."""
        found = self.codes[self.first[part] + index]
        if found.dtype == torch.bool:
            return found
        places = torch.arange(self.n_classes, device=found.device, dtype=torch.int64)
        return ((found.long().unsqueeze(-1) >> places) & 1).bool()


def pack(masks: Sequence[Tensor], device: torch.device | str = "cpu") -> PackedCandidates:
    """Pack the members' masks; equal objects are stored once.

    Parameters
    ----------
    masks : M bool tensors of shape (n, K).

    Examples
    --------
    >>> mask = torch.tensor([[True, False, True], [False, True, False]])
    >>> packed = pack([mask, mask])
    >>> packed.codes
    tensor([5, 2], dtype=torch.uint8)
    >>> packed.of(torch.tensor([[1], [0]]))[1]
    tensor([[ True, False,  True]])
    """
    distinct = {id(mask): mask for mask in masks}
    places = {key: position for position, key in enumerate(distinct)}
    n, k = masks[0].shape
    codes = torch.cat([_encode(mask.to(device)) for mask in distinct.values()])
    first = torch.tensor([[places[id(mask)] * n] for mask in masks], device=device)
    return PackedCandidates(codes, first, k)


def code_bytes(n_classes: int) -> int:
    """Bytes of memory that one row of one mask takes.

    >>> code_bytes(10), code_bytes(100)
    (2, 100)
    """
    return next((dtype.itemsize for top, dtype in _CODES if n_classes <= top), n_classes)


def _encode(mask: Tensor) -> Tensor:
    k = mask.shape[1]
    dtype = next((dtype for top, dtype in _CODES if k <= top), None)
    if dtype is None:
        return mask
    values = 2 ** torch.arange(k, device=mask.device, dtype=torch.int64)
    return (mask * values).sum(-1).to(dtype)
