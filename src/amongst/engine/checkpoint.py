"""Checkpoints: a training run as it was at the end of an epoch, in memory and on disk.

Resuming gives the numbers of the undisturbed run, bit for bit on a CPU, because the order of rows
and dropout depend on (seed, epoch) only.
"""

from __future__ import annotations

import copy
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from amongst.archive import read_archive, write_archive
from amongst.engine.data import TrainingData
from amongst.engine.digest import digest_of, mark_of_model
from amongst.engine.settings import Settings
from amongst.engine.single import Training
from amongst.errors import InputError
from amongst.methods import Method
from amongst.methods.base import described

__all__ = ["Keeper", "Pause", "fingerprint", "kept_seed", "load_checkpoint", "save_checkpoint"]


SHARE = 0.05
"""Of the time that saving may take."""


class Pause:
    """Keeps saving, which it times, to a small share of the time.

    Parameters
    ----------
    share : of the time that saving may take.

    Examples
    --------
    >>> pause = Pause()
    >>> pause.over()
    True
    >>> pause.cost = 60.0
    >>> pause.over()
    False
    """

    def __init__(self, share: float = SHARE) -> None:
        self.share, self.cost, self.end = share, 0.0, time.monotonic()

    def over(self) -> bool:
        """Whether enough has been done since the last save."""
        return time.monotonic() - self.end >= self.cost * (1 / self.share - 1)

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.end = time.monotonic()
        self.cost = self.end - self.began


