"""Networks: linear, MLP, ConvNet, networks for images, and any `nn.Module`."""

from amongst.models.images import WRN28, FastNet, ImageNetwork, ResNet18
from amongst.models.networks import (
    DENSE,
    IMAGES,
    MLP,
    MODELS,
    PAPER,
    PAPER_WIDTHS,
    ConvNet,
    Linear,
    ModelSpec,
    are_images,
    build_model,
    may_draw,
    recipe_of,
    seeded,
)

__all__ = [
    "DENSE",
    "IMAGES",
    "MLP",
    "MODELS",
    "PAPER",
    "PAPER_WIDTHS",
    "WRN28",
    "ConvNet",
    "FastNet",
    "ImageNetwork",
    "Linear",
    "ModelSpec",
    "ResNet18",
    "are_images",
    "build_model",
    "may_draw",
    "recipe_of",
    "seeded",
]
