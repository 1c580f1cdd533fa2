"""What all neural estimators share: settings, scaling, training, scores and the saved form."""

from __future__ import annotations

import copy
import math
import os
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from amongst.archive import Arrays
from amongst.candidates import CandidateSets
from amongst.checks import check_integer
from amongst.datasets import fit_scaling
from amongst.engine import (
    Features,
    Settings,
    Training,
    TrainingData,
    as_device,
    predict_scores,
    split_seed,
    start,
    train,
    training_data,
)
from amongst.engine.checkpoint import Keeper, fingerprint, kept_seed, load_checkpoint
from amongst.engine.precision import products_in
from amongst.engine.progress import training_bar
from amongst.errors import InputError
from amongst.estimators.base import (
    Floats,
    KeptInterrupt,
    PartialLabelClassifier,
    check_row_size,
)
from amongst.estimators.importance import row_importance
from amongst.estimators.several import Trained, best_init
from amongst.methods import Method, get_protocol
from amongst.models import DENSE, MODELS, ModelSpec, build_model
from amongst.rng import Seed, as_seed

__all__ = ["NeuralClassifier"]

SMALLEST_BATCH, LARGEST_BATCH, STEPS = 16, 256, 32
"""What ``batch_size="auto"`` keeps to: its limits, and the least number of steps in an epoch."""

BRIGHT = 128
"""Rows of bytes none of which reaches this grey are counts, zeros and ones, not pixels."""


