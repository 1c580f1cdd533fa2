"""Networks of timm, by name."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from amongst.errors import InputError
from amongst.models.images import SGD, ImageNetwork
from amongst.optional import optional_import

TIMM = "timm:"
"""Before the name of a network of timm."""

UNTRAINED = ":untrained"
"""After it, for one with random weights."""


class Timm(ImageNetwork):
    """The network that ``"timm:NAME"`` means, with its pre-trained weights, or with random ones by
    ``"timm:NAME:untrained"`` or `pretrained=False`; it normalises images of [0, 1] as it wants them. What has no pre-trained weights, or no way to the net, says so."""

    smallest = 1
    recipe = MappingProxyType(
        {
            **SGD,
            "batch_size": 64,
            "lr": 0.01,
            "weight_decay": 1e-4,
            "augment": "standard",
            "tta": "mirror",
        }
    )

    def __init__(
        self, spec: str, in_shape: Sequence[int], n_classes: int, pretrained: bool = True
    ) -> None:
        super().__init__(in_shape)
        name = spec.removeprefix(TIMM).removesuffix(UNTRAINED)
        pretrained = pretrained and not spec.endswith(UNTRAINED)
        timm: Any = optional_import("timm", extra="timm", purpose=f"the network {TIMM + name!r}")
        try:
            self.network = timm.create_model(
                name, pretrained=pretrained, num_classes=n_classes, in_chans=self.channels
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise InputError(
                f"cannot be made: {error}.",
                code="no-network",
                argument="model",
                got=TIMM + name,
                remedy=f"Use {TIMM + name + UNTRAINED!r} for random weights.",
            ) from error
        wanted = timm.data.resolve_model_data_config(self.network)
        if pretrained and len(wanted["mean"]) == self.channels:
            self.mean.copy_(torch.tensor(wanted["mean"]).view_as(self.mean))
            self.std.copy_(torch.tensor(wanted["std"]).view_as(self.std))
            self.ready.fill_(True)

    def scores(self, x: Tensor) -> Tensor:
        """Normalised images to scores (B, K)."""
        found: Tensor = self.network(x)
        return found
