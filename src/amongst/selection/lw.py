"""LW with its own search: what `RidgeCV` is to `Ridge`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.estimators import LWClassifier, PartialLabelClassifier
from amongst.methods import LW
from amongst.models import ModelSpec
from amongst.rng import Seed
from amongst.selection.base import Search
from amongst.selection.criteria import get_criterion
from amongst.selection.result import SearchResult

__all__ = ["LWClassifierCV"]


class LWClassifierCV(Search):
    """LW that finds its learning rate, weight decay and β by held-out candidate sets.

    All points train as one population; see `PartialLabelSearchCV` for how they are judged.

    Parameters
    ----------
    lrs, weight_decays, betas : values to try; by default the paper's grid of 50 points. A β may
        also be ``"auto"``.
    psi, alpha, model, epochs, batch_size, optimizer, schedule, protocol, scaling, device,
    precision, n_init : of the `LWClassifier`; n_init counts for the last fit on all rows only.
    criterion, validation, engine, random_state, verbose : of the search.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, best_score_, cv_results_, result_ : see
        `PartialLabelSearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> model = LWClassifierCV(lrs=(0.1, 1e-5), betas=(1.0,), model="linear", epochs=5)
    >>> sorted(model.fit(X, y).best_params_)
    ['beta', 'lr', 'weight_decay']
    """

    def __init__(
        self,
        *,
        lrs: Sequence[float] = LW.grid["lr"],
        weight_decays: Sequence[float] = LW.grid["weight_decay"],
        betas: Sequence[float | str] = LW.grid["beta"],
        psi: str = "cross_entropy",
        alpha: float = 1.0,
        criterion: str = "risk",
        validation: float = 0.1,
        engine: str = "auto",
        model: ModelSpec = "mlp",
        epochs: int = 100,
        batch_size: int | str = "auto",
        optimizer: str | None = None,
        schedule: str | None = None,
        protocol: str = "default",
        scaling: str | None = "auto",
        device: str = "auto",
        precision: str = "float32",
        n_init: int = 1,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.lrs = lrs
        self.weight_decays = weight_decays
        self.betas = betas
        self.psi = psi
        self.alpha = alpha
        self.criterion = criterion
        self.validation = validation
        self.engine = engine
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.schedule = schedule
        self.protocol = protocol
        self.scaling = scaling
        self.device = device
        self.precision = precision
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _template(self) -> PartialLabelClassifier:
        own = LWClassifier().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in own}
        return LWClassifier(**shared)

    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        criterion = get_criterion(self.criterion).name
        grid = {"lr": self.lrs, "weight_decay": self.weight_decays, "beta": self.betas}
        return self._search_grid(X, sets, grid, criterion)