class NeuralClassifier(PartialLabelClassifier):
    """A network trained on candidate sets; subclasses name the method.

    Parameters
    ----------
    model : ``"mlp"``, ``"linear"``, ``"convnet"`` (X of shape (n, C, H, W)), a callable
        ``(in_shape, n_classes) -> nn.Module``, or a module that maps a batch to (B, K) scores.
    epochs : passes over the rows.
    batch_size : rows a step; ``"auto"`` takes 256, or fewer where that leaves an epoch fewer than
        32 steps (at least 16). Where a protocol is named, it takes the paper's 256.
    lr, weight_decay : of the optimiser; None for the method's own.
    optimizer : ``"sgd"`` (momentum 0.9) or ``"adam"``; None for the method's own.
    schedule : ``"cosine"``, ``"exponential"``, ``"halving"``, ``"proden"`` or ``"constant"``; None
        for cosine, or for that of the protocol where one is named.
    protocol : ``"default"``, ``"paper"`` or ``"official"``; see `amongst.methods.PROTOCOLS`.
    scaling : ``"auto"`` brings pixels to [0, 1] (uint8 images, and rows of an array of uint8 that
        reach 128) and standardises other features (fitted on the rows of `fit`); None leaves them.
    device : ``"auto"``, ``"cpu"``, ``"cuda"``, …
    precision : ``"float32"``, or ``"bf16"`` on a GPU.
    random_state : int, NumPy generator or None.
    n_init : how many seeds to train from, together where the network allows it; the one with the
        best approximated accuracy on the training rows, which needs candidate sets only, is kept.
    checkpoint : file to keep the run in; `fit` goes on from it if it is there.
    verbose : whether to show a progress bar.

    Attributes
    ----------
    history_ : DataFrame, one row for each epoch.
    model_ : the trained module; it expects features as (X − shift_) / scale_.
    shift_, scale_ : what `scaling` fitted; None without.
    settings_ : the settings that were used.
    init_scores_ : approximated accuracy from each seed, shape (n_init,), NaN where training
        diverged; with n_init > 1 only.

    Examples
    --------
    >>> from amongst.estimators import PRODENClassifier
    >>> model = PRODENClassifier(model="linear", epochs=3).fit([[0.], [1.]], ["a|b", "b"])
    >>> model.predict_proba([[0.], [1.]]).shape, model.history_.columns.tolist()
    ((2, 2), ['epoch', 'lr', 'loss', 'covering', 'seconds'])
    """

    method: ClassVar[type[Method]]

    def __init__(
        self,
        *,
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
        self.model = model
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.schedule = schedule
        self.protocol = protocol
        self.scaling = scaling
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.n_init = n_init
        self.checkpoint = checkpoint
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: Any, sample_weight: Any = None) -> Self:
        """Learn from features and candidate sets; Ctrl-C keeps nothing where n_init > 1.

        Parameters
        ----------
        X, y : as for `PartialLabelClassifier.fit`.
        sample_weight : how much each row counts in the loss, shape (n,); only their ratios matter.
            A row of weight 0 is left out. None for all alike.
        """
        return self._fit_checked(X, y, sample_weight=sample_weight)

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Softmax of the scores, shape (n, K)."""
        scores = self._checked_scores(X)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        proba: Floats = weights / weights.sum(axis=1, keepdims=True)
        return proba

    @abstractmethod
    def _method(self, sets: CandidateSets) -> Method:
        """The method with this estimator's hyper-parameters, for these candidate sets."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets, sample_weight: Any = None) -> None:
        importance = row_importance(sample_weight, len(sets))
        if importance is not None:
            counting = importance > 0
            X, sets, importance = X[counting], sets[counting], importance[counting]
        settings, method = self._settings(len(sets)), self._method(sets)
        self.settings_ = settings
        self.__dict__.pop("init_scores_", None)
        self.shift_, self.scale_ = self._fit_scaling(X)
        if check_integer("n_init", self.n_init, low=1) > 1:
            run, self.settings_, self.init_scores_ = best_init(self, X, sets, settings, importance)
        else:
            run = self._train_one(X, sets, method, settings, importance)
        assert run.model is not None
        self.in_shape_ = tuple(X.shape[1:])
        self.model_ = run.model.to("cpu", torch.float32).eval()
        self.history_ = run.history
        self.n_iter_ = len(run.history)
        if self.n_init == 1 and self.n_iter_ < settings.epochs:
            self._stop(settings)

    def _train_one(
        self,
        X: npt.NDArray[Any],
        sets: CandidateSets,
        method: Method,
        settings: Settings,
        importance: Floats | None,
    ) -> Trained:
        data = training_data(self._features(X), sets, as_device(self.device), importance)
        data = data.seen_in(settings.precision)
        model = self._build(X.shape[1:], sets.n_classes, settings)
        run = self._run(model.to(data.features.device, data.features.dtype), data, method, settings)
        return Trained(run.model, run.history)

    def _run(
        self, model: torch.nn.Module, data: TrainingData, method: Method, settings: Settings
    ) -> Training:
        mark = fingerprint(data, method, settings, model) if self.checkpoint else ""
        keeper = Keeper(self.checkpoint, mark)
        state = start(model, data, method, settings)
        if self.checkpoint and Path(self.checkpoint).exists():
            load_checkpoint(self.checkpoint, state, mark, settings.epochs)
        with training_bar(method.title, settings.epochs, bool(self.verbose)) as move:

            def on_epoch(run: Training) -> None:
                keeper(run)
                move(run)

            if state.records:
                move(state)
            try:
                train(model, data, method, settings, training=state, on_epoch=on_epoch)
            except KeyboardInterrupt:
                if not keeper.restore(state):
                    raise
        keeper.write(state)
        return state

    def _stop(self, settings: Settings) -> None:
        onward = " Call fit again to go on." if self.checkpoint else ""
        raise KeptInterrupt(
            f"training was interrupted; the model of epoch {self.n_iter_} of {settings.epochs} is "
            f"kept.{onward}"
        )

    def _settings(self, n_rows: int) -> Settings:
        own = type(self).method
        return Settings(
            epochs=self.epochs,
            batch_size=self._batch_size(n_rows),
            lr=own.lr if self.lr is None else self.lr,
            weight_decay=own.weight_decay if self.weight_decay is None else self.weight_decay,
            optimizer=self.optimizer or own.optimizer,  # type: ignore[arg-type]
            schedule=self.schedule or self._schedule(),
            precision=self.precision,
            seed=self._seed(),
        )

    def _seed(self) -> int:
        """Where none is asked for, a kept run goes on with its own."""
        kept = kept_seed(self.checkpoint) if self.checkpoint and self.random_state is None else None
        return as_seed(self.random_state) if kept is None else kept

    def _batch_size(self, n_rows: int) -> int:
        """On few rows small batches generalise far better; on many, large ones are faster."""
        if isinstance(self.batch_size, str) and self.batch_size != "auto":
            raise InputError(
                f"batch_size={self.batch_size!r} must be 'auto' or a whole number of at least 1."
            )
        if self.batch_size != "auto":
            return check_integer("batch_size", self.batch_size, low=1)
        if self.protocol != "default":
            return LARGEST_BATCH
        return min(LARGEST_BATCH, max(SMALLEST_BATCH, n_rows // STEPS))

    def _schedule(self) -> str:
        """Cosine is the better one for a fixed number of epochs; a protocol has its own."""
        return "cosine" if self.protocol == "default" else get_protocol(self.protocol).schedule

    def _build(
        self, in_shape: tuple[int, ...], n_classes: int, settings: Settings
    ) -> torch.nn.Module:
        options = self._network_options()
        return build_model(self.model, in_shape, n_classes, split_seed(settings.seed)[0], **options)

    def _network_options(self) -> dict[str, Any]:
        """What the protocol says about a named network."""
        protocol = get_protocol(self.protocol)
        if self.model == "mlp":
            return {"widths": protocol.widths}
        if self.model == "convnet":
            return {"dropout_at_evaluation": protocol.dropout_at_evaluation}
        return {}

    def _fit_scaling(self, X: npt.NDArray[Any]) -> tuple[Any, Any]:
        if self.scaling is None:
            return None, None
        if self.scaling != "auto":
            raise InputError(
                f"scaling={self.scaling!r} is unknown; give 'auto', or None for features as they are."
            )
        fitted = fit_scaling(X, "unit" if _are_pixels(X) else "standard")
        return fitted.shift, fitted.scale

    def _features(self, X: npt.NDArray[Any]) -> Features:
        return Features.of(X, self.shift_, self.scale_)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        in_a_row = isinstance(self.model, str) and self.model in DENSE
        if in_a_row or np.ndim(self.shift_):
            check_row_size(X, math.prod(self.in_shape_))
        if in_a_row:
            X = X.reshape(-1, *self.in_shape_)
        device = as_device(self.device)
        # In float64 a row's score does not depend on the rows beside it; images stay in float32, and
        # so does a module of a person's own, which may hold tensors that do not follow.
        named = type(self.model_) in MODELS.values()
        exact = named and device.type == "cpu" and len(self.in_shape_) == 1
        dtype = torch.float64 if exact else torch.float32
        model = copy.deepcopy(self.model_).to(device, dtype)
        with products_in(self.settings_.precision):
            scores = predict_scores(model, self._features(X).to(device, dtype))
        return scores.cpu().numpy().astype(np.float64)

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays = {f"model/{name}": t.numpy() for name, t in self.model_.state_dict().items()}
        for name in ("shift_", "scale_"):
            if getattr(self, name) is not None:
                arrays[name] = np.asarray(getattr(self, name))
        facts = {
            "in_shape": list(self.in_shape_),
            "settings": self.settings_.to_dict(),
            "history": self.history_.to_dict("list"),
            "init_scores": getattr(self, "init_scores_", np.empty(0)).tolist(),
        }
        return arrays, facts

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.settings_ = Settings(**facts["settings"])
        self.in_shape_ = tuple(facts["in_shape"])
        self.shift_, self.scale_ = arrays.get("shift_"), arrays.get("scale_")
        self.history_ = pd.DataFrame(facts["history"])
        self.n_iter_ = len(self.history_)
        if facts.get("init_scores"):
            self.init_scores_ = np.array(facts["init_scores"])
        self.model_ = self._build(self.in_shape_, len(self.classes_), self.settings_)
        values = {
            name.removeprefix("model/"): torch.from_numpy(array.copy())
            for name, array in arrays.items()
            if name.startswith("model/")
        }
        self.model_.load_state_dict(values)
        self.model_.eval()


def _are_pixels(X: npt.NDArray[Any]) -> bool:
    """Whether bytes are grey values, not the zeros and ones or the small counts of a table."""
    return X.dtype == np.uint8 and (X.ndim > 2 or X.max() >= BRIGHT)
