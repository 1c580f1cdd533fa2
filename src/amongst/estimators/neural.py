"""What all neural estimators share: settings, scaling, training, scores and the saved form."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy.sparse import issparse
from scipy.special import softmax

from amongst.algorithms import Method, Recipe, get_protocol
from amongst.algorithms._base import hyper_parameters
from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_choice, check_integer
from amongst.data import fit_scaling, stratified_folds
from amongst.data.features import SparseFeatures
from amongst.devices import products_in
from amongst.errors import DivergenceError, InputError
from amongst.estimators.base import (
    Floats,
    KeptInterrupt,
    PartialLabelClassifier,
    check_row_size,
    class_importance,
    row_importance,
)
from amongst.estimators.ensemble import Trained, best_init
from amongst.files import Arrays, under
from amongst.models import DENSE, PAPER, ModelSpec, are_images, build_model, recipe_of
from amongst.models.features import Shifted
from amongst.models.networks import OURS, numbers_in
from amongst.models.pretrained import TIMM
from amongst.train import (
    Callback,
    Checkpoint,
    Features,
    Settings,
    Training,
    TrainingBar,
    TrainingData,
    Watch,
    as_device,
    predict_scores,
    split_seed,
    train,
    training_data,
)
from amongst.train.callbacks import EarlyStopping
from amongst.train.checkpoint import fingerprint, kept_seed
from amongst.train.doubts import doubted
from amongst.train.run import STEPWISE, Kept
from amongst.train.views import TTA, AtPrediction, Augment, Views, as_augment, augment_text

PARTS = 10
"""One of so many parts of the rows says when to stop, where `early_stopping` asks for it."""

LENGTH = 10.0
"""Of the rows of a sparse matrix, on average, as a network sees them: they are not moved to mean 0."""

BRIGHT = 128
"""Rows of bytes none of which reaches this grey are counts, zeros and ones, not pixels."""


SMALLEST_BATCH, LARGEST_BATCH, STEPS = 16, 256, 32
"""What ``batch_size="auto"`` keeps to: its limits, and the least number of steps in an epoch."""

RATES = ("lr", "weight_decay", "optimizer")
"""What an algorithm says about its training."""

OPTIONS = (*RATES, "schedule", "label_smoothing", "lookahead", "averaged")
"""Settings of training that a parameter of the same name replaces."""

KNOWN = frozenset(field.name for field in fields(Settings))
"""Of a recipe, what is a setting."""


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(PartialLabelClassifier):
    """A network trained on candidate sets; subclasses name the method.

    Parameters
    ----------
    model : ``"mlp"``, ``"linear"``; for images (n, C, H, W) ``"fastnet"``, ``"resnet18"``, ``"wrn28"``,
        ``"timm:NAME"``, ``"convnet"``; a callable ``(in_shape, n_classes) -> nn.Module``; or a module
        that maps a batch to (B, K) scores. What a network for images is trained with unless told is
        its own `recipe`, see `amongst.models.ImageNetwork`.
    epochs : passes over the rows.
    batch_size : rows a step; ``"auto"`` takes 256, or fewer where that leaves an epoch fewer than
        32 steps (at least 16). Where a protocol is named, it takes the paper's 256. Of a network
        for images, that of its recipe in place of 256.
    lr, weight_decay : of the optimiser; None for the recipe's, or the method's own.
    optimizer : ``"sgd"`` (momentum 0.9) or ``"adam"``; None for the method's own.
    schedule : ``"cosine"``, ``"exponential"``, ``"halving"``, ``"proden"``, ``"constant"`` or
        ``"triangle"``; None for cosine, for that of the protocol where one is named, or the recipe's.
    protocol : ``"default"``, ``"paper"`` or ``"official"``; see `amongst.algorithms.PROTOCOLS`.
    scaling : ``"auto"`` brings pixels to [0, 1] (uint8 images, and rows of an array of uint8 that
        reach 128), a sparse matrix to rows of length 10, and standardises other features (fitted on
        the rows of `fit`); None leaves them.
    device : ``"auto"``, ``"cpu"``, ``"cuda"``, …
    precision : ``"float32"``, or ``"bf16"`` on a GPU; ``"auto"`` takes that for networks with a recipe.
    random_state : int, NumPy generator or None.
    n_init : how many seeds to train from, together where the network allows it; the one with the
        best approximated accuracy on the training rows, which needs candidate sets only, is kept.
    checkpoint : file to keep the run in; `fit` goes on from it if it is there.
    verbose : whether to show a progress bar.
    widths : of the hidden layers of ``"mlp"``; None for the protocol's, four of 300. Of the groups of a
        network for images; None for its own, or on a CPU smaller ones.
    augment : views of images: a name or steps, see `amongst.train.views`; a callable that gives a view
        of a batch, such as one of torchvision's v2; None; ``"auto"`` for those of the recipe, and for
        a module of your own that is given images.
    tta : at prediction, the mean over ``"mirror"`` or ``"shifts"`` of an image, or None; ``"auto"`` for
        that of the recipe where training mirrors images.
    outside : the share of rows whose true label may be none of their candidates, or ``"auto"`` to find
        it; None takes every set at its word. See `amongst.train.doubts`.
    label_smoothing, lookahead, averaged : see `amongst.train.Settings`; None for the recipe's.
    class_weight : how much a row counts, by its classes: ``{class: weight}``, 1 for a class that is not
        there, or ``"balanced"`` for n / (K n_z), n_z being the rows that z has. A row with several
        candidates has the mean of theirs, by their weights where they have some.
    early_stopping : ends after so many epochs in which the mean of −log Σ_{z∈s} p_z on a tenth of the
        rows, which do not train, did not fall, and keeps the best epoch; None trains to the end.
    warm_start : whether `fit` goes on from the network that is there; scaling stays, too.

    Attributes
    ----------
    history_ : DataFrame, one row for each epoch.
    model_ : the trained module; it expects features as (X − shift_) / scale_.
    shift_, scale_ : what `scaling` fitted; None without.
    settings_ : the settings that were used.
    tta_ : the views at prediction that are used, or None.
    outside_, outside_temperature_ : with `outside`, the share of such rows, and the temperature at which
        it was found; see `amongst.trust.fit_outside`.
    init_scores_ : approximated accuracy from each seed, shape (n_init,), NaN where training
        diverged; with n_init > 1 only.

    Examples
    --------
    >>> from amongst.estimators import PRODENClassifier
    >>> model = PRODENClassifier(model="linear", epochs=3).fit([[0.], [1.]], ["a|b", "b"])
    >>> model.predict_proba([[0.], [1.]]).shape, model.history_.columns.tolist()
    ((2, 2), ['epoch', 'lr', 'loss', 'covering', 'seconds'])
    """

    method: ClassVar[type[Recipe]]
    uses_prior: ClassVar[bool] = True  # or the training says that its method does not

    model: ModelSpec = "mlp"
    epochs: int = 100
    batch_size: int | str = "auto"
    lr: float | None = None
    weight_decay: float | None = None
    optimizer: str | None = None
    schedule: str | None = None
    protocol: str = "default"
    scaling: str | None = "auto"
    device: str = "auto"
    precision: str = "auto"
    random_state: Seed = None
    n_init: int = 1
    checkpoint: str | os.PathLike[str] | None = None
    verbose: bool = False
    widths: tuple[int, ...] | None = None
    outside: float | str | None = None
    augment: Any = "auto"
    tta: str | None = "auto"
    label_smoothing: float | None = None
    lookahead: bool | None = None
    averaged: float | None = None
    class_weight: Mapping[Any, float] | str | None = None
    early_stopping: int | None = None
    warm_start: bool = False

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
        """Softmax of the scores, shape (n, K), at the temperature of `calibrate`."""
        return self._calibrated(softmax(self._checked_scores(X), axis=1))

    @property
    def _doubt(self) -> float | str | None:
        """`outside`, unless the algorithm has a hyper-parameter of that name."""
        return None if "outside" in hyper_parameters(type(self).method) else self.outside

    def in_lockstep(self) -> bool:
        """Whether a stack can train this network: there are stacked layers for it, its algorithm is a
        loss, and no subclass builds or trains in a way of its own.

        >>> from amongst import LWClassifier
        >>> LWClassifier().in_lockstep(), LWClassifier(model="convnet").in_lockstep()
        (True, False)
        """
        ways = ("_build", "_data", "_network_options", "_train")
        plain = all(getattr(type(self), n) is getattr(NeuralClassifier, n) for n in ways)
        plain = plain and self.augment in (None, "auto") and self.schedule not in STEPWISE
        plain = plain and not (self.label_smoothing or self.lookahead or self.averaged)
        plain = (
            plain and self._doubt is None and self.early_stopping is None and not self.warm_start
        )
        is_loss = issubclass(type(self).method, Method)
        return plain and is_loss and isinstance(self.model, str) and self.model in DENSE

    def lockstep_key(self) -> Hashable:
        """Estimators with one key can train as one cohort: one shape, one pace.

        >>> from amongst import LWClassifier
        >>> LWClassifier(lr=0.1).lockstep_key() == LWClassifier(beta=2.0).lockstep_key()
        True
        """
        shape = self.model, repr(self._network_options()), self.scaling
        return *shape, self.device, self.precision, self.epochs, self.batch_size

    def _method(self, sets: CandidateSets) -> Recipe:
        """The algorithm with this estimator's hyper-parameters, for these candidate sets."""
        kind = type(self).method
        own = [name for name in hyper_parameters(kind) if name not in kind.switches]
        given = {name: getattr(self, name) for name in own}
        made = kind.for_sets(sets, get_protocol(self.protocol), **given)
        for name in kind.chosen:
            setattr(self, f"{name}_", getattr(made, name))
        return made

    def _fit(self, X: Any, sets: CandidateSets, sample_weight: Any = None) -> None:
        importance = row_importance(sample_weight, len(sets))
        if self.class_weight is not None:
            by_class = class_importance(self.class_weight, sets, importance)
            importance = row_importance(by_class, len(sets))
        if importance is not None:
            counting = importance > 0
            X, sets, importance = X[counting], sets[counting], importance[counting]
        goes_on = self._goes_on(X)
        everything = X, sets
        if self.early_stopping is not None:
            rows, held = self._tenth(sets)
            X, sets = X[rows], sets[rows]
            importance = None if importance is None else importance[rows]
        settings = self._settings(len(sets))
        run: Trained | Training
        self.settings_ = settings
        for name in ("init_scores_", "outside_", "outside_temperature_"):
            self.__dict__.pop(name, None)
        if not goes_on:
            self.shift_, self.scale_ = self._fit_scaling(X)
        self.tta_ = self._views_at_prediction(X.shape[1:])
        method = self._method(sets)
        if check_integer("n_init", self.n_init, low=1) > 1:
            for alone in ("outside", "early_stopping", "warm_start"):
                value = self._doubt if alone == "outside" else getattr(self, alone)
                if value not in (None, False):
                    problem = "is for one network; leave it out, or train from one seed, n_init=1."
                    raise InputError(problem, code="one-init", argument=alone, got=value)
            X = X.toarray() if issparse(X) else X  # seeds train as one population
            kept = best_init(self, X, sets, settings, importance)
            run, self.settings_, self.init_scores_ = kept
        else:
            data = self._data(self._features(X), sets, settings, importance)
            looking = list[EarlyStopping]()
            if self.early_stopping is not None:
                out = everything[1][held]
                seen = self._data(self._features(everything[0][held]), out, settings).features
                inside = torch.from_numpy(out.to_mask())
                looking = [EarlyStopping(seen, inside, self.early_stopping)]
            run = self._run(data, method, settings, looking)
        self._keep(run, X)
        whole = self.n_init > 1 or any(early.ended for early in looking)
        if not whole and self.n_iter_ < settings.epochs:
            onward = " Call fit again to go on." if self.checkpoint else ""
            done = f"the model of epoch {self.n_iter_} of {settings.epochs} is kept.{onward}"
            raise KeptInterrupt(f"training was interrupted; {done}")

    def _goes_on(self, X: Any) -> bool:
        """Whether training begins with the network that is there, which must fit."""
        if not self.warm_start or not hasattr(self, "model_"):
            return False
        if (self.in_shape_, [*self._learnt]) != (tuple(X.shape[1:]), [*self.classes_]):
            problem = "goes on with the same features and classes only."
            remedy = "Take those of the first fit, or warm_start=False."
            raise InputError(problem, code="other-network", argument="warm_start", remedy=remedy)
        return True

    def _tenth(self, sets: CandidateSets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows that train, and those that say when to stop."""
        check_integer("early_stopping", self.early_stopping, low=1)
        problem = ""
        if self.checkpoint:
            problem = "keeps no checkpoint; leave one of them out."
        if len(sets) < PARTS:
            problem = f"needs {PARTS} rows, one of which does not train; here are {len(sets)}."
        if problem:
            raise InputError(problem, argument="early_stopping", got=self.early_stopping)
        return stratified_folds(sets, PARTS, as_seed(self.random_state) % 2**32)[0]

    def _run(
        self,
        data: TrainingData,
        method: Recipe,
        settings: Settings,
        callbacks: Sequence[Callback] = (),
    ) -> Training:
        """Train; at a lower rate where it diverges, nobody chose one, and the method says so."""
        free = self.lr is None and self.checkpoint is None
        for _ in range(type(self).method.slows if free else 0):
            self.settings_ = settings
            try:
                return self._train(data, method, settings, callbacks=callbacks)
            except DivergenceError:
                settings = replace(settings, lr=settings.lr / 10)
        self.settings_ = settings
        kept = self.checkpoint
        return self._train(data, method, settings, callbacks=callbacks, checkpoint=kept)

    def _keep(self, run: Trained | Training, X: npt.NDArray[Any]) -> None:
        """Hold what training left; X gives the shape of a row."""
        self.in_shape_ = tuple(X.shape[1:])
        self._built, self._learnt = self._network_options(), self.classes_
        assert run.model is not None
        self.model_ = run.model.to("cpu", torch.float32).eval()
        self.history_ = run.history
        self.n_iter_ = len(run.history)

    def _data(
        self,
        features: Features,
        sets: CandidateSets,
        settings: Settings,
        importance: Floats | None = None,
    ) -> TrainingData:
        """Features and candidate masks, where they train."""
        data = training_data(features, sets, as_device(self.device), importance)
        return data.seen_in(settings.precision)

    def _train(
        self,
        data: TrainingData,
        method: Recipe,
        settings: Settings,
        *,
        watch: Sequence[Watch] = (),
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Training:
        """One network from its initial weights, or from the checkpoint."""
        model = self._made(data, settings)
        if self.warm_start and hasattr(self, "model_"):
            there = self.model_
            there = there.network if isinstance(there, Shifted) else there
            model.load_state_dict(there.state_dict())
        augment = self._views_in_training(data.features.shape)
        if self._doubt is not None:
            data, found = doubted(data, method, settings, self._made, self._doubt, augment)
            self.outside_, self.outside_temperature_ = found.share, found.temperature
        looking: list[Callback] = [Kept()]
        if checkpoint:
            mark = fingerprint(data, method, settings, model, augment_text(augment))
            looking = [Checkpoint(checkpoint, mark)]
        looking += [TrainingBar(method.title)] if self.verbose else []
        looking += callbacks
        return train(model, data, method, settings, watch=watch, callbacks=looking, augment=augment)

    def _made(self, data: TrainingData, settings: Settings) -> torch.nn.Module:
        """A network with its initial weights, where the data are."""
        model = self._build(data.features.shape, data.n_classes, settings)
        return model.to(data.features.device, data.features.dtype)

    def _settings(self, n_rows: int) -> Settings:
        """Settings of a training on so many rows: those of the algorithm, the protocol and the
        network's recipe, and the parameters that replace them.

        >>> from amongst import LWClassifier
        >>> small, large = (LWClassifier(model="fastnet")._settings(n) for n in (3_200, 64_000))
        >>> small.batch_size, large.batch_size, round(large.lr / small.lr, 2), large.schedule
        (100, 1024, 3.2, 'triangle')
        """
        kept = kept_seed(self.checkpoint) if self.checkpoint and self.random_state is None else None
        seed = as_seed(self.random_state) if kept is None else kept
        recipe, size = recipe_of(self.model), self._batch_size(n_rows)
        used: dict[str, Any] = {name: getattr(type(self).method, name) for name in RATES}
        used |= {"schedule": "cosine", "precision": self.precision}
        if self.protocol != "default":
            used["schedule"] = get_protocol(self.protocol).schedule
        if self.precision == "auto":
            used["precision"] = "bf16" if recipe and self._on_gpu() else "float32"
        if recipe and self.optimizer in (None, recipe["optimizer"]):
            used |= {name: value for name, value in recipe.items() if name in KNOWN}
            used["lr"] *= (size / used.pop("batch_size")) ** 0.5
        given = {name: getattr(self, name) for name in OPTIONS}
        used |= {name: value for name, value in given.items() if value is not None}
        return Settings(epochs=self.epochs, batch_size=size, seed=seed, **used)

    def _batch_size(self, n_rows: int) -> int:
        """On few rows small batches generalise far better; on many, large ones are faster."""
        asked = self.batch_size
        if isinstance(asked, str) and asked != "auto":
            problem = "must be 'auto' or a whole number of at least 1."
            raise InputError(problem, code="no-such-number", argument="batch_size", got=asked)
        if asked != "auto":
            return check_integer("batch_size", asked, low=1)
        largest: int = recipe_of(self.model).get("batch_size", LARGEST_BATCH)
        if self.protocol != "default":
            return largest
        return min(largest, max(SMALLEST_BATCH, n_rows // STEPS))

    def _on_gpu(self) -> bool:
        return as_device(self.device).type == "cuda"

    def _build(
        self,
        in_shape: tuple[int, ...],
        n_classes: int,
        settings: Settings,
        options: Mapping[str, Any] | None = None,
    ) -> torch.nn.Module:
        options = self._network_options() if options is None else options
        return build_model(self.model, in_shape, n_classes, split_seed(settings.seed)[0], **options)

    def _network_options(self) -> dict[str, Any]:
        """Options of a named network: what the protocol, a recipe or a person says."""
        protocol, recipe, widths = get_protocol(self.protocol), recipe_of(self.model), self.widths
        if self.model == "mlp":
            return {"widths": protocol.widths if widths is None else tuple(widths)}
        if self.model == "convnet":
            return {"dropout_at_evaluation": protocol.dropout_at_evaluation}
        if not isinstance(self.model, str) or "cpu_widths" not in recipe:
            return {}
        if widths is None and not self._on_gpu():
            widths = recipe["cpu_widths"]
        return {} if widths is None else {"widths": tuple(widths)}

    def _views_in_training(self, shape: Sequence[int]) -> Augment | None:
        """What makes views of rows of this shape.

        >>> from amongst import LWClassifier
        >>> LWClassifier(model="fastnet")._views_in_training((3, 32, 32))
        Views(text='standard')
        """
        given, model = self.augment, self.model
        if not (isinstance(given, str) and given == "auto"):
            return as_augment(given)
        own = not isinstance(model, (str, *PAPER)) and model not in PAPER
        seen = own and shape[:1] in ((1,), (3,)) and are_images(shape, smallest=8)
        found = recipe_of(model).get("augment", "standard" if seen else None)
        if found is None:
            return None
        grey = len(shape) == 2 or shape[0] == 1
        return as_augment("glyphs" if grey else found)

    def _views_at_prediction(self, shape: Sequence[int]) -> str | None:
        augment = self._views_in_training(shape)
        if self.tta != "auto":
            return None if self.tta is None else check_choice("tta", self.tta, ("auto", *TTA))
        mirrors = isinstance(augment, Views) and augment.mirrors
        return recipe_of(self.model).get("tta") if mirrors else None

    def _fit_scaling(self, X: npt.NDArray[Any]) -> tuple[Any, Any]:
        if self.scaling is None:
            return None, None
        if self.scaling == "auto" and issparse(X):
            return None, _length(X) / LENGTH
        if self.scaling != "auto":
            raise InputError(
                f"scaling={self.scaling!r} is unknown; give 'auto', or None for features as they are."
            )
        fitted = fit_scaling(X, "unit" if _are_pixels(X) else "standard")
        return fitted.shift, fitted.scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _features(self, X: Any) -> Features:
        if issparse(X):
            return SparseFeatures.of_matrix(X, self.scale_)
        return Features.of(X, self.shift_, self.scale_, self._column_names())

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        in_a_row = isinstance(self.model, str) and self.model in DENSE
        if in_a_row or np.ndim(self.shift_) or recipe_of(self.model):
            check_row_size(X, math.prod(self.in_shape_))
        if in_a_row and not issparse(X):
            X = X.reshape(-1, *self.in_shape_)
        device = as_device(self.device)
        # In float64 a row's score does not depend on the rows beside it; images stay in float32, and
        # so does a module of a person's own, which may hold tensors that do not follow.
        core = self.model_.network if isinstance(self.model_, Shifted) else self.model_
        named = type(core) in PAPER
        exact = named and device.type == "cpu" and len(self.in_shape_) == 1
        dtype = torch.float64 if exact else torch.float32
        model = copy.deepcopy(self.model_).to(device, dtype)
        if tta := getattr(self, "tta_", None):
            model = AtPrediction(model, tta)
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
            "chosen": {name: getattr(self, f"{name}_") for name in type(self).method.chosen},
            "init_scores": getattr(self, "init_scores_", np.empty(0)).tolist(),
        }
        if hasattr(self, "outside_"):
            facts["outside"] = [self.outside_, self.outside_temperature_]
        timm = {"pretrained": False} if str(self.model).startswith(TIMM) else {}
        return arrays, facts | {"network": self._built | timm, "tta": getattr(self, "tta_", None)}

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.settings_ = Settings(**facts["settings"])
        self.in_shape_ = tuple(facts["in_shape"])
        self.shift_, self.scale_ = arrays.get("shift_"), arrays.get("scale_")
        self.history_ = pd.DataFrame(facts["history"])
        self.n_iter_, self._learnt = len(self.history_), self.classes_
        for name, value in facts.get("chosen", {}).items():
            setattr(self, f"{name}_", value)
        if "outside" in facts:
            self.outside_, self.outside_temperature_ = facts["outside"]
        if facts.get("init_scores"):
            self.init_scores_ = np.array(facts["init_scores"])
        self._built = facts["network"] if "network" in facts else self._network_options()
        self.tta_ = facts.get("tta")
        shape, k, held = self.in_shape_, len(self.classes_), sum(a.size for a in arrays.values())
        ours = self.model if isinstance(self.model, str) and self.model in OURS else None
        if ours is not None and held < numbers_in(ours, shape, k, **self._built):
            raise ValueError("its network has more numbers than the file")
        self.model_ = self._build(shape, k, self.settings_, self._built)
        values = {n: torch.from_numpy(a.copy()) for n, a in under(arrays, "model/").items()}
        if "shift" in values:
            self.model_ = Shifted(self.model_, values["shift"])
        self.model_.load_state_dict(values)
        self.model_.eval()


def _length(X: Any) -> float:
    """The root of the mean squared length of the rows of a sparse matrix; 1 where all are 0.

    >>> from scipy.sparse import csr_array
    >>> _length(csr_array([[3.0, 4.0], [0.0, 5.0]]))
    5.0
    """
    return float(np.sqrt(np.square(X.data, dtype=np.float64).sum() / X.shape[0])) or 1.0


def _are_pixels(X: npt.NDArray[Any]) -> bool:
    """Whether bytes are grey values, not the zeros and ones or the small counts of a table."""
    return X.dtype == np.uint8 and (X.ndim > 2 or X.max() >= BRIGHT)
