"""The switches in which the paper's text and its official code differ, each by name."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from amongst.checks import check_choice
from amongst.methods.base import Refresh

__all__ = ["PROTOCOLS", "Protocol", "get_protocol"]


@dataclass(frozen=True)
class Protocol:
    """One way to run the paper's experiments.

    Attributes
    ----------
    initial : LW's starting weights, ``"paper"`` (1/|s|, 1/(K−|s|)) or ``"official"`` (1/K).
    refresh : when LW's weights change, ``"epoch"``, ``"post"`` or ``"same"``.
    widths : hidden layers of the MLP.
    schedule : LW's learning rate over time, a name of `amongst.engine.SCHEDULES`.
    report : ``"final"``, the accuracy after the last epoch, or ``"last10"``, the mean of the last
        ten epochs.
    dropout_at_evaluation : ConvNet only.
    validation : share of the training rows held out for the search.

    Examples
    --------
    >>> Protocol(report="final").validation
    0.1
    """

    initial: str = "paper"
    refresh: Refresh = "same"
    widths: tuple[int, ...] = (300, 300, 300, 300)
    schedule: str = "exponential"
    report: str = "last10"
    dropout_at_evaluation: bool = False
    validation: float = 0.1


PROTOCOLS = MappingProxyType(
    {
        "default": Protocol(),
        "paper": Protocol(refresh="epoch", schedule="halving", report="final"),
        "official": Protocol(
            initial="official",
            refresh="post",
            widths=(300, 301, 302, 303),
            dropout_at_evaluation=True,
            validation=0.0,
        ),
    }
)
"""``default`` takes new weights from the pass that gave the loss, which saves a forward pass;
``paper`` follows the text, ``official`` the published code."""


def get_protocol(protocol: str | Protocol) -> Protocol:
    """The protocol of that name; a `Protocol` passes through.

    >>> get_protocol("official").refresh
    'post'
    """
    if isinstance(protocol, Protocol):
        return protocol
    return PROTOCOLS[check_choice("protocol", protocol, PROTOCOLS)]
