"""Checkpoints: a run as it was at the end of an epoch, in a file; and whether one may go on.

Resuming gives the numbers of the undisturbed run, bit for bit on a CPU: everything that is learnt is in
the algorithm's `state_dict`, and the order of rows, the views and dropout depend on (seed, epoch) only.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from amongst.algorithms import Method, Recipe
from amongst.algorithms._base import described, first_weights
from amongst.errors import AmongstError, AmongstWarning, InputError, named, warn
from amongst.files import read_archive, under, write_archive
from amongst.train.run import Kept, Settings, Training, TrainingData
from amongst.wording import one_line

__all__ = [
    "Checkpoint",
    "Keeper",
    "Pause",
    "digest_of",
    "fingerprint",
    "kept_seed",
    "load_checkpoint",
    "mark_of_model",
    "save_checkpoint",
    "without_checkpoint",
]

SHARE = 0.05
"""Of the time that saving may take."""

MOMENTS, AVERAGES = "optimizer/", "averages/"
"""Before the names of what the optimiser keeps, and of what `Averages` keeps."""

NETWORK = "network."
"""Of the names of a `state_dict`: what a file calls ``model/``, as it did before there were algorithms."""


class Pause:
    """Keeps saving, which it times, to a small share of the time.

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


@contextmanager
def without_checkpoint() -> Iterator[None]:
    """Where a checkpoint cannot be written, as on a full disk, a warning: the training goes on.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught, without_checkpoint():
    ...     warnings.simplefilter("always")
    ...     raise OSError(28, "No space left on device")
    >>> caught[0].message.code
    'no-checkpoint'
    """
    try:
        yield
    except OSError as error:
        problem = f"no checkpoint is kept: {one_line(error)}. The training goes on."
        warn(AmongstWarning(problem, code="no-checkpoint"))


