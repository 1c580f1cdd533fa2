"""`AutoClassifier`: many methods on held-out rows, and the best of them or a mixture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from scipy.sparse import issparse
from sklearn.base import clone

from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_integer, check_number
from amongst.data import TableEncoder, stratified_folds
from amongst.errors import InputError
from amongst.estimators import PartialLabelClassifier
from amongst.estimators.base import Floats
from amongst.estimators.persistence import from_values, to_values, under
from amongst.files import Arrays
from amongst.selection.blend import MEMBERS, beliefs, log_scores, mixture
from amongst.selection.criteria import LARGEST_RATE
from amongst.selection.portfolio import Contender, portfolio
from amongst.selection.race import Clock, Race, Runner, well_judged
from amongst.train import as_device
from amongst.trust.rates import estimate_label_q

__all__ = ["AutoClassifier", "seconds_of"]

UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}

ROWS_ENOUGH = 300
"""With fewer rows, folds are drawn again with other seeds while there is time. The mean of such draws
flatters a method that answers with one fit, so that more rows are judged once."""


class AutoClassifier(PartialLabelClassifier):
    """Tries many methods on held-out rows, and answers with the best of them or a mixture.

    The rows are dealt into folds, and every method is fitted without a fold and judged on it by
    −log Σ_{z∈s} p_z, the surprise at the candidate sets, which needs no true label. Methods whose
    fits would take too long are left out, and after each fold those go that are surprised most. The
    best four are mixed in the shares v that surprise held-out rows least, p = Σ_m v_m p_m, drawn
    towards equal ones where rows are few. Each p_m is a fit on all rows, of a network the mean over
    three seeds if there is time, with a temperature fitted on rows that the folds had not seen.

    Parameters
    ----------
    budget : how long a fit may take, such as ``"30s"``, ``"1min"``, ``"2h"``, or seconds.
    methods : estimators by name to try in place of the usual ones.
    folds : how many.
    device : of the networks: ``"auto"``, ``"cpu"``, ``"cuda"``, …
    random_state : of the folds, and of all methods.
    verbose : whether to tell how it goes on standard error.

    Attributes
    ----------
    leaderboard_ : DataFrame, best first: ``method``; ``share`` of it in the answer; ``risk``, its
        mean surprise; ``error`` and ``error_se``, its estimated error rate and how far that may be
        off, by `amongst.selection.corrected_error`; ``rows`` judged, ``folds``, ``seconds``; ``note``,
        why it is out.
    chosen_ : what answers, in words; `shares_`, its methods and their shares.
    error_, error_se_ : the estimated error rate of the answer on new rows, and its standard error.
    encoder_ : of a data frame, what made its columns numbers, a `TableEncoder`; else None.

    Notes
    -----
    Ctrl-C ends a fit with the best so far. The estimated error takes it that each label is a false
    candidate at a rate of its own; where wrong labels come along with certain true ones, it is too
    low.

    Examples
    --------
    >>> from amongst import PLKNNClassifier
    >>> X, y = np.repeat(np.eye(2), 10, axis=0), ["a|b", "a"] * 5 + ["a|b", "b"] * 5
    >>> methods = {f"PL-kNN, {k}": PLKNNClassifier(n_neighbors=k) for k in (1, 15)}
    >>> model = AutoClassifier(methods=methods, random_state=0).fit(X, y)
    >>> model.predict(np.eye(2)).tolist(), len(model.leaderboard_)
    (['a', 'b'], 2)
    """

    uses_prior = True  # by those of its methods that do; the others say so
    encodes = True

    def __init__(
        self,
        *,
        budget: str | float = "1min",
        methods: Mapping[str, PartialLabelClassifier] | None = None,
        folds: int = 5,
        device: str = "auto",
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.budget = budget
        self.methods = methods
        self.folds = folds
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the answer, shape (n, K)."""
        return self._calibrated(np.exp(self._checked_scores(X)))

    def _fit(self, X: Any, sets: CandidateSets) -> None:
        as_device(self.device)  # one that is not here is said before anything runs
        clock, seed = Clock(seconds_of(self.budget)), as_seed(self.random_state) % 2**31
        folds = _folds(sets, check_integer("folds", self.folds, low=2), seed)
        race = Race(X, sets, folds, clock, seed, self._tell)
        through, out = race.run(self._contenders(X, sets))
        members = well_judged(through)[:MEMBERS]
        common, mask = np.logical_and.reduce([r.judged for r in members]), sets.to_mask()
        proba = np.array([runner.proba[common] for runner in members])
        shares = mixture(proba, mask[common])
        rates = estimate_label_q(sets).rates
        others = [runner for runner in [*through, *out] if runner not in members]
        runners = list(zip([*members, *others], [*shares, *np.zeros(len(others))], strict=True))
        self.leaderboard_ = _leaderboard(runners, mask, rates)
        answering = sorted(((r, s) for r, s in runners if s > 0), key=lambda pair: -pair[1])
        race.finish([runner for runner, _ in answering])
        self._parts = [Part.of(runner, float(share)) for runner, share in answering]
        self.shares_ = {part.name: part.share for part in self._parts}
        mixed = np.tensordot(shares, proba, 1)
        self.error_, self.error_se_ = estimated_error(mixed, mask[common], rates)
        self._judged = int(common.sum())
        self.chosen_ = self._in_words(self._judged)
        self._tell(self.chosen_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _contenders(self, X: Any, sets: CandidateSets) -> list[Contender]:
        if self.methods is None:
            return portfolio(X.shape, sets.n_classes, issparse(X), self.device)
        return [Contender(name, method) for name, method in self.methods.items()]

    def _in_words(self, rows: int) -> str:
        """What answers, and how good it may be."""
        parts = [f"{name} ({share:.0%})" for name, share in self.shares_.items()]
        answer = (
            parts[0].rpartition(" (")[0] if len(parts) == 1 else "a mixture of " + ", ".join(parts)
        )
        wide = 1.96 * self.error_se_
        return (
            f"{answer}: the least surprised by the candidate labels of {rows:,} held-out rows. "
            f"Estimated error {self.error_:.1%} ± {wide:.1%}, if wrong labels are candidates by chance."
        )

    def _tell(self, line: str) -> None:
        if self.verbose:
            Console(stderr=True).print(line, markup=False, highlight=False, soft_wrap=True)

    def _as_one_of(self, clones: int) -> Mapping[str, Any]:
        """They try what answers here, and no more."""
        methods = {part.name: clone(part.fitted[0]) for part in self._parts}
        return {"budget": seconds_of(self.budget) / clones, "methods": methods, "verbose": False}

    def _scores(self, X: Any) -> Floats:
        mixed = np.asarray(sum(part.share * part.forecast(X) for part in self._parts))
        spread = 1 / (self._judged + 2)  # no more sure than so many rows can tell
        return np.asarray(np.log((1 - spread) * mixed + spread / mixed.shape[1]))

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {}
        parts = []
        for number, part in enumerate(self._parts):
            models = []
            for at, model in enumerate(part.fitted):
                own, facts = to_values(model)
                arrays |= {f"{number}/{at}/{name}": array for name, array in own.items()}
                models.append(facts)
            parts.append([part.name, part.share, part.temperature, models])
        told = {
            "judged": self._judged,
            "chosen": self.chosen_,
            "error": self.error_,
            "error_se": self.error_se_,
        }
        board = self.leaderboard_.to_dict("list")
        return arrays, {"parts": parts, "leaderboard": board, **told}

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self._parts = []
        for number, (name, share, temperature, models) in enumerate(facts["parts"]):
            fitted = [
                from_values(under(arrays, f"{number}/{at}/"), own, self._device(own))
                for at, own in enumerate(models)
            ]
            self._parts.append(Part(name, share, temperature, fitted))
        self.shares_ = {part.name: part.share for part in self._parts}
        self.leaderboard_ = pd.DataFrame(facts["leaderboard"])
        self.chosen_, self.error_ = facts["chosen"], facts["error"]
        self.error_se_, self._judged = facts["error_se"], facts.get("judged", 10**9)
        if facts.get("encoder") is not None:  # as it was kept at first
            self.encoder_ = TableEncoder.from_state(facts["encoder"])

    def _device(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """The device of this machine, for a part that has one."""
        return {"device": self.device} if "device" in facts["params"] else {}


@dataclass(frozen=True, eq=False)
class Part:
    """A method's share of an answer, and its fits: of all rows, or of the folds."""

    name: str
    share: float
    temperature: float
    fitted: Sequence[Any]

    @classmethod
    def of(cls, runner: Runner, share: float) -> Part:
        """What a runner brings."""
        return cls(runner.contender.name, share, runner.temperature, runner.fitted)

    def forecast(self, X: Any) -> Floats:
        """Calibrated probabilities, the mean over the fits, shape (n, K)."""
        each = [beliefs(log_scores(model, X), self.temperature) for model in self.fitted]
        return np.asarray(np.mean(each, axis=0))


def seconds_of(budget: Any) -> float:
    """A length of time in seconds.

    >>> seconds_of("1min"), seconds_of("90s"), seconds_of(5)
    (60.0, 90.0, 5.0)
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*([a-z]*)\s*", str(budget).lower())
    if isinstance(budget, bool) or not found or found[2] not in UNITS or found[1].count(".") > 1:
        raise InputError(
            "is no length of time.",
            code="no-time",
            argument="budget",
            got=budget,
            remedy="Give seconds, or text such as '30s', '1min' or '2h'.",
        )
    return check_number("budget", float(found[1]) * UNITS[found[2]], low=0, open_low=True)


def estimated_error(
    proba: Floats, mask: npt.NDArray[np.bool_], rates: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """The mean over rows of [ŷ ∉ s] / (1 − q_ŷ), as `corrected_error` has it, and its standard error:
    that with two rows more that miss and two that do not, so that no miss at all is no certainty.

    >>> error, se = estimated_error(np.eye(2)[[0] * 60], np.eye(2, dtype=bool)[[0] * 60], np.zeros(2))
    >>> error, round(1.96 * se, 2)
    (0.0, 0.04)
    """
    predicted = proba.argmax(axis=1)
    missed = ~mask[np.arange(len(mask)), predicted]
    weights = 1 / (1 - np.minimum(rates, LARGEST_RATE))[predicted]
    each = missed * weights
    more = np.append(each, [weights.mean(), weights.mean(), 0.0, 0.0])
    return float(min(each.mean(), 1.0)), float(more.std() / len(more) ** 0.5)


def _folds(sets: CandidateSets, count: int, seed: int) -> list[tuple[Any, Any]]:
    """Folds, and further ones of other draws where there are few rows."""
    if len(sets) < 2:
        raise InputError(
            "has one row only; rows are needed to fit on, and to judge by.", argument="y"
        )
    times = min(max(ROWS_ENOUGH // len(sets), 1), 3)
    parts = min(count, len(sets))
    return [fold for draw in range(times) for fold in stratified_folds(sets, parts, seed + draw)]


def _leaderboard(
    runners: Sequence[tuple[Runner, float]],
    mask: npt.NDArray[np.bool_],
    rates: npt.NDArray[np.float64],
) -> pd.DataFrame:
    rows = []
    for runner, share in runners:
        judged = runner.judged
        line = {"method": runner.contender.name, "share": share, "risk": np.nan}
        line |= {"error": np.nan, "error_se": np.nan}
        if judged.any():
            error, wide = estimated_error(runner.proba[judged], mask[judged], rates)
            line |= {"risk": runner.mean_risk, "error": error, "error_se": wide}
        line |= {"rows": int(judged.sum()), "folds": len(runner.fitted)}
        note = runner.note or ("" if share else "adds nothing to the others")
        rows.append(line | {"seconds": runner.seconds, "note": note})
    return pd.DataFrame(rows).sort_values(
        ["share", "risk"], ascending=[False, True], ignore_index=True
    )
