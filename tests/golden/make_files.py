"""Files as the code of 2026-11-18 wrote them: models, runs under way, a store. `test_golden.py` reads them.

    python tests/golden/make_files.py tests/golden/files

Run once, before the change of the house; what later code writes is tested elsewhere.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from amongst import estimators
from amongst.bench.record import Trial
from amongst.bench.store import Store
from amongst.bench.trial import run_trial
from amongst.candidates import uniform
from amongst.engine import Features, Settings
from amongst.engine.population import Member, train_population
from amongst.methods import CC, LW, PRODEN, RC

ROWS = 40
MADE = {
    "LWClassifier": {"model": "linear", "epochs": 3, "beta": 2.0},
    "RCClassifier": {"model": "linear", "epochs": 3},
    "CCClassifier": {"model": "linear", "epochs": 3, "n_init": 2},
    "PRODENClassifier": {"model": "linear", "epochs": 3},
    "AverageClassifier": {"model": "linear", "epochs": 3, "psi": "sigmoid"},
    "CLPLClassifier": {"epochs": 3},
    "IPALClassifier": {},
    "PALOCClassifier": {},
    "PLECOCClassifier": {},
    "PLKNNClassifier": {"n_neighbors": 3},
    "PLSVMClassifier": {},
}


def rows() -> tuple[Any, Any]:
    """Three blobs; their true classes are 0, 1, 2."""
    y = np.arange(ROWS) % 3
    noise = np.random.default_rng(0).normal(size=(ROWS, 4))
    return np.eye(3, 4)[y] * 3 + noise, y


def sets() -> Any:
    names = np.array(["wren", "kite", "owl"])
    return uniform(names[rows()[1]], q=0.4, seed=0)


def member_settings() -> Settings:
    return Settings(epochs=6, batch_size=10, lr=0.05, seed=1)


def members() -> list[Member]:
    inside = torch.from_numpy(sets().to_mask())
    adam = replace(member_settings(), optimizer="adam", lr=0.01)
    known = [(LW(beta=2.0, fade=1.0), member_settings()), (PRODEN(), member_settings())]
    return [Member(m, inside, s) for m, s in [*known, (CC(), adam), (RC(), adam)]]


def stop_at(epoch: int) -> Any:
    def stop(run: Any) -> None:
        if run.epoch == epoch:
            raise KeyboardInterrupt

    return stop


def trial(method: str) -> Trial:
    settings = {"epochs": 2, "batch_size": 64, "widths": "8", "validation": 0.1, "lr": 0.05}
    return Trial("digits", "q=0.3", method, "mlp", 0, settings=settings)


def write(folder: Path) -> None:
    from amongst.engine.checkpoint import Pause
    from amongst.engine.population import alone

    folder.mkdir(parents=True)
    X, y = rows()[0], sets()
    expected: dict[str, Any] = {}
    for name, options in MADE.items():
        kind = getattr(estimators, name)
        if "random_state" in kind().get_params():
            options = options | {"random_state": 0}
        model = kind(**options).fit(X, y)
        model.save(folder / f"{name}.amongst", {"note": "made before the change"})
        expected[name] = np.asarray(model.decision_function(X)).tolist()
    large = estimators.LWClassifier(epochs=1, random_state=0).fit(X, y)
    with torch.no_grad():
        for parameter in large.model_.parameters():
            parameter.flatten()[7:] = 0  # so that git keeps little of it
    large.save(folder / "mlp.amongst")
    expected["mlp"] = large.decision_function(X).tolist()
    _checkpoints(folder, X, y, expected)
    alone.SECONDS, Pause.over = 0.0, lambda self: True  # write every epoch
    for backend in ("eager", "alone"):
        seen = Features.of(X)
        with suppress(KeyboardInterrupt):
            train_population(
                seen, members(), model="linear", device="cpu", backend=backend,
                checkpoint=folder / backend, checkpoint_every=1, on_epoch=stop_at(4),
            )  # fmt: skip
        done = train_population(seen, members(), model="linear", device="cpu", backend=backend)
        expected[backend] = done.scores(seen).tolist()
    with Store(folder / "store.sqlite") as store:
        for method in ("lw-sigmoid", "proden"):
            store.add(run_trial(trial(method)))
    expected["store"] = {m: trial(m).key for m in ("lw-sigmoid", "proden")}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", "utf-8")


def _checkpoints(folder: Path, X: Any, y: Any, expected: dict[str, Any]) -> None:
    """A fit that Ctrl-C ended at epoch 3 of 6: of each kind of optimiser and of weights."""
    from amongst.engine import Training
    from amongst.estimators import neural

    for name in ("LWClassifier", "RCClassifier", "CCClassifier"):
        kind = getattr(estimators, name)
        options = {"model": "linear", "epochs": 6, "random_state": 0}
        path = folder / f"{name}.checkpoint"
        true_bar = neural.training_bar

        class Stopping:
            def __init__(self, *_: Any) -> None: ...

            def __enter__(self) -> Any:
                def move(run: Training) -> None:
                    if run.epoch == 3:
                        raise KeyboardInterrupt

                return move

            def __exit__(self, *_: Any) -> None: ...

        neural.training_bar = Stopping
        with suppress(KeyboardInterrupt):
            kind(checkpoint=path, **options).fit(X, y)
        neural.training_bar = true_bar
        expected[path.name] = kind(**options).fit(X, y).decision_function(X).tolist()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