class Checkpoint(Kept):
    """Keeps the last finished epoch, in memory always and on disk every few seconds, or less often
    where writing would take too large a share of the time.

    As a callback of `train` it first goes on from the file, if it is there; after Ctrl-C it puts the
    run back to the end of its last finished epoch, which then counts.

    Parameters
    ----------
    path : the checkpoint file, or None for memory only.
    mark : what `fingerprint` gave; a checkpoint of another run is refused.
    every : least seconds between writes.
    share : of the time that writing may take.
    forgiving : begin anew from a file that is broken, or of another run.
    keeps : whether the last epoch is kept in memory, and the run is written when it ends.
    survives : whether Ctrl-C ends the training at the epoch that is kept, without an error.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.algorithms import LW
    >>> from amongst.models import build_model
    >>> from amongst.train import Features, train, training_data
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "run.amongst")
    >>> data = training_data(Features.of(np.eye(3)), [{0, 1}, {1}, {2}])
    >>> def go_on(settings, method=LW()):
    ...     model = build_model("linear", (3,), 3, seed=0)
    ...     checkpoint = Checkpoint(path, fingerprint(data, method, settings, model))
    ...     return train(model, data, method, settings, callbacks=[checkpoint])
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
        *,
        forgiving: bool = False,
        keeps: bool = True,
        survives: bool = True,
    ) -> None:
        super().__init__(survives=survives)
        self.path = None if path is None else _writable(path)
        self.mark = mark
        self.every, self.pause = every, Pause(share)
        self.forgiving, self.keeps = forgiving, keeps

    def begin(self, run: Training) -> None:
        if self.path is not None and run.epoch == 0 and self.path.exists():
            try:
                load_checkpoint(self.path, run, self.mark, run.settings.epochs)
            except AmongstError:
                if not self.forgiving:
                    raise
        if self.keeps:
            super().begin(run)

    def after_epoch(self, run: Training) -> None:
        if self.keeps:
            super().after_epoch(run)
        waited = time.monotonic() - self.pause.end
        if self.path is not None and waited >= self.every and self.pause.over():
            self.write(run)

    __call__ = after_epoch

    def end(self, run: Training) -> None:
        if self.keeps:
            self.write(run)

    def write(self, run: Training) -> None:
        """To the file, if there is one."""
        if self.path is not None:
            with self.pause, without_checkpoint():
                self.path.parent.mkdir(parents=True, exist_ok=True)  # another may have removed it
                save_checkpoint(self.path, run, self.mark)


Keeper = Checkpoint
"""The old name."""


def fingerprint(
    data: TrainingData,
    method: Recipe,
    settings: Settings,
    model: nn.Module | None = None,
    augment: str | None = None,
) -> str:
    """The seed, and a digest of what a run depends on: data, method, settings, the model as it is
    before the first step, and what makes views, as text. The number of epochs counts if the schedule
    or the method needs it.

    >>> import numpy as np
    >>> from amongst import as_candidates
    >>> from amongst.algorithms import CC
    >>> from amongst.train import Features, training_data
    >>> data = training_data(Features.of(np.eye(2)), as_candidates([0, 1]))
    >>> a = fingerprint(data, CC(), Settings(epochs=5))
    >>> a == fingerprint(data, CC(), Settings(epochs=9)), a == fingerprint(data, CC(), Settings(lr=1.0))
    (True, False)
    """
    facts = settings.to_dict()
    if not settings.needs_length and described(method.at(1.0)) == described(method):
        del facts["epochs"]
    seen = data.features
    network = None if model is None else mark_of_model(model)
    texts = [json.dumps(facts, sort_keys=True), described(method), network]
    texts += [] if augment is None else [augment]
    rows = [seen.values, data.inside, seen.shift, seen.scale]
    rows += [] if data.importance is None else [data.importance]
    rows += [] if data.known is None else [data.known]
    digest = digest_of(*texts, *rows)
    return f"{settings.seed}-{digest}"


def _writable(given: str | os.PathLike[str]) -> Path:
    """The path, if a file can be there: a mistake in it must not cost the training."""
    path = Path(given) if isinstance(given, str | os.PathLike) else None
    if path is None:
        problem, code = "must be the path of a file, or None.", "path"
    elif path.is_dir():
        problem, code = "is a folder; name a file in it.", "folder"
    elif not path.parent.is_dir():
        shown = repr(str(path.parent))
        problem, code = f"the folder {shown} does not exist; make it first.", "no-folder"
    else:
        return path
    got = given if path is None else str(path)
    raise InputError(problem, code=code, argument="checkpoint", got=got)


def kept_seed(path: str | os.PathLike[str]) -> int | None:
    """The seed of the run that is kept at `path`, None if there is none."""
    if not _writable(path).exists():
        return None
    _, facts = read_archive(path)
    first = str(facts.get("mark", "")).partition("-")[0]
    return int(first) if first.isdigit() else None


def save_checkpoint(path: str | os.PathLike[str], state: Training, mark: str = "") -> None:
    """Write a run to `path`, atomically."""
    parts = state.parts()
    _check_tensors(parts["algorithm"])
    arrays = {_in_file(name): _array(value) for name, value in parts["algorithm"].items()}
    arrays |= {AVERAGES + name: _array(value) for name, value in parts["averages"].items()}
    for number, slots in parts["optimizer"]["state"].items():
        arrays |= {f"{MOMENTS}{number}/{name}": _array(value) for name, value in slots.items()}
    facts = {"kind": "checkpoint", "mark": mark, "epoch": state.epoch, "records": state.records}
    write_archive(path, arrays, facts)


def load_checkpoint(
    path: str | os.PathLike[str], state: Training, mark: str = "", epochs: int | None = None
) -> None:
    """Put a fresh `state` (from `start`) to where the checkpoint at `path` was, at most `epochs`."""
    arrays, facts = read_archive(path)
    why = ""
    if facts.get("kind") != "checkpoint" or facts.get("mark") != mark:
        why = "is of another run: its data, model, method, seed or settings differ"
    elif epochs is not None and facts["epoch"] > epochs:
        why = f"has {facts['epoch']} epochs, and {named('epochs', epochs)} asks for fewer"
    if why:
        problem = f"the checkpoint {os.fspath(path)!r} {why}. Delete it, or name another file."
        raise InputError(problem, code="other-run")
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    learnt = {_in_memory(k): v for k, v in tensors.items() if not k.startswith((MOMENTS, AVERAGES))}
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in under(tensors, MOMENTS).items():
        number, name = key.split("/")
        slots.setdefault(int(number), {})[name] = value
    optimizer = state.optimizer.state_dict() | {"state": slots}
    parts = {"algorithm": learnt, "optimizer": optimizer, "averages": under(tensors, AVERAGES)}
    state.install(parts | {"epoch": facts["epoch"], "records": facts["records"]})


def _in_file(name: str) -> str:
    """What a file calls a tensor of an algorithm's `state_dict`."""
    if name.startswith(NETWORK):
        return f"model/{name.removeprefix(NETWORK)}"
    return name if name == "weights" else f"algorithm/{name}"


