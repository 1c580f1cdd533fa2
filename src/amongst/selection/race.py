"""A race of contenders: folds one after another, the worst out after each, until the time is over."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from amongst.candidates import CandidateSets
from amongst.errors import DivergenceError, InputError
from amongst.estimators import NeuralClassifier
from amongst.estimators.partial_label import set_risk
from amongst.selection.blend import MEMBERS, beliefs, fit_temperature, log_scores, taken_by
from amongst.selection.portfolio import Contender, seconds_to_fit
from amongst.wording import counted, readable

__all__ = ["Clock", "Race", "Runner", "ranked_runners", "well_judged"]

Floats = npt.NDArray[np.floating[Any]]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Fold = tuple[Rows, Rows]

FIRST = 0.5
"""Share of the time for the first fold, in which all contenders take part."""

PARTS = 12
"""A network has as many epochs as fit into such a part of the time."""

STAYING = (6,)
"""So many go on after the first fold, and after more `MEMBERS`, besides those that cost little."""

LITTLE = 0.005
"""A fit costs little that takes less of the time than this."""

AT_ONCE = 0.02
"""A method one fit of which takes less of the time is judged on all rows before the next one enters."""

ALL_ROWS = 1.4
"""A fit on all rows costs so much more than one of a fold."""

SEEDS = 3
"""A network that answers is fitted so often, if there is the time: it depends on its seed."""


class Clock:
    """The time that is left of a budget.

    >>> Clock(60).left() > 59
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.began = seconds, time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the budget is gone."""
        return share * self.seconds - (time.monotonic() - self.began)


class Runner:
    """A contender in the race, and what became of it.

    Attributes
    ----------
    contender : what it is.
    fitted : its estimators, one for each fold.
    judged : (n,), the rows that were scored by a fit that had not seen them.
    temperature : of its scores, by the candidate sets of these rows.
    proba : (n, K), its calibrated forecasts of them; `risk`, (n,), their −log Σ_{z∈s} p_z; else NaN.
    cost, seconds : of the last fit, and of all.
    note : why it does not go on, or was left out.

    Examples
    --------
    >>> from amongst import PLKNNClassifier, as_candidates
    >>> X, sets = np.eye(4), as_candidates(["a|b", "b", "a", "a|b"])
    >>> runner = Runner(Contender("PL-kNN", PLKNNClassifier(n_neighbors=1)), (4, 2))
    >>> runner.fit(X, sets, (np.arange(2), np.arange(2, 4)), 0)
    >>> runner.judged.tolist()
    [False, False, True, True]
    """

    def __init__(self, contender: Contender, shape: tuple[int, int]) -> None:
        self.contender, self.note = contender, ""
        self.fitted: list[Any] = []
        self.cost = self.seconds = 0.0
        self.temperature = 1.0
        self.scores: list[tuple[Rows, Floats]] = []
        self.counts = np.zeros(shape[0])
        self.proba, self.risk = np.full(shape, np.nan), np.full(shape[0], np.nan)

    @property
    def judged(self) -> Mask:
        """See `Runner`."""
        return np.asarray(self.counts > 0)

    @property
    def mean_risk(self) -> float:
        """Of the rows that are judged."""
        return float(np.nanmean(self.risk))

    def fit(self, X: Any, sets: CandidateSets, fold: Fold, seed: int) -> None:
        """Fit on the rows of a fold, score the others, and calibrate anew."""
        kept, held = fold
        began = time.perf_counter()
        model = self.fitted_on(X[kept], sets[kept], seed)
        scores = log_scores(model, X[held])
        if not np.isfinite(scores).all():
            raise DivergenceError("its scores are NaN or infinite.")
        self.scores.append((held, scores))
        self.counts[held] += 1
        self.fitted.append(model)
        self.cost = time.perf_counter() - began
        self.seconds += self.cost
        self._calibrate(sets.to_mask())

    def fitted_on(self, X: Any, sets: CandidateSets, seed: int) -> Any:
        """The contender, fitted on these rows."""
        model = clone(self.contender.estimator)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=seed)
        return model.fit(taken_by(model, X), sets)

    def _calibrate(self, mask: Mask) -> None:
        """By each fit alone, since one answers; the forecast of a row is the mean over its draws."""
        held = np.concatenate([rows for rows, _ in self.scores])
        scores = np.concatenate([scores for _, scores in self.scores])
        self.temperature = fit_temperature(scores, mask[held])
        total = np.zeros(self.proba.shape)
        np.add.at(total, held, beliefs(scores, self.temperature))
        rows = self.judged
        self.proba[rows] = total[rows] / self.counts[rows, None]
        self.risk[rows] = set_risk(self.proba[rows], mask[rows])


@dataclass(frozen=True, eq=False)
class Race:
    """What all runners share.

    Attributes
    ----------
    X, sets : validated features, and candidate sets.
    folds : pairs of rows to fit on and rows to score.
    clock : of the whole race.
    seed : of the first fold; the others have the next ones.
    tell : is told how it goes.
    """

    X: Any
    sets: CandidateSets
    folds: Sequence[Fold]
    clock: Clock
    seed: int
    tell: Callable[[str], None]

    def run(self, contenders: Sequence[Contender]) -> tuple[list[Runner], list[Runner]]:
        """Those that came through, the best first, and all others with the reason in `note`.

        Ctrl-C ends it as the end of the time does, once one has come through.
        """
        runners = [Runner(contender, self.sets.shape) for contender in contenders]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._run(runners)
            except KeyboardInterrupt:
                if not any(runner.fitted for runner in runners):
                    raise
                self.tell("interrupted: the best so far is kept")
        arrived = ranked_runners([r for r in runners if r.fitted])
        if not arrived:
            reasons = "; ".join(f"{r.contender.name}: {r.note}" for r in runners)
            raise InputError(f"none of the methods could be fitted ({reasons}).", code="no-method")
        through = [r for r in arrived if not r.note]
        return through, [r for r in runners if r not in through]

    def _run(self, runners: list[Runner]) -> None:
        for runner in runners:
            self._enter(runner, any(r.fitted for r in runners))
            while runner.fitted and not (runner.note or runner.judged.all()):
                if not self._costs(runner, AT_ONCE):
                    break
                self._next_fold(runner)
        alive = [r for r in runners if r.fitted and not r.note]
        for number in range(1, len(self.folds)):
            alive = self._affordable(self._staying(alive, number))
            if not alive:
                return
            for runner in alive:
                if len(runner.fitted) <= number:
                    self._next_fold(runner)
            self.tell(f"fold {number + 1} of {len(self.folds)}: {len(alive)} methods")

    def _next_fold(self, runner: Runner) -> None:
        number = len(runner.fitted)
        try:
            runner.fit(self.X, self.sets, self.folds[number], self.seed + number)
        except Exception as error:  # anybody's method: whatever goes wrong in it
            runner.note = f"failed: {' '.join(str(error).split())}"

    def _enter(self, runner: Runner, others: bool) -> None:
        """Run in the first fold, if there is the time for it."""
        fold, clock = self.folds[0], self.clock
        if others and clock.left(FIRST) <= 0:
            runner.note = "not tried: the time was over"
            return
        try:
            cost = seconds_to_fit(runner.contender, self.X, self.sets, fold[0], self.seed)
            runner.contender, cost = runner.contender.within(clock.seconds / PARTS, cost)
            if others and cost > clock.left(FIRST):
                runner.note = f"left out: about {readable(cost)} for a fit of these rows"
                return
            runner.fit(self.X, self.sets, fold, self.seed)
        except Exception as error:  # anybody's method: whatever goes wrong in it
            runner.note = f"failed: {' '.join(str(error).split())}"
            return
        self.tell(f"{runner.contender.name}: risk {runner.mean_risk:.3f}, {readable(runner.cost)}")

    def finish(self, runners: Sequence[Runner]) -> None:
        """Fit these on all rows, which then answer in place of the folds, where there is the time."""
        whole = {runner: list[Any]() for runner in runners}
        with warnings.catch_warnings(), suppress(KeyboardInterrupt):  # what is there answers
            warnings.simplefilter("ignore")
            for again in range(SEEDS):
                for runner, models in whole.items():
                    network = isinstance(runner.contender.estimator, NeuralClassifier)
                    wanted = len(models) == again and (network or not again)
                    if wanted and ALL_ROWS * runner.cost <= self.clock.left():
                        model = self._of_all(runner, again)
                        models += [] if model is None else [model]
        for runner, models in whole.items():
            runner.fitted = models or runner.fitted

    def _of_all(self, runner: Runner, again: int) -> Any:
        """None where that fails."""
        try:
            model = runner.fitted_on(self.X, self.sets, self.seed + len(self.folds) + again)
            return model if np.isfinite(log_scores(model, self.X[:1])).all() else None
        except Exception:  # anybody's method: its folds answer
            return None

    def _staying(self, alive: list[Runner], folds: int) -> list[Runner]:
        """The best after so many folds, and those that cost little."""
        most = STAYING[folds - 1] if folds <= len(STAYING) else MEMBERS
        ranked = ranked_runners(alive)
        for runner in ranked[most:]:
            if not self._costs(runner, LITTLE):
                runner.note = f"out after {counted(len(runner.fitted), 'fold')}: others do better"
        return [runner for runner in ranked if not runner.note]

    def _affordable(self, alive: list[Runner]) -> list[Runner]:
        """The best of them for whom there is time for one more fold each, and then for all rows."""
        going = list[Runner]()
        left = self.clock.left() - ALL_ROWS * sum(r.cost for r in alive[:MEMBERS])
        for runner in alive:
            if runner.cost < left or self._costs(runner, LITTLE):
                going.append(runner)
                left -= runner.cost
        return going

    def _costs(self, runner: Runner, share: float) -> bool:
        """Whether a fit costs less than a share of the time, which is not over."""
        return runner.cost < share * self.clock.seconds and self.clock.left() > 0


def ranked_runners(runners: Sequence[Runner]) -> list[Runner]:
    """Least surprised first: each is compared with those that judged the most rows, on its own rows.

    >>> ranked_runners([])
    []
    """
    most = max((int(r.judged.sum()) for r in runners), default=0)
    full = [r.risk for r in runners if r.judged.sum() == most]
    level = np.mean(full, axis=0) if full else 0.0
    return sorted(runners, key=lambda runner: float(np.nanmean(runner.risk - level)))


def well_judged(ranked: Sequence[Runner]) -> list[Runner]:
    """The first, and those of the others that were judged on a third as many rows as any, or more.

    >>> well_judged([])
    []
    """
    most = max((int(r.judged.sum()) for r in ranked), default=0)
    enough = [runner.judged.sum() >= most / 3 for runner in ranked]
    return [r for at, r in enumerate(ranked) if at == 0 or enough[at]]
