"""What `fit` and `search` train with: their shared options, and the estimator that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from amongst.errors import InputError
from amongst.registry import ALGORITHMS

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]

NOT_IN_TURN = {"outside", "checkpoint", "verbose"}
"""What a network has no use for that `crowd` fits again and again, to weights of all classes."""


@dataclass(frozen=True)
class Training:
    """Options of a training."""

    method: Annotated[
        str | None,
        typer.Option(
            help="What to train with: auto tries many on held-out rows; "
            f"{', '.join(ALGORITHMS)}; a learner of scikit-learn: forest, boosting, logistic, …; or "
            "crowd, which learns from raters and judges them by what it learns."
        ),
    ] = None
    psi: Annotated[
        str | None,
        typer.Option(
            help="Binary loss of lw, average and clpl, e.g. sigmoid; their own unless told."
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            help="mlp, the default, or linear; of photos fastnet, the default, resnet18, wrn28, "
            "convnet, timm:NAME, or one of a package."
        ),
    ] = None
    epochs: Annotated[int | None, typer.Option(help="Passes over the rows; 100 unless told.")] = (
        None
    )
    batch_size: Annotated[
        int | None, typer.Option(help="Rows a step; 256 unless told, fewer on few rows.")
    ] = None
    device: Device = "auto"
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0

    def for_photos(self) -> Training:
        """With the network for photos, where nothing else is named."""
        return self if self.method or self.model else replace(self, model="fastnet")

    def check_device(self) -> None:
        """A kind of device that people have; whether it is here is found out later."""
        if self.device.partition(":")[0] not in ("auto", "cpu", "cuda", "mps", "xpu"):
            raise InputError(f"--device {self.device} is unknown; choose auto, cpu or cuda.")

    def estimator(self, beta: str | None = None, verbose: bool = False, **settings: Any) -> Any:
        """The estimator with these settings; an error where its method has none of a name.

        Without a method it is LW's network. Of `crowd` they are those of the network that learns with
        the raters.
        """
        from amongst.checks import check_choice
        from amongst.selection.portfolio import LEARNERS, learner

        method = (self.method or "lw").lower()
        if method == "auto":
            problem = (
                "tries many methods as they are; it has no settings to search. Use amongst fit."
            )
            raise InputError(problem, code="no-grid", argument="method", got=method)
        crowd = check_choice("method", method, {*ALGORITHMS, *LEARNERS, "crowd"}) == "crowd"
        made = learner("proden" if crowd else method)
        outside = settings.pop("outside", None)
        numbers = {"beta": beta, "outside": outside}
        asked = self._asked() | settings
        asked |= {name: None if v is None else _number(v) for name, v in numbers.items()}
        own = {*made.get_params(deep=False)} - (NOT_IN_TURN if crowd else set())
        for name, value in asked.items():
            if value is not None and name not in own:
                option = name.replace("_", "-")
                raise InputError(f"--method {method} has no --{option}; leave it out.")
        given = {name: value for name, value in asked.items() if value is not None}
        free = {"device": self.device, "random_state": self.seed, "verbose": verbose}
        made.set_params(**given, **{n: v for n, v in free.items() if n in own})
        if not crowd:
            return made
        from amongst.estimators import CrowdClassifier

        return CrowdClassifier(made, random_state=self.seed)

    def chosen(
        self, settings: Mapping[str, Any], budget: str | None, folds: int | None, verbose: bool
    ) -> Any:
        """What `fit` trains: an `AutoClassifier`, unless a method is named, or a setting of a network;
        and with folds such a one of that method alone, which knows how good it is."""
        named = {n for n, v in {**self._asked(), **settings}.items() if v is not None}
        method = (self.method or ("lw" if named else "auto")).lower()
        auto = method == "auto"
        if auto and named:
            option = min(named).replace("_", "-")
            raise InputError(f"--method auto has no --{option}; name a network, such as lw.")
        if not auto and folds is None:
            if budget is not None:
                raise InputError(
                    "--budget is for trying methods on folds; add --folds, or leave it out."
                )
            return self.estimator(**settings, verbose=verbose)
        from amongst.selection import AutoClassifier

        return AutoClassifier(
            budget="1min" if budget is None else budget,
            methods=None if auto else {method: self.estimator(**settings)},
            folds=5 if folds is None else folds,
            device=self.device,
            random_state=self.seed,
            verbose=verbose,
        )

    def _asked(self) -> dict[str, Any]:
        """Settings of a network that were named."""
        names = ("psi", "model", "epochs", "batch_size")
        return {name: getattr(self, name) for name in names}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
