"""Golden values: what the code of 2026-11-18 gave, so that a change of the house is no change of answers.

    python tests/golden/record.py tests/golden/values.json

Run once, before the change. `test_golden.py` compares: to the last bit on a machine of the same kind,
to rounding on any other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

from amongst import (
    AverageClassifier,
    CCClassifier,
    CLPLClassifier,
    LWClassifier,
    PRODENClassifier,
    RCClassifier,
)
from amongst.candidates import uniform
from amongst.engine import Features, Settings, Watch, split_seed, start, train, training_data
from amongst.engine.population import Member, train_population
from amongst.methods import CC, CLPL, LW, PRODEN, RC, Average, Minimum
from amongst.metrics import accuracy
from amongst.models import build_model

METHODS = {
    "lw": LW(beta=2.0),
    "lw-sigmoid-fade-epoch": LW(psi="sigmoid", beta=4.0, fade=0.5, refresh="epoch"),
    "lw-official": LW(initial="official", refresh="post"),
    "rc": RC(),
    "cc": CC(),
    "proden": PRODEN(),
    "average": Average(),
    "minimum": Minimum(),
    "clpl": CLPL(),
    "clpl-mean": CLPL(form="mean"),
}
ROWS = 203


def kind() -> str:
    """The machine, as far as its arithmetic goes."""
    return (
        f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()} torch {torch.__version__}"
    )


def data() -> tuple[Any, Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X[:ROWS], y[:ROWS], uniform(y[:ROWS], q=0.4, seed=1)


def settings_of(method: Any) -> Settings:
    rate = 0.01 if method.optimizer == "adam" else 0.05
    return Settings(epochs=4, batch_size=20, lr=rate, optimizer=method.optimizer, seed=3)


def told(tensors: Any) -> dict[str, Any]:
    """A digest of all bits, and a sum for machines that round otherwise."""
    digest, sums = hashlib.sha256(), []
    for tensor in tensors:
        array = np.ascontiguousarray(np.asarray(tensor))
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
        sums.append(float(np.abs(array.astype(np.float64)).sum()))
    return {"digest": digest.hexdigest(), "sums": sums}


def history(frame: Any) -> Any:
    return [frame[c].to_numpy() for c in frame.columns if c != "seconds"]


def single(name: str, method: Any, model: str, precision: str = "float32") -> dict[str, Any]:
    X, y, sets = data()
    features = Features.of(X, X.mean(0), X.std(0) + 1e-3)
    settings = replace(settings_of(method), precision=precision)
    options = {"widths": (24, 16)} if model == "mlp" else {}
    net = build_model(model, (64,), 10, split_seed(3)[0], **options)
    truth = torch.tensor(y)
    watch = [Watch("accuracy", features, lambda scores: accuracy(scores, truth))]
    weights = torch.linspace(0.5, 2, ROWS) if name == "lw" and model == "linear" else None
    run = train(
        net, training_data(features, sets, importance=weights), method, settings, watch=watch
    )
    state = [] if run.weights is None else [run.weights]
    return told([*run.model.state_dict().values(), *state, *history(run.history)])


def resumed(method: Any) -> dict[str, Any]:
    from amongst.engine.checkpoint import fingerprint, load_checkpoint, save_checkpoint

    X, _, sets = data()
    seen = training_data(Features.of(X, X.mean(0), X.std(0) + 1e-3), sets)
    settings = settings_of(method)

    def fresh() -> Any:
        return build_model("mlp", (64,), 10, split_seed(3)[0], widths=(24, 16))

    with tempfile.TemporaryDirectory() as folder:
        path, net = Path(folder, "run"), fresh()
        mark = fingerprint(seen, method, settings, net)

        def stop(run: Any) -> None:
            if run.epoch == 2:
                save_checkpoint(path, run, mark)
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            train(net, seen, method, settings, on_epoch=stop)
        net = fresh()
        state = start(net, seen, method, settings)
        load_checkpoint(path, state, mark, settings.epochs)
        run = train(net, seen, method, settings, training=state)
    state_tensors = [] if run.weights is None else [run.weights]
    found = told([*run.model.state_dict().values(), *state_tensors, *history(run.history)])
    return found | {"mark": mark}


def population(model: str) -> dict[str, Any]:
    X, y, sets = data()
    features = Features.of(X, X.mean(0), X.std(0) + 1e-3)
    inside = torch.from_numpy(sets.to_mask())
    rows, held = torch.arange(0, 160), torch.arange(160, ROWS)
    members = [
        Member(method, inside, replace(settings_of(method), seed=seed), rows=rows, held=held)
        for method in METHODS.values()
        for seed in (0, 1)
    ]
    truth = torch.tensor(y)
    with tempfile.TemporaryDirectory() as folder:
        result = train_population(
            features,
            members,
            model=model,
            options={"widths": (24, 16)} if model == "mlp" else {},
            watch=[Watch("accuracy", features, lambda scores: accuracy(scores, truth))],
            held={
                "covering_val": lambda s, m: (
                    m.gather(-1, s.argmax(-1, keepdim=True)).double().mean((-2, -1))
                )
            },
            device="cpu",
            backend="eager",
            keep_weights=True,
            checkpoint=folder,
            checkpoint_every=1,
        )
        files = sorted(path.name for path in Path(folder).iterdir())
    found = []
    for i in range(len(members)):
        found += [*result.model(i).state_dict().values(), *history(result.history(i))]
        found += [] if result.weights(i) is None else [result.weights(i)]
    return told(found) | {"files": files}


def estimators() -> dict[str, Any]:
    X, _, sets = data()
    common = {"epochs": 3, "random_state": 0, "device": "cpu"}
    made = {
        "lw": LWClassifier(**common),
        "lw-n_init": LWClassifier(n_init=3, model="linear", **common),
        "lw-weights": LWClassifier(psi="sigmoid", **common),
        "lw-paper": LWClassifier(protocol="official", **common),
        "rc": RCClassifier(**common),
        "cc": CCClassifier(n_init=2, **common),
        "proden": PRODENClassifier(model="linear", **common),
        "average": AverageClassifier(**common),
        "clpl": CLPLClassifier(**common),
    }
    found = {}
    for name, estimator in made.items():
        weights = np.linspace(0, 2, ROWS) if name == "lw-weights" else None
        estimator.fit(X, sets, sample_weight=weights)
        table = estimator.disambiguate(X, sets)
        found[name] = told(
            [
                estimator.predict_proba(X),
                table["confidence"].to_numpy(),
                *history(estimator.history_),
            ]
        )
    return found


def searches() -> dict[str, Any]:
    from amongst.selection import PartialLabelSearchCV

    X, _, sets = data()
    found = {}
    for engine in ("population", "single"):
        search = PartialLabelSearchCV(
            LWClassifier(model="linear", epochs=3, device="cpu"),
            {"lr": (0.01, 0.1), "beta": (1.0, 2.0)},
            random_state=0,
            engine=engine,
        ).fit(X, sets)
        values = search.cv_results_
        found[engine] = told(
            [np.asarray(values[k], dtype=float) for k in sorted(values) if "test" in k]
        )
    return found


def trials() -> dict[str, Any]:
    from amongst.bench.execute_population import run_group
    from amongst.bench.record import Trial
    from amongst.bench.trial import run_trial

    settings = {"epochs": 3, "batch_size": 64, "widths": "16", "validation": 0.1, "lr": 0.05}
    labels = ("lw-sigmoid", "lw-cross_entropy", "rc", "cc", "proden", "average", "minimum", "clpl")
    plan = [
        Trial(
            "digits",
            "q=0.3",
            m,
            "mlp",
            0,
            settings=settings | ({"beta": "auto"} if m[:2] == "lw" else {}),
        )
        for m in labels
    ]
    found: dict[str, Any] = {"keys": [trial.key for trial in plan]}
    for name, records in {
        "local": [run_trial(trial) for trial in plan],
        "population": run_group(plan),
    }.items():
        found[name] = told(
            [
                np.array([*r.metrics.values(), *(v for c in r.curves.values() for v in c)])
                for r in records
            ]
        )
    return found


def plans() -> dict[str, Any]:
    """Keys of the paper's plans: a digest of all of them, in order."""
    from amongst.bench.plans import Request, make_plan

    found = {}
    for name in ("table1", "table2", "table3", "figure1", "figure2"):
        for search in ("published", "grid", "equal"):
            try:
                plan = make_plan(Request(name, search=search))
            except ValueError as error:
                found[f"{name} {search}"] = type(error).__name__
                continue
            keys = [trial.key for cell in plan.cells for trial in (*cell.trials, *cell.pool)]
            text = "\n".join(keys).encode()
            found[f"{name} {search}"] = [len(keys), hashlib.sha256(text).hexdigest()]
    return found


def everything() -> dict[str, Any]:
    torch.set_num_threads(1)
    found: dict[str, Any] = {"kind": kind()}
    for name, method in METHODS.items():
        for model in ("mlp", "linear"):
            found[f"single {name} {model}"] = single(name, method, model)
        found[f"resumed {name}"] = resumed(method)
    found["single lw mlp float64"] = single("lw", METHODS["lw"], "mlp", "float64")
    for model in ("mlp", "linear"):
        found[f"population {model}"] = population(model)
    for part in (estimators, searches, trials, plans):
        found |= {f"{part.__name__} {name}": value for name, value in part().items()}
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(everything(), indent=1) + "\n", "utf-8")