class Keeper:
    """Keeps the last finished epoch, in memory always and on disk every few seconds, or less often
    where writing would take too large a share of the time.

    Use it as `on_epoch` of `train`; after an interruption `restore` puts the run back to the end
    of its last finished epoch.

    Parameters
    ----------
    path : the checkpoint file, or None for memory only.
    mark : what `fingerprint` gave; a checkpoint of another run is refused.
    every : least seconds between writes.
    share : of the time that writing may take.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.engine import Features, start, train, training_data
    >>> from amongst.methods import LW
    >>> from amongst.models import build_model
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "run.amongst")
    >>> data = training_data(Features.of(np.eye(3)), [{0, 1}, {1}, {2}])
    >>> def go_on(settings, method=LW()):
    ...     model = build_model("linear", (3,), 3, seed=0)
    ...     keeper = Keeper(path, fingerprint(data, method, settings, model))
    ...     state = start(model, data, method, settings)
    ...     if path.exists():
    ...         load_checkpoint(path, state, keeper.mark, settings.epochs)
    ...     try:
    ...         train(model, data, method, settings, training=state, on_epoch=keeper)
    ...     except KeyboardInterrupt:
    ...         if not keeper.restore(state):
    ...             raise
    ...     keeper.write(state)
    ...     return state
    >>> go_on(Settings(epochs=2)).epoch, go_on(Settings(epochs=5)).history["epoch"].tolist()
    (2, [1, 2, 3, 4, 5])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        mark: str = "",
        every: float = 2.0,
        share: float = SHARE,
    ) -> None:
        self.path = None if path is None else _writable(path)
        self.mark = mark
        self.every, self.pause = every, Pause(share)
        self._last: dict[str, Any] | None = None

    def __call__(self, state: Training) -> None:
        """Keep this epoch."""
        self._last = copy.deepcopy(_parts(state))
        waited = time.monotonic() - self.pause.end
        if self.path is not None and waited >= self.every and self.pause.over():
            self.write(state)

    def write(self, state: Training) -> None:
        """Write the run to disk now."""
        if self.path is not None:
            with self.pause:
                save_checkpoint(self.path, state, self.mark)

    def restore(self, state: Training) -> bool:
        """Put `state` back to its last finished epoch; False if none was finished."""
        if self._last is None:
            return False
        _install(state, self._last)
        return True


def fingerprint(
    data: TrainingData, method: Method, settings: Settings, model: nn.Module | None = None
) -> str:
    """The seed, and a digest of what a run depends on: data, method, settings, and the model as it
    is before the first step. The number of epochs counts if the schedule or the method needs it.

    >>> import numpy as np
    >>> from amongst import as_candidates
    >>> from amongst.engine import Features, training_data
    >>> from amongst.methods import CC
    >>> data = training_data(Features.of(np.eye(2)), as_candidates([0, 1]))
    >>> a = fingerprint(data, CC(), Settings(epochs=5))
    >>> a == fingerprint(data, CC(), Settings(epochs=9)), a == fingerprint(data, CC(), Settings(lr=1.0))
    (True, False)
    """
    facts = settings.to_dict()
    if settings.schedule != "cosine" and described(method.at(1.0)) == described(method):
        del facts["epochs"]
    seen = data.features
    network = None if model is None else mark_of_model(model)
    texts = [json.dumps(facts, sort_keys=True), described(method), network]
    rows = [seen.values, data.inside, seen.shift, seen.scale]
    digest = digest_of(*texts, *rows, *([] if data.importance is None else [data.importance]))
    return f"{settings.seed}-{digest}"


def _writable(given: str | os.PathLike[str]) -> Path:
    """The path, if a file can be there: a mistake in it must not cost the training."""
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"checkpoint={given!r} must be the path of a file, or None.")
    path = Path(given)
    if path.is_dir():
        raise InputError(f"checkpoint={os.fspath(given)!r} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(
            f"checkpoint={os.fspath(given)!r}: the folder {str(path.parent)!r} does not exist; make it "
            "first."
        )
    return path


def kept_seed(path: str | os.PathLike[str]) -> int | None:
    """The seed of the run that is kept at `path`, None if there is none."""
    if not _writable(path).exists():
        return None
    _, facts = read_archive(path)
    first = str(facts.get("mark", "")).partition("-")[0]
    return int(first) if first.isdigit() else None


def save_checkpoint(path: str | os.PathLike[str], state: Training, mark: str = "") -> None:
    """Write a run to `path`, atomically."""
    parts = _parts(state)
    _check_tensors(parts["model"])
    arrays = {f"model/{name}": _array(value) for name, value in parts["model"].items()}
    for number, slots in parts["optimizer"]["state"].items():
        arrays |= {f"optimizer/{number}/{name}": _array(value) for name, value in slots.items()}
    if parts["weights"] is not None:
        arrays["weights"] = _array(parts["weights"])
    facts = {"kind": "checkpoint", "mark": mark, "epoch": state.epoch, "records": state.records}
    write_archive(path, arrays, facts)


def load_checkpoint(
    path: str | os.PathLike[str], state: Training, mark: str = "", epochs: int | None = None
) -> None:
    """Put a fresh `state` (from `start`) to where the checkpoint at `path` was, at most `epochs`."""
    arrays, facts = read_archive(path)
    if facts.get("kind") != "checkpoint" or facts.get("mark") != mark:
        raise InputError(
            f"the checkpoint {os.fspath(path)!r} is of another run: its data, model, method, seed or "
            "settings differ. Delete it, or name another file."
        )
    if epochs is not None and facts["epoch"] > epochs:
        raise InputError(
            f"the checkpoint {os.fspath(path)!r} has {facts['epoch']} epochs, and epochs={epochs} "
            "asks for fewer. Delete it, or name another file."
        )
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    model = {k.removeprefix("model/"): v for k, v in tensors.items() if k.startswith("model/")}
    optimizer = state.optimizer.state_dict()
    optimizer["state"] = _slots(tensors)
    weights = tensors.get("weights")
    if weights is not None and state.weights is not None:
        weights = weights.to(state.weights.device)
    parts = {"model": model, "optimizer": optimizer, "weights": weights}
    _install(state, parts | {"epoch": facts["epoch"], "records": facts["records"]})


def _parts(state: Training) -> dict[str, Any]:
    return {
        "model": state.model.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "weights": state.weights,
        "epoch": state.epoch,
        "records": state.records,
    }


def _install(state: Training, parts: dict[str, Any]) -> None:
    state.model.load_state_dict(parts["model"])
    state.optimizer.load_state_dict(copy.deepcopy(parts["optimizer"]))
    state.weights = copy.deepcopy(parts["weights"])
    state.epoch = parts["epoch"]
    state.records = list(parts["records"])


def _slots(tensors: dict[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer/"):
            _, number, name = key.split("/")
            slots.setdefault(int(number), {})[name] = value
    return slots


def _check_tensors(state: dict[str, Any]) -> None:
    odd = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if odd:
        raise InputError(
            f"the model's state_dict holds {odd[0]!r}, a {type(state[odd[0]]).__name__}; a checkpoint "
            "holds tensors only. Let get_extra_state return one, or train without a checkpoint."
        )


def _array(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return np.asarray(value)
    plain = value.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
