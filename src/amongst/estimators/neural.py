"""Neural estimators: one class for each method, around the engine for one model."""

from __future__ import annotations

import copy
import os
import warnings
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler

from amongst.archive import Arrays
from amongst.candidates import CandidateSets
from amongst.checks import check_choice, check_integer, check_number
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
from amongst.engine.checkpoint import Keeper, fingerprint, load_checkpoint
from amongst.engine.progress import training_bar
from amongst.errors import AmongstWarning
from amongst.estimators.base import Floats, PartialLabelClassifier
from amongst.estimators.several import Trained, best_init
from amongst.methods import CC, CLPL, LW, PRODEN, RC, Average, Method, get_protocol
from amongst.models import ModelSpec, build_model
from amongst.rng import Seed, as_seed
from amongst.theory import auto_beta

__all__ = [
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "LWClassifier",
    "NeuralClassifier",
    "PRODENClassifier",
    "RCClassifier",
]


class NeuralClassifier(PartialLabelClassifier):
    """A network trained on candidate sets; subclasses name the method.

    Parameters
    ----------
    model : ``"mlp"``, ``"linear"``, ``"convnet"`` (X of shape (n, C, H, W)), a callable
        ``(in_shape, n_classes) -> nn.Module``, or a module that maps a batch to (B, K) scores.
    epochs, batch_size : passes over the rows, and rows a step.
    lr, weight_decay : of the optimiser; None for the method's own.
    optimizer : ``"sgd"`` (momentum 0.9) or ``"adam"``; None for the method's own.
    schedule : ``"cosine"``, ``"exponential"``, ``"halving"``, ``"proden"`` or ``"constant"``; None
        for cosine, or for that of the protocol where one is named.
    protocol : ``"default"``, ``"paper"`` or ``"official"``; see `amongst.methods.PROTOCOLS`.
    scaling : ``"auto"`` brings uint8 to [0, 1] and standardises other features (fitted on the
        rows of `fit`); None leaves them.
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
    model_ : the trained module.
    settings_ : the settings that were used.
    init_scores_ : approximated accuracy from each seed, shape (n_init,), NaN where training
        diverged; with n_init > 1 only.
    """

    method: ClassVar[type[Method]]

    def __init__(
        self,
        *,
        model: ModelSpec = "mlp",
        epochs: int = 100,
        batch_size: int = 256,
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

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Softmax of the scores, shape (n, K)."""
        weights = self._plausibility(X)
        proba: Floats = weights / weights.sum(axis=1, keepdims=True)
        return proba

    @abstractmethod
    def _method(self, sets: CandidateSets) -> Method:
        """The method with this estimator's hyper-parameters, for these candidate sets."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        settings, method = self._settings(), self._method(sets)
        self.settings_ = settings
        self.shift_, self.scale_ = self._fit_scaling(X)
        if check_integer("n_init", self.n_init, low=1) > 1:
            run, self.settings_, self.init_scores_ = best_init(self, X, sets, settings)
        else:
            run = self._train_one(X, sets, method, settings)
        assert run.model is not None
        self.in_shape_ = tuple(X.shape[1:])
        self.model_ = run.model.to("cpu", torch.float32).eval()
        self.history_ = run.history
        self.n_iter_ = len(run.history)

    def _train_one(
        self, X: npt.NDArray[Any], sets: CandidateSets, method: Method, settings: Settings
    ) -> Trained:
        data = training_data(self._features(X), sets, as_device(self.device))
        data = _in_precision(data, settings)
        model = self._build(X.shape[1:], sets.n_classes, settings)
        run = self._run(model.to(data.features.device, data.features.dtype), data, method, settings)
        return Trained(run.model, run.history)

    def _run(
        self, model: torch.nn.Module, data: TrainingData, method: Method, settings: Settings
    ) -> Training:
        mark = fingerprint(data, method, settings) if self.checkpoint else ""
        keeper = Keeper(self.checkpoint, mark)
        state = start(model, data, method, settings)
        if self.checkpoint and Path(self.checkpoint).exists():
            load_checkpoint(self.checkpoint, state, mark)
        with training_bar(method.title, settings.epochs, bool(self.verbose)) as move:

            def on_epoch(run: Training) -> None:
                keeper(run)
                move(run)

            try:
                train(model, data, method, settings, training=state, on_epoch=on_epoch)
            except KeyboardInterrupt:
                if not keeper.restore(state):
                    raise
                self._warn_interrupted(state, settings)
        keeper.write(state)
        return state

    def _warn_interrupted(self, state: Training, settings: Settings) -> None:
        onward = " Call fit again to go on." if self.checkpoint else ""
        warnings.warn(
            f"training was interrupted; the model of epoch {state.epoch} of {settings.epochs} is "
            f"kept.{onward}",
            AmongstWarning,
            stacklevel=4,
        )

    def _settings(self) -> Settings:
        own = type(self).method
        return Settings(
            epochs=self.epochs,
            batch_size=self.batch_size,
            lr=own.lr if self.lr is None else self.lr,
            weight_decay=own.weight_decay if self.weight_decay is None else self.weight_decay,
            optimizer=self.optimizer or own.optimizer,  # type: ignore[arg-type]
            schedule=self.schedule or self._schedule(),
            precision=self.precision,
            seed=as_seed(self.random_state),
        )

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
        check_choice("scaling", self.scaling, ("auto",))
        if X.dtype == np.uint8:
            return None, np.float32(255)
        scaler = StandardScaler().fit(X.reshape(len(X), -1))
        shape = X.shape[1:]
        return scaler.mean_.reshape(shape), scaler.scale_.reshape(shape)

    def _features(self, X: npt.NDArray[Any]) -> Features:
        return Features.of(X, self.shift_, self.scale_)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        device = as_device(self.device)
        # In float64 a row's score does not depend on the rows beside it; images stay in float32.
        exact = device.type == "cpu" and len(self.in_shape_) == 1
        dtype = torch.float64 if exact else torch.float32
        model = copy.deepcopy(self.model_).to(device, dtype)
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


class RCClassifier(NeuralClassifier):
    """RC, the risk-consistent method (Feng et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> RCClassifier(model="linear", epochs=5).fit([[0.], [1.], [2.]], ["a|b", "b", "a"]).classes_
    array(['a', 'b'], dtype='<U1')
    """

    method = RC

    def _method(self, sets: CandidateSets) -> Method:
        return RC()


class CCClassifier(NeuralClassifier):
    """CC, the classifier-consistent method (Feng et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> CCClassifier(model="linear", epochs=5).fit([[0.], [1.], [2.]], ["a|b", "b", "a"]).classes_
    array(['a', 'b'], dtype='<U1')
    """

    method = CC

    def _method(self, sets: CandidateSets) -> Method:
        return CC()


class PRODENClassifier(NeuralClassifier):
    """PRODEN, progressive identification (Lv et al. 2020). Parameters: see `NeuralClassifier`.

    Examples
    --------
    >>> model = PRODENClassifier(model="linear", epochs=5).fit([[0.], [1.]], ["a|b", "b"])
    >>> model.n_iter_
    5
    """

    method = PRODEN

    def _method(self, sets: CandidateSets) -> Method:
        return PRODEN()


class LWClassifier(NeuralClassifier):
    """The Leveraged Weighted loss (ICML 2021): a classifier from candidate labels.

    Minimises Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z) over a network's scores g.

    Parameters
    ----------
    psi : ``"cross_entropy"``, ``"sigmoid"``, or another trainable name of `amongst.losses.PSIS`.
    beta : ≥ 0, the leverage on non-candidates; or ``"auto"``, which reads it off the candidate
        sets (`amongst.theory.auto_beta`).
    alpha : ≥ 0, the factor on candidates.
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
        model: ModelSpec = "mlp",
        epochs: int = 100,
        batch_size: int = 256,
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

    def _method(self, sets: CandidateSets) -> Method:
        protocol = get_protocol(self.protocol)
        self.beta_ = self._leverage(sets)
        return LW(self.psi, self.beta_, self.alpha, protocol.initial, protocol.refresh)

    def _leverage(self, sets: CandidateSets) -> float:
        if self.beta == "auto":
            return auto_beta(sets, self.psi)
        return check_number("beta", self.beta, low=0)


class AverageClassifier(NeuralClassifier):
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
        batch_size: int = 256,
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

    def _method(self, sets: CandidateSets) -> Method:
        return Average(self.psi)


class CLPLClassifier(NeuralClassifier):
    """CLPL (Cour et al. 2011): candidates against non-candidates.

    Parameters
    ----------
    psi : name of a trainable binary loss; Cour has ``"squared_hinge"``.
    form : ``"max"`` as the LW paper writes it, ``"mean"`` as Cour does.
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
        batch_size: int = 256,
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

    def _method(self, sets: CandidateSets) -> Method:
        return CLPL(self.psi, self.form)


_OWN = {"self", "psi", "beta", "alpha", "form"}


def _common(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `NeuralClassifier` amongst those given to a subclass."""
    return {k: v for k, v in given.items() if k not in _OWN and not k.startswith("__")}


def _in_precision(data: TrainingData, settings: Settings) -> TrainingData:
    if settings.precision != "float64":
        return data
    return TrainingData(data.features.to(data.features.device, torch.float64), data.inside)
