"""One trial from beginning to end: data, training, measures, record."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import amongst
from amongst.bench.points import CLASSICAL, method_class
from amongst.bench.record import Record, Trial, now
from amongst.bench.risk import label_rates
from amongst.bench.sources import Files, TrialData, training_seed, trial_data
from amongst.bench.underway import UnderWay
from amongst.candidates import CandidateSets
from amongst.engine import Features, Settings, Watch, as_device, split_seed, training_data
from amongst.errors import DivergenceError, InputError
from amongst.methods import LW, Method
from amongst.metrics import accuracy, approximated_accuracy, covering_rate
from amongst.models import build_model
from amongst.selection.criteria import corrected_error
from amongst.theory import auto_beta

__all__ = [
    "curves_of",
    "final_metrics",
    "make_method",
    "make_settings",
    "model_options",
    "record_of",
    "run_trial",
    "stamp",
    "versions",
    "watch_test",
]

Curves = Mapping[str, Sequence[float]]

LAST = 10
ESTIMATORS = {
    "ipal": "IPALClassifier",
    "paloc": "PALOCClassifier",
    "plecoc": "PLECOCClassifier",
    "plknn": "PLKNNClassifier",
    "plsvm": "PLSVMClassifier",
}
"""Methods without a network, and the classes of `amongst.estimators` behind them."""


def run_trial(
    trial: Trial, *, device: str = "cpu", files: Files | None = None, scratch: Path | None = None
) -> Record:
    """Train and measure; a run that diverges, or data that a method refuses, becomes a record that
    says so.

    Parameters
    ----------
    trial : what to run.
    device : where.
    files : data of one's own.
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
    return replace(
        record,
        seconds=seconds,
        device=_device_name(device),
        engine=engine,
        versions=versions(),
        revision=_revision(),
        created=now(),
    )


def make_settings(trial: Trial) -> Settings:
    """Settings of the engine.

    >>> make_settings(Trial("digits", "q=0.1", "cc", "mlp", 0, settings={"lr": 0.5})).lr
    0.5
    """
    names = ("epochs", "batch_size", "lr", "weight_decay", "momentum", "optimizer", "schedule",
             "precision")  # fmt: skip
    given: dict[str, Any] = {n: trial.settings[n] for n in names if n in trial.settings}
    return Settings(**given, seed=training_seed(trial))


def make_method(trial: Trial, sets: CandidateSets) -> Method:
    """The method with its hyper-parameters; ``beta="auto"`` is worked out from the sets.

    >>> make_method(Trial("digits", "q=0.1", "lw-sigmoid", "mlp", 0, settings={"beta": 2}), None)
    LW(psi='sigmoid', beta=2.0, alpha=1.0, initial='paper', refresh='same', fade=0.0)
    """
    kind = method_class(trial.method)
    if kind is None:
        raise InputError(f"method={trial.method!r} is not trained by the engine.")
    own = {f.name: trial.settings[f.name] for f in fields(kind) if f.name in trial.settings}
    return _lw(trial.method.removeprefix("lw-"), own, sets) if kind is LW else kind(**own)


def _lw(psi: str, own: dict[str, Any], sets: CandidateSets) -> LW:
    beta, alpha = (own.pop(name, 1.0) for name in ("beta", "alpha"))
    resolved = auto_beta(sets, psi) if beta == "auto" else float(beta)
    return LW(psi=psi, beta=resolved, alpha=float(alpha), **own)


def model_options(trial: Trial) -> dict[str, Any]:
    """Options of `build_model`.

    >>> model_options(Trial("digits", "q=0.1", "cc", "mlp", 0, settings={"widths": "64-32"}))
    {'widths': (64, 32)}
    """
    if trial.model == "mlp" and "widths" in trial.settings:
        return {"widths": tuple(map(int, str(trial.settings["widths"]).split("-")))}
    if trial.model == "convnet":
        keep = bool(trial.settings.get("dropout_at_evaluation", False))
        return {"dropout_at_evaluation": keep}
    return {}


