"""Neural estimators: one class for each method, with the method's own parameters."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from amongst.candidates import CandidateSets
from amongst.checks import check_number
from amongst.errors import InputError
from amongst.estimators.neural import NeuralClassifier
from amongst.losses import get_psi
from amongst.methods import CC, CLPL, LW, PRODEN, RC, Average, Method, get_protocol
from amongst.models import ModelSpec
from amongst.rng import Seed
from amongst.theory import auto_beta, is_shift_invariant

__all__ = [
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "LWClassifier",
    "PRODENClassifier",
    "RCClassifier",
]


class _Plain(NeuralClassifier):
    """The method takes the parameters of the same names, as they are."""

    def _method(self, sets: CandidateSets) -> Method:
        own = {field.name: getattr(self, field.name) for field in fields(self.method)}
        return self.method(**own)


class RCClassifier(_Plain):
    """RC, the risk-consistent method (Feng et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> RCClassifier(model="linear", epochs=5).fit([[0.], [1.], [2.]], ["a|b", "b", "a"]).classes_
    array(['a', 'b'], dtype='<U1')
    """

    method = RC


class CCClassifier(_Plain):
    """CC, the classifier-consistent method (Feng et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> CCClassifier(model="linear", epochs=5).fit([[0.], [1.], [2.]], ["a|b", "b", "a"]).classes_
    array(['a', 'b'], dtype='<U1')
    """

    method = CC


class PRODENClassifier(_Plain):
    """PRODEN, progressive identification (Lv et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> model = PRODENClassifier(model="linear", epochs=5).fit([[0.], [1.]], ["a|b", "b"])
    >>> model.n_iter_
    5
    """

    method = PRODEN


class LWClassifier(NeuralClassifier):
    """The Leveraged Weighted loss (ICML 2021): a classifier from candidate labels.

    Minimises Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z) over a network's scores g.

    Parameters
    ----------
    psi : ``"cross_entropy"`` by default, as in `LWLoss`; the function `leveraged_weighted` has
        ``"sigmoid"``. Or another trainable name of `amongst.losses.PSIS`.
    beta : ≥ 0, the leverage on non-candidates; or ``"auto"``, which reads it off the candidate
        sets (`amongst.theory.auto_beta`).
    alpha : ≥ 0, the factor on candidates.
    fade : in [0, 1], the share of β that is gone by the last epoch (`amongst.methods.LW`). None: 1
        for the cross-entropy form with ``beta="auto"``, else 0; and 0 where a protocol is named.
    model, epochs, … : see `NeuralClassifier`.

    Attributes
    ----------
    beta_ : the leverage that was used.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]] * 10)
    >>> y = ["cat|dog", "cat", "dog|cat", "dog"] * 10
    >>> model = LWClassifier(model="linear", epochs=50, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [1.1]]).tolist()
    ['cat', 'dog']
    >>> model.disambiguate(X[:1], y[:1])[["label", "runner_up"]]
      label runner_up
    0   cat       dog
    """

    method = LW

    def __init__(
        self,
        *,
        psi: str = "cross_entropy",
        beta: float | str = "auto",
        alpha: float = 1.0,
        fade: float | None = None,
        model: ModelSpec = "mlp",
        epochs: int = 100,
        batch_size: int | str = "auto",
        lr: float | None = None,
        weight_decay: float | None = None,
        optimizer: str | None = None,
        schedule: str | None = None,
        protocol: str = "default",
        scaling: str | None = "auto",
        device: str = "auto",
        precision: str = "float32",
        random_state: Seed = None,
        n_init: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(**_common(locals()))
        self.psi = psi
        self.beta = beta
        self.alpha = alpha
        self.fade = fade

    def _method(self, sets: CandidateSets) -> Method:
        protocol = get_protocol(self.protocol)
        get_psi(self.psi, trainable=True)
        self.beta_ = self._leverage(sets)
        start = protocol.initial, protocol.refresh
        return LW(self.psi, self.beta_, self.alpha, *start, self._fading())

    def _leverage(self, sets: CandidateSets) -> float:
        if not isinstance(self.beta, str):
            return check_number("beta", self.beta, low=0)
        if self.beta != "auto":
            raise InputError(f"beta={self.beta!r} must be 'auto' or a number of at least 0.")
        return auto_beta(sets, self.psi)

    def _fading(self) -> float:
        if self.fade is not None:
            return check_number("fade", self.fade, low=0, high=1)
        ours = self.protocol == "default" and self.beta == "auto"
        return 1.0 if ours and is_shift_invariant(self.psi) else 0.0


class AverageClassifier(_Plain):
    """The mean of ψ over the candidates (Jin & Ghahramani 2002): the simplest baseline.

    Parameters
    ----------
    psi : name of a trainable binary loss.
    model, epochs, … : see `NeuralClassifier`.

    Examples
    --------
    >>> AverageClassifier(model="linear", epochs=5).fit([[0.], [1.]], ["a|b", "b"]).n_iter_
    5
    """

    method = Average

    def __init__(
        self,
        *,
        psi: str = "cross_entropy",
        model: ModelSpec = "mlp",
        epochs: int = 100,
        batch_size: int | str = "auto",
        lr: float | None = None,
        weight_decay: float | None = None,
        optimizer: str | None = None,
        schedule: str | None = None,
        protocol: str = "default",
        scaling: str | None = "auto",
        device: str = "auto",
        precision: str = "float32",
        random_state: Seed = None,
        n_init: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(**_common(locals()))
        self.psi = psi


class CLPLClassifier(_Plain):
    """CLPL (Cour et al. 2011): candidates against non-candidates.

    Parameters
    ----------
    psi : name of a trainable binary loss; ``"squared_hinge"`` by default, as Cour has it.
    form : ``"mean"`` by default, Cour's own; `CLPLLoss` and `amongst.methods.CLPL` have ``"max"``,
        as the LW paper writes it.
    model : ``"linear"`` by default, as in the original.
    epochs, … : see `NeuralClassifier`.

    Examples
    --------
    >>> CLPLClassifier(epochs=5).fit([[0.], [1.]], ["a|b", "b"]).n_iter_
    5
    """

    method = CLPL

    def __init__(
        self,
        *,
        psi: str = "squared_hinge",
        form: str = "mean",
        model: ModelSpec = "linear",
        epochs: int = 100,
        batch_size: int | str = "auto",
        lr: float | None = None,
        weight_decay: float | None = None,
        optimizer: str | None = None,
        schedule: str | None = None,
        protocol: str = "default",
        scaling: str | None = "auto",
        device: str = "auto",
        precision: str = "float32",
        random_state: Seed = None,
        n_init: int = 1,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(**_common(locals()))
        self.psi = psi
        self.form = form


_OWN = {"self", "psi", "beta", "alpha", "fade", "form"}


def _common(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `NeuralClassifier` amongst those given to a subclass."""
    return {k: v for k, v in given.items() if k not in _OWN and not k.startswith("__")}
