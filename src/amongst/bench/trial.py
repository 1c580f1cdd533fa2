"""One trial from beginning to end: data, training, measures, record."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import amongst
from amongst.algorithms import LW, Recipe
from amongst.algorithms._base import hyper_parameters
from amongst.bench.points import CLASSICAL, TRAINING, method_class
from amongst.bench.record import Record, Trial, now
from amongst.bench.sources import Files, TrialData, training_seed, trial_data
from amongst.bench.underway import UnderWay
from amongst.candidates import CandidateSets
from amongst.errors import DivergenceError, InputError
from amongst.metrics import accuracy, approximated_accuracy, covering_rate
from amongst.models import build_model
from amongst.selection.criteria import corrected_error
from amongst.theory import auto_beta
from amongst.train import (
    Features,
    Settings,
    Training,
    Watch,
    as_device,
    predict_scores,
    split_seed,
    train,
    training_data,
)  # fmt: skip
from amongst.train.views import AtPrediction
from amongst.trust.rates import estimate_label_q

LAST = 10


def run_trial(
    trial: Trial, *, device: str = "cpu", files: Files | None = None, scratch: Path | None = None
) -> Record:
    """Train and measure; a run that diverges, or data that a method refuses, becomes a record that
    says so.

    Parameters
    ----------
    trial, device, files : what to run, where, and data of one's own.
    scratch : folder where a network keeps checkpoints, to go on from if it was killed; None for none.

    Examples
    --------
    >>> settings = {"epochs": 2, "batch_size": 256, "widths": "16", "validation": 0.1}
    >>> record = run_trial(Trial("digits", "q=0.1", "cc", "mlp", seed=0, settings=settings))
    >>> sorted(record.curves)
    ['accuracy_test', 'accuracy_val', 'approximated_val', 'covering', 'covering_val', 'loss', 'risk_val']
    >>> 0 < record.metrics["accuracy_final"] <= 1
    True
    """
    began = time.perf_counter()
    data = trial_data(trial, files)
    place = UnderWay(scratch, trial.key)
    try:
        if trial.method in CLASSICAL:
            record = _run_classical(trial, data)
        else:
            record = _run_neural(trial, data, device, place)
    except DivergenceError as error:
        record = Record(trial, error=str(error))
    place.forget()
    return stamp(record, device, "local", max(record.seconds, time.perf_counter() - began))


def stamp(record: Record, device: str, engine: str, seconds: float) -> Record:
    """The record with when, where and by what it was made."""
    where = as_device(device)
    return replace(
        record,
        seconds=seconds,
        device=torch.cuda.get_device_name(where) if where.type == "cuda" else where.type,
        engine=engine,
        versions={
            "amongst": amongst.__version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "numpy": np.__version__,
        },
        revision=_revision(),
        created=now(),
    )


def make_settings(trial: Trial) -> Settings:
    """Settings of the training."""
    given: dict[str, Any] = {n: trial.settings[n] for n in TRAINING if n in trial.settings}
    return Settings(**given, seed=training_seed(trial))


def make_method(trial: Trial, sets: CandidateSets) -> Recipe:
    """The method with its hyper-parameters; ``beta="auto"`` is worked out from the sets.

    >>> make_method(Trial("digits", "q=0.1", "lw-sigmoid", "mlp", 0, settings={"beta": 2}), None)
    LW(psi='sigmoid', beta=2.0, alpha=1.0, initial='paper', refresh='same', fade=0.0)
    """
    kind = method_class(trial.method)
    if kind is None:
        problem = "is not trained by the engine."
        raise InputError(problem, code="no-network", argument="method", got=trial.method)
    own: dict[str, Any] = {
        n: trial.settings[n] for n in hyper_parameters(kind) if n in trial.settings
    }
    if kind is not LW:
        return kind(**own)
    psi = trial.method.removeprefix("lw-")
    beta, alpha = (own.pop(name, 1.0) for name in ("beta", "alpha"))
    resolved = auto_beta(sets, psi) if beta == "auto" else float(beta)
    return LW(psi=psi, beta=resolved, alpha=float(alpha), **own)


def model_options(trial: Trial) -> dict[str, Any]:
    """Options of `build_model`.

    >>> model_options(Trial("digits", "q=0.1", "cc", "mlp", 0, settings={"widths": "64-32"}))
    {'widths': (64, 32)}
    """
    if "widths" in trial.settings and trial.model != "linear":
        return {"widths": tuple(map(int, str(trial.settings["widths"]).split("-")))}
    if trial.model == "convnet":
        keep = bool(trial.settings.get("dropout_at_evaluation", False))
        return {"dropout_at_evaluation": keep}
    return {}


def watch_test(data: TrialData, device: torch.device) -> list[Watch]:
    """What is measured on test rows: accuracy, or what candidate sets can tell."""
    test = data.test.to(device)
    if data.test_labels is not None:
        labels = torch.from_numpy(data.test_labels).to(device)
        return [Watch("accuracy_test", test, partial(accuracy, labels=labels))]
    return [] if data.test_sets is None else _candidate_watches("test", test, data.test_sets)


def record_of(trial: Trial, method: Recipe, history: Sequence[Mapping[str, Any]]) -> Record:
    """Curves and metrics of a training, and the β that it had."""
    columns = [name for name in history[0] if name not in ("epoch", "lr", "seconds")]
    curves = {name: tuple(float(epoch[name]) for epoch in history) for name in columns}
    beta = {"beta": float(method.beta)} if isinstance(method, LW) else {}
    return Record(trial, _final_metrics(curves) | beta, curves)


def _final_metrics(curves: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Last values, and means of the last ten epochs."""
    metrics: dict[str, float] = {}
    for name, values in curves.items():
        if name not in ("loss", "covering"):
            final, mean = (name, f"{name}_last10")
            if name == "accuracy_test":
                final, mean = "accuracy_final", "accuracy_last10"
            metrics[final], metrics[mean] = float(values[-1]), float(np.mean(values[-LAST:]))
    return metrics