def final_metrics(curves: Curves) -> dict[str, float]:
    """Last values, and means of the last ten epochs.

    >>> final_metrics({"accuracy_test": [0.0] * 10 + [0.5, 1.0], "covering_val": [0.5]})
    {'accuracy_final': 1.0, 'accuracy_last10': 0.15, 'covering_val': 0.5, 'covering_val_last10': 0.5}
    """
    metrics: dict[str, float] = {}
    for name, values in curves.items():
        if name in ("loss", "covering"):
            continue
        last, mean = float(values[-1]), float(np.mean(values[-LAST:]))
        both = (
            ("accuracy_final", "accuracy_last10")
            if name == "accuracy_test"
            else (name, f"{name}_last10")
        )
        metrics |= dict(zip(both, (last, mean), strict=True))
    return metrics


def watch_test(data: TrialData, device: torch.device) -> list[Watch]:
    """What is measured on test rows: accuracy, or what candidate sets can tell."""
    test = data.test.to(device)
    if data.test_labels is not None:
        labels = torch.from_numpy(data.test_labels).to(device)
        return [Watch("accuracy_test", test, partial(accuracy, labels=labels))]
    return [] if data.test_sets is None else _candidate_watches("test", test, data.test_sets)


def curves_of(records: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """One curve for each column of a history.

    >>> curves_of([{"epoch": 1, "lr": 0.1, "loss": 0.5, "seconds": 1.0}])
    {'loss': (0.5,)}
    """
    columns = [name for name in records[0] if name not in ("epoch", "lr", "seconds")]
    return {name: tuple(float(record[name]) for record in records) for name in columns}


def record_of(trial: Trial, method: Method, history: Sequence[Mapping[str, Any]]) -> Record:
    """Curves and metrics of a training, and the β that it had."""
    curves = curves_of(history)
    beta = {"beta": float(method.beta)} if isinstance(method, LW) else {}
    return Record(trial, final_metrics(curves) | beta, curves)


@cache
def versions() -> dict[str, str]:
    """Versions of what computes."""
    found = {"amongst": amongst.__version__, "python": platform.python_version()}
    return found | {"torch": str(torch.__version__), "numpy": np.__version__}


def _run_neural(trial: Trial, data: TrialData, device: str, place: UnderWay) -> Record:
    where, settings = as_device(device), make_settings(trial)
    kept = training_data(data.part(data.kept), data.sets[data.kept], where)
    method = make_method(trial, data.sets[data.kept])
    model = build_model(
        trial.model,
        data.features.shape,
        data.sets.n_classes,
        split_seed(settings.seed)[0],
        **model_options(trial),
    )
    mark = f"{trial.key} {amongst.__version__} {_revision()}"
    run = place.train(model, kept, method, settings, _watches(data, where), mark)
    seconds = sum(record["seconds"] for record in run.records)  # those before a resume, too
    return replace(record_of(trial, method, run.records), seconds=seconds)


def _watches(data: TrialData, device: torch.device) -> list[Watch]:
    return watch_test(data, device) + _held_watches(data, device)


def _held_watches(data: TrialData, device: torch.device) -> list[Watch]:
    if not len(data.held):
        return []
    held = data.part(data.held).to(device)
    sets = data.sets[data.held]
    inside = torch.from_numpy(sets.to_mask()).to(device)
    risk = partial(corrected_error, inside=inside, rates=label_rates(data))
    watches = [*_candidate_watches("val", held, sets), Watch("risk_val", held, risk)]
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
    estimator = _estimator(trial, options)
    try:
        estimator.fit(_matrix(data.part(data.kept)), data.sets[data.kept])
    except InputError as error:
        return Record(trial, error=f"refused: {error}")
    curves = {
        watch.name: [float(watch.measure(_scores(estimator, watch.features, data.sets.n_classes)))]
        for watch in _watches(data, torch.device("cpu"))
    }
    return Record(trial, final_metrics(curves))


def _estimator(trial: Trial, options: dict[str, Any]) -> Any:
    from amongst import estimators

    name = ESTIMATORS[trial.method]
    kind = getattr(estimators, name, None)
    if kind is None:
        raise InputError(f"method={trial.method!r} needs {name}, which this version does not have.")
    if "random_state" in kind().get_params():
        options = options | {"random_state": training_seed(trial)}
    return kind(**options)


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


def _device_name(device: str) -> str:
    where = as_device(device)
    return torch.cuda.get_device_name(where) if where.type == "cuda" else where.type


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
