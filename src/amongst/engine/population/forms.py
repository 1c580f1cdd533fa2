"""Which methods the loss kernel knows, and as what; every other one takes the portable path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from amongst.methods import CC, CLPL, LW, PRODEN, RC, Average, Method, Minimum

__all__ = ["LossForm", "form_of"]


@dataclass(frozen=True)
class LossForm:
    """A loss in the kernel's terms.

    Attributes
    ----------
    kind : where the weights of Eq. (3) come from: ``"stored"``, ``"uniform"`` (1/|s|), ``"best"``
        (all on the best candidate); or ``"consistent"``, −log Σ_{z∈s} p_z.
    psi : name of the binary loss.
    both : whether new weights are wanted outside s too.
    outside : whether the second term of Eq. (3) counts; β is 0 if not.

    Examples
    --------
    >>> form_of(CLPL())
    LossForm(kind='best', psi='squared_hinge', both=False, outside=True)
    """

    kind: str
    psi: str = "cross_entropy"
    both: bool = False
    outside: bool = False


@singledispatch
def form_of(method: Method) -> LossForm | None:
    """The form of a method, or None where the kernel does not know it.

    >>> form_of(LW(psi="sigmoid")).kind
    'stored'
    """
    return None


@form_of.register
def _(method: LW) -> LossForm:
    return LossForm("stored", method.psi, both=True, outside=True)


@form_of.register
def _(method: PRODEN) -> LossForm:
    return LossForm("stored")


@form_of.register
def _(method: RC) -> LossForm:
    return LossForm("stored")


@form_of.register
def _(method: Average) -> LossForm:
    return LossForm("uniform", method.psi)


@form_of.register
def _(method: Minimum) -> LossForm:
    return LossForm("best", method.psi)


@form_of.register
def _(method: CLPL) -> LossForm | None:
    return LossForm("best", method.psi, outside=True) if method.form == "max" else None


@form_of.register
def _(method: CC) -> LossForm:
    return LossForm("consistent")