@lru_cache(maxsize=64)
def label_rates(data: TrialData) -> Tensor:
    """q_z of a trial's training sets, shape (K,); see `amongst.trust.rates`."""
    return torch.from_numpy(estimate_label_q(data.sets).rates)


def _run_neural(trial: Trial, data: TrialData, device: str, place: UnderWay) -> Record:
    where, settings = as_device(device), make_settings(trial)
    sets, seed = data.sets[data.kept], split_seed(settings.seed)[0]
    method = make_method(trial, sets)
    options, augment = model_options(trial), trial.settings.get("augment")
    run = train(
        build_model(trial.model, data.features.shape, sets.n_classes, seed, **options),
        training_data(data.features.part(data.kept), sets, where),
        method,
        settings,
        watch=_watches(data, where),
        callbacks=place.callbacks(f"{trial.key} {amongst.__version__} {_revision()}"),
        augment=None if augment is None else str(augment),
    )
    seconds = sum(record["seconds"] for record in run.records)  # those before a resume, too
    record = record_of(trial, method, run.records)
    if "augment" in trial.settings:
        seen = _at_prediction(trial, run, data, where) | {"training_seconds": seconds}
        record = replace(record, metrics={**record.metrics, **seen})
    return replace(record, seconds=seconds)


def _at_prediction(
    trial: Trial, run: Training, data: TrialData, where: torch.device
) -> dict[str, float]:
    """Of a network that saw views: its accuracy with those at prediction, ``accuracy_final``, and without,
    ``accuracy_plain``; and the share of training rows whose best candidate is right."""
    measured = {}
    if data.truth is not None:
        inside, truth = (torch.from_numpy(x[data.kept]) for x in (data.sets.to_mask(), data.truth))
        rows = data.features.part(data.kept).to(where)
        scores = predict_scores(run.model, rows, run.settings).cpu()
        best = scores.masked_fill(~inside, -torch.inf)
        measured["accuracy_train"] = float(accuracy(best, truth))
    if data.test_labels is not None:
        test, labels = data.test.to(where), torch.from_numpy(data.test_labels).to(where)
        tta = trial.settings.get("tta")
        views = run.model if tta is None else AtPrediction(run.model, str(tta))
        for name, network in (("plain", run.model), ("final", views)):
            scores = predict_scores(network, test, run.settings)
            measured[f"accuracy_{name}"] = float(accuracy(scores, labels))
    return measured


def _watches(data: TrialData, device: torch.device) -> list[Watch]:
    """Of test rows, and of held-out ones where there are some."""
    watches = watch_test(data, device)
    if not len(data.held):
        return watches
    held, sets = data.features.part(data.held).to(device), data.sets[data.held]
    inside = torch.from_numpy(sets.to_mask()).to(device)
    risk = partial(corrected_error, inside=inside, rates=label_rates(data))
    watches += [*_candidate_watches("val", held, sets), Watch("risk_val", held, risk)]
    if data.truth is not None:
        truth = torch.from_numpy(data.truth[data.held]).to(device)
        watches.append(Watch("accuracy_val", held, partial(accuracy, labels=truth)))
    return watches


def _candidate_watches(part: str, features: Features, sets: CandidateSets) -> list[Watch]:
    inside = torch.from_numpy(sets.to_mask()).to(features.device)
    return [
        Watch(f"covering_{part}", features, partial(covering_rate, inside=inside)),
        Watch(f"approximated_{part}", features, partial(approximated_accuracy, inside=inside)),
    ]


def _run_classical(trial: Trial, data: TrialData) -> Record:
    options = {n: v for n, v in trial.settings.items() if n not in ("validation", "folds")}
    estimator: Any = CLASSICAL[trial.method]()
    if "random_state" in estimator.get_params(deep=False):
        options["random_state"] = training_seed(trial)
    estimator.set_params(**options)
    try:
        estimator.fit(_matrix(data.features.part(data.kept)), data.sets[data.kept])
    except InputError as error:
        return Record(trial, error=f"refused: {error}")
    curves = {
        watch.name: [float(watch.measure(_scores(estimator, watch.features, data.sets.n_classes)))]
        for watch in _watches(data, torch.device("cpu"))
    }
    return Record(trial, _final_metrics(curves))


def _matrix(features: Features) -> np.ndarray[Any, Any]:
    rows: np.ndarray[Any, Any] = features.batch(slice(None)).flatten(1).double().numpy()
    return rows


def _scores(estimator: Any, features: Features, n_classes: int) -> Tensor:
    """Log probabilities, shape (n, K); a class that training did not have gets the least."""
    rows = _matrix(features)
    scores = np.full((len(rows), n_classes), -1e4)
    columns = np.asarray(estimator.classes_, dtype=np.int64)
    if hasattr(estimator, "predict_proba"):
        scores[:, columns] = np.log(np.maximum(estimator.predict_proba(rows), 1e-30))
    predicted = np.asarray(estimator.predict(rows), dtype=np.int64)
    scores[np.arange(len(rows)), predicted] = scores.max(axis=1) + 1e-9
    return torch.from_numpy(scores)


@cache
def _revision() -> str:
    """The git revision of the checkout this package runs from, or the empty string."""
    root = Path(amongst.__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.decode("ascii", "replace").strip()
