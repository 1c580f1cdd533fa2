"""What a search leaves: a table of points and criteria, the best settings, and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.errors import DivergenceError
from amongst.estimators.pipelines import Estimator
from amongst.selection.criteria import CRITERIA
from amongst.selection.evaluate import Outcome
from amongst.selection.space import Point


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A finished search.

    Attributes
    ----------
    table : one row for each point: its settings, every criterion on the held-out candidate sets,
        ``state`` (complete, pruned or diverged), and ``seconds``.
    points : the settings of each row, by name.
    parameters : the columns of `table` that are settings; None where a point has none of the name.
    criterion : the name of the column that decided.
    best_index : the row of `table` that it chose.
    best_params : that row's settings.
    model : an estimator with these settings, fitted on all rows; None without refit.

    Examples
    --------
    >>> from amongst import LWClassifier
    >>> from amongst.selection import grid_search
    >>> estimator = LWClassifier(model="linear", epochs=5)
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> result = grid_search(estimator, X, y, {"lr": [0.5, 1e-6]}, random_state=0)
    >>> result.best_params, result.criterion, result.oracle
    ({'lr': 0.5}, 'risk', False)
    """

    table: pd.DataFrame
    points: tuple[Point, ...]
    parameters: tuple[str, ...]
    criterion: str
    best_index: int
    best_params: Mapping[str, Any]
    model: Estimator | None = None

    @property
    def oracle(self) -> bool:
        """Whether true labels decided: whatever is made of it must say so."""
        return self.criterion == "oracle"

    @property
    def signed(self) -> npt.NDArray[np.float64]:
        """The deciding criterion, turned so that greater is better; NaN where there is none."""
        values = self.table[self.criterion].to_numpy(dtype=np.float64)
        signed: npt.NDArray[np.float64] = sign(self.criterion) * values
        return signed

    @property
    def tied(self) -> int:
        """How many points have the best value; the first of them was chosen."""
        values = _eligible(self.table, self.signed)
        return int((values == values[self.best_index]).sum())

    def ranked(self) -> pd.DataFrame:
        """The table, best point first; pruned and diverged points last."""
        order = np.argsort(-_eligible(self.table, self.signed), kind="stable")
        return self.table.iloc[order]

    def __str__(self) -> str:
        mark = " (true labels decided: an oracle, no selection)" if self.oracle else ""
        shown = {n: f"{v:.4g}" if isinstance(v, float) else v for n, v in self.best_params.items()}
        settings = ", ".join(f"{name}={value}" for name, value in shown.items())
        value = self.table[self.criterion].iloc[self.best_index]
        ties = f", the first of {self.tied} that are equal" if self.tied > 1 else ""
        return f"{settings}: {self.criterion} {value:.4f} of {len(self.table)} points{ties}{mark}"


def sign(criterion: str) -> int:
    """1 where high values are good, as the oracle's are, else −1.

    >>> sign("covering"), sign("risk"), sign("oracle")
    (1, -1, 1)
    """
    found = CRITERIA.get(criterion)
    return 1 if found is None or found.greater_is_better else -1


def make_result(
    points: Sequence[Point],
    outcomes: Sequence[Outcome | None],
    criterion: str,
    states: Sequence[str] | None = None,
) -> SearchResult:
    """Put points and outcomes side by side, and choose; of equals the first."""
    names = tuple(dict.fromkeys(name for point in points for name in point))
    columns = {n: pd.Series([point.get(n) for point in points], dtype=object) for n in names}
    found = [{} if o is None else {**o.values, "seconds": o.seconds} for o in outcomes]
    table = pd.DataFrame(columns).join(pd.DataFrame(found))
    table["state"] = list(states or map(_state, outcomes))
    value = table.get(criterion, pd.Series(np.nan, index=table.index)).to_numpy(dtype=np.float64)
    eligible = _eligible(table, sign(criterion) * value)
    best = int(eligible.argmax())
    if not np.isfinite(eligible[best]):
        raise DivergenceError(
            f"none of {len(points)} points could be judged: training diverged or was pruned at "
            "each. Try smaller learning rates, or scale the features."
        )
    return SearchResult(table, tuple(points), names, criterion, best, dict(points[best]))


def cv_results(result: SearchResult) -> dict[str, Any]:
    """A result as scikit-learn's searches give it: arrays by name, one entry for each point."""
    table, points, signed = result.table, result.points, result.signed
    found: dict[str, Any] = {"params": [dict(point) for point in points]}
    for name in result.parameters:
        absent = [name not in point for point in points]
        column = table[name].to_numpy(dtype=object)
        found[f"param_{name}"] = np.ma.masked_array(column, mask=absent)
    others = [n for n in table.columns if n not in (*result.parameters, "state", "seconds")]
    found |= {f"mean_test_{name}": table[name].to_numpy(dtype=np.float64) for name in others}
    found["mean_test_score"] = signed
    order = _eligible(table, signed)
    found["rank_test_score"] = np.array([1 + int((order > value).sum()) for value in order])
    found["mean_fit_time"] = table["seconds"].to_numpy(dtype=np.float64)
    return found


def _eligible(table: pd.DataFrame, signed: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    good = np.isfinite(signed) & (table["state"] == "complete").to_numpy()
    return np.where(good, signed, -np.inf)


def _state(outcome: Outcome | None) -> str:
    if outcome is None:
        return "pruned"
    return "complete" if outcome.diverged is None else "diverged"