def _in_memory(name: str) -> str:
    room, _, rest = name.partition("/")
    return {"model": NETWORK + rest, "algorithm": rest}.get(room, name)


def _check_tensors(state: dict[str, Any]) -> None:
    odd = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if odd:
        raise InputError(
            f"the model's state_dict holds {odd[0].removeprefix(NETWORK)!r}, a "
            f"{type(state[odd[0]]).__name__}; a checkpoint holds tensors only. Let get_extra_state "
            "return one, or train without a checkpoint."
        )


def _array(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return np.asarray(value)
    plain = value.detach().cpu()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def digest_of(*parts: str | Tensor | None) -> str:
    """A digest of texts and tensors, the same wherever the tensors are.

    >>> one, two = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    >>> digest_of("x", one) == digest_of("x", one.clone()), digest_of(one) == digest_of(two)
    (True, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Tensor):
            digest.update(f"{part.dtype}{tuple(part.shape)}".encode())
            flat = part.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy().data)
        else:
            digest.update(json.dumps(part).encode())
    return digest.hexdigest()


def mark_of_model(model: nn.Module) -> str:
    """A digest of a network as it is: layers, values, and which of them are trained."""
    parts: list[str | Tensor] = [repr(model)]
    for name, parameter in model.named_parameters():
        parts += [f"{name} {parameter.requires_grad}", parameter]
    for name, buffer in model.named_buffers():
        parts += [name, buffer]
    return digest_of(*parts)


def check_training(
    training: Training, model: nn.Module, data: TrainingData, method: Recipe, settings: Settings
) -> None:
    """An earlier state must be of this model, its weights of these data and this method, and its
    optimiser of these settings."""
    if getattr(training.algorithm, "network", model) is not model:
        raise InputError(
            "training is a state of another model; train its own, training.model.", code="mismatch"
        )
    training.adopt(method)
    found = None if training.weights is None else tuple(training.weights.shape)
    wanted = found
    if isinstance(method, Method):
        few = torch.arange(1, device=data.inside.device)
        first = first_weights(method, data.inside[:1], None, data.known_of(few))
        wanted = None if first is None else tuple(data.inside.shape)
    if found != wanted:
        raise InputError(
            f"training has weights of shape {found}, but the method {method.name!r} needs {wanted} "
            "on these data; go on with the method and the data that it was started with.",
            code="mismatch",
        )
    check_optimizer(training.optimizer, settings)
    _put_beside(training, data)


def check_optimizer(optimizer: torch.optim.Optimizer, settings: Settings) -> None:
    """An optimiser as `start` makes it does what the settings say: of them only the learning rate
    reaches it later. One of another kind is left to its owner."""
    kind = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam"}.get(type(optimizer))
    if kind is None or len(optimizer.param_groups) > 1:
        return
    has = {"optimizer": kind} | optimizer.param_groups[0]
    names = [n for n in ("optimizer", "weight_decay", "momentum") if n in has]
    if odd := [n for n in names if has[n] != getattr(settings, n)]:
        raise InputError(
            f"training has an optimiser with {odd[0]}={has[odd[0]]!r}, but the settings say "
            f"{getattr(settings, odd[0])!r}.",
            code="mismatch",
            remedy="go on with the settings it was started with, or start anew",
        )


def _put_beside(training: Training, data: TrainingData) -> None:
    """Weights and moments follow the data and the model to another device or precision."""
    seen, optimizer = data.features, training.optimizer
    training.algorithm.to(seen.device, seen.dtype)
    if training.averages is not None:
        training.averages.to(seen.device, seen.dtype)
    for group in optimizer.param_groups:
        if group.get("capturable") and seen.device.type == "cpu":
            group["capturable"] = False
    if not _lie_together(optimizer):
        optimizer.load_state_dict(optimizer.state_dict())


def _lie_together(optimizer: torch.optim.Optimizer) -> bool:
    """Whether moments are where, and what, their parameters are."""
    return all(
        (value.device, value.dtype) == (parameter.device, parameter.dtype)
        for parameter, slots in optimizer.state.items()
        for value in slots.values()
        if isinstance(value, Tensor) and value.shape == parameter.shape
    )
