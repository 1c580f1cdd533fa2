"""Networks: linear, MLP, ConvNet, and any `nn.Module`."""

from amongst.models.build import DENSE, MODELS, ModelSpec, build_model, seeded
from amongst.models.networks import MLP, PAPER_WIDTHS, ConvNet, Linear

__all__ = [
    "DENSE",
    "MLP",
    "MODELS",
    "PAPER_WIDTHS",
    "ConvNet",
    "Linear",
    "ModelSpec",
    "build_model",
    "seeded",
]
