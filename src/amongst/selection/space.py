"""Search spaces: grids of values, and ranges to draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.model_selection import ParameterGrid

from amongst.checks import check_number, near_matches
from amongst.errors import InputError, named
from amongst.estimators.pipelines import Estimator, classifier_of, prefix_of

Point = dict[str, Any]
"""A value for each hyper-parameter that is searched."""

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
"""Values by name, or several such mappings, as scikit-learn has it."""


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included.

    Parameters
    ----------
    low, high : the bounds.
    log : whether to draw on a logarithmic scale; then low > 0.
    integer : whether to draw whole numbers.

    Examples
    --------
    >>> Range(1e-4, 1e-1, log=True)
    Range(low=0.0001, high=0.1, log=True, integer=False)
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_number(f"Range: {name}", getattr(self, name))
        if self.low > self.high:
            raise InputError(f"Range({self.low!r}, {self.high!r}): low must not be above high.")
        if self.integer and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise InputError(
                f"Range({self.low!r}, {self.high!r}, integer=True): both must be whole."
            )
        if self.log and self.low <= 0:
            raise InputError(f"Range({self.low!r}, …, log=True): low must be above 0.")


Space = Mapping[str, Any]
"""By name: a `Range`, a sequence of values to choose from, or a distribution of Optuna."""


def paper_grid(estimator: Estimator) -> Mapping[str, Sequence[Any]]:
    """The paper's grid for the method of this estimator.

    >>> from amongst import LWClassifier
    >>> len(grid_points(paper_grid(LWClassifier())))
    50
    """
    last, prefix = classifier_of(estimator), prefix_of(estimator)
    found = getattr(getattr(last, "method", type(last)), "grid", None)
    if found:
        return {prefix + name: values for name, values in found.items()}
    raise InputError(
        f"{type(last).__name__} has no grid of the paper.",
        code="no-grid",
        remedy={
            "python": "Pass grid={name: values}.",
            "command": f"Name another {named('method')}, such as lw or plsvm.",
        },
    )


def grid_with_default(estimator: Estimator) -> list[Mapping[str, Sequence[Any]]]:
    """The paper's grid, and, where it is none of its points, what the estimator trains with by itself.

    >>> from amongst import LWClassifier
    >>> grid_with_default(LWClassifier())[1]
    {'lr': [0.05], 'weight_decay': [0.001], 'beta': ['auto']}
    """
    grid, prefix = paper_grid(estimator), prefix_of(estimator)
    last = classifier_of(estimator)
    own = {name.removeprefix(prefix): name for name in grid}
    plain = {n: getattr(last, n) for n in own}
    method = getattr(last, "method", last)
    default = {own[n]: [getattr(method, n) if v is None else v] for n, v in plain.items()}
    known = all(values[0] in grid[name] for name, values in default.items())
    return [grid] if known else [grid, default]


def ranges(grid: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Ranges that span a grid's numbers, logarithmic where they span a factor of 10 or more.

    >>> ranges({"lr": (0.001, 0.1), "beta": (1.0, 2.0), "psi": ("sigmoid", "ramp")})
    {'lr': Range(low=0.001, high=0.1, log=True, integer=False), 'beta': Range(low=1.0, high=2.0, log=False, integer=False), 'psi': ('sigmoid', 'ramp')}
    """
    return {name: _range(values) for name, values in grid.items()}


def grid_points(grid: Grid) -> list[Point]:
    """Every combination of a grid's values.

    >>> grid_points({"lr": [0.1, 0.01], "beta": [1.0]})
    [{'beta': 1.0, 'lr': 0.1}, {'beta': 1.0, 'lr': 0.01}]
    """
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    try:
        found = list(ParameterGrid([dict(part) for part in parts]))
    except (TypeError, ValueError) as error:  # no lists
        raise InputError(f"grid: {error} For a range, use distributions.") from error
    if not found or found == [{}]:
        raise InputError("grid is empty: name at least one hyper-parameter and its values.")
    return found


def check_names(estimator: Estimator, names: Sequence[str], argument: str) -> None:
    """Every name is a parameter of the estimator; else an error with the near matches."""
    known = estimator.get_params()
    for name in names:
        if name not in known:
            near = [n for n in known if n.endswith(f"__{name}")] or near_matches(name, known)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise InputError(
                f"{argument}: {name!r} is no parameter of {type(estimator).__name__}.{hint}"
            )


def _range(values: Sequence[Any]) -> Any:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return values
    low, high = min(values), max(values)
    integer = all(isinstance(value, int) for value in values)
    return Range(low, high, log=low > 0 and high >= 10 * low, integer=integer)
