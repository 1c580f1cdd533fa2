"""Networks: linear, MLP, ConvNet, and any `nn.Module`."""

from amongst.models.build import (
    DENSE,
    IMAGES,
    MODELS,
    ModelSpec,
    are_images,
    build_model,
    seeded,
)
from amongst.models.networks import MLP, PAPER_WIDTHS, ConvNet, Linear

__all__ = [
    "DENSE",
    "IMAGES",
    "MLP",
    "MODELS",
    "PAPER_WIDTHS",
    "ConvNet",
    "Linear",
    "ModelSpec",
    "are_images",
    "build_model",
    "seeded",
]
