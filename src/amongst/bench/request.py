"""What a person asked for: plain values, checked before anything runs; and the plans that there are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from amongst.algorithms import get_protocol
from amongst.bench.paper import IMAGE_PLANS, LW, PLAN_TITLES, plan_slots
from amongst.checks import check_choice, check_integer, check_number
from amongst.errors import InputError, Shown, named
from amongst.train import Settings

PLANS = (*PLAN_TITLES, "compare")
"""Names of plans; ``"compare"`` is a person's own."""

SEARCHES = ("none", "published", "grid", "equal")
EPOCHS = {"paper": 250, "demo": 40, "quick": 10}
"""By the scale of a request; the last two have a small MLP, too."""

CRITERIA = {
    "covering": "covering_val",
    "approximated": "approximated_val",
    "risk": "risk_val",
    "oracle": "accuracy_val",
}
"""Criterion of the search, and the metric that holds it; all but the oracle need candidate sets
only."""

KEEP = 0.25
"""Share of a grid that goes on from a short round, unless told."""

SHORT = "lw"
"""Stands for the variants of LW."""

_ROUNDS = ("search_seeds", "screen", "keep")
_OPTIONAL = (*_ROUNDS, "refit", "own", "digest", "rows")


@dataclass(frozen=True)
class Request:
    """What a person asked for; plain values, so that a store can remember it.

    >>> Request("table1", seeds=2).search
    'published'
    >>> Request("figure1", methods=("lw",)).methods
    ('lw-sigmoid',)
    """

    plan: str  # a name in `PLANS`
    # narrow the plan down; empty for all of it. "lw" stands for the variants of LW in the plan
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    seeds: int | None = None  # repeats; None for the plan's own (5, or one run of 10 folds)
    epochs: int | None = None  # None for the plan's own (250)
    # "none" (each method's default setting), "published" (the paper's, or the nearest),
    # "grid" (each method's own grid), "equal" (one grid and optimiser for all)
    search: str = "published"
    criterion: str = "covering"  # of the search; see `CRITERIA`
    protocol: str = "default"  # "default", "paper" or "official"
    precision: str = "float32"  # of training, e.g. "bf16" on a GPU
    # a miniature on scikit-learn's digits; for a comparison, few epochs and a small network
    quick: bool = False
    models: tuple[str, ...] = ()  # of the plan; for "compare" those to train
    folds: int | None = None  # of the cross-validation, for the plan "compare" alone
    metric: str = ""  # that cells report; empty for the protocol's own
    search_seeds: int | None = None  # that search the grid; the chosen settings train with all
    screen: int | None = None  # epochs of a first, short round of the whole grid; None for none
    keep: float | None = None  # share of the grid that goes on from it; None for `KEEP`
    refit: bool = False  # report networks that train on all rows, with the settings chosen
    own: tuple[str, ...] = ()  # words of a command that name a file of one's own and its columns
    digest: str = ""  # of the data that these words led to
    rows: int | None = None  # that train, for "compare": networks then have the settings of `fit`

    def __post_init__(self) -> None:
        for name in ("datasets", "methods", "conditions", "models", "own"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_choice("plan", self.plan, PLANS)
        object.__setattr__(self, "methods", _spelt_out(self.methods, self.plan))
        check_choice("search", self.search, SEARCHES)
        check_choice("criterion", self.criterion, CRITERIA)
        get_protocol(self.protocol)
        Settings(precision=self.precision)  # which refuses unknown ones
        lowest = {"seeds": 1, "epochs": 1, "search_seeds": 1, "screen": 1, "folds": 2}
        for name, low in lowest.items():
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low=low)
        self._check_held_out()
        self._check_rounds()

    @property
    def scale(self) -> str:
        """A name in `EPOCHS`."""
        return "quick" if self.quick else "demo" if self.plan == "demo" else "paper"

    @property
    def kept_share(self) -> float:
        """Share of the grid that goes on from a short round."""
        return KEEP if self.keep is None else self.keep

    @property
    def is_search(self) -> bool:
        """Whether held-out rows choose among settings."""
        return self.search in ("grid", "equal")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; rounds of a search, and files, only where there are any."""
        empty = (None, False, (), "")
        return {n: v for n, v in asdict(self).items() if n not in _OPTIONAL or v not in empty}

    def searches(self, seed: int) -> bool:
        """Whether the grid is searched with this seed."""
        return self.search_seeds is None or seed < self.search_seeds

    def check_searched(self, name: str) -> None:
        """Refuse an option that is for a search, where nothing is searched.

        A stored request always has a criterion; whether somebody asked for one, the caller knows.
        """
        if not self.is_search:
            problem = f"is for the search of a grid, and {named('search', self.search)} has one "
            grids = f"Use {named('search', 'grid')} or {named('search', 'equal')}, or leave it out."
            raise self._error(name, problem + "setting for each cell.", grids)

    def _error(self, name: str, problem: str, remedy: str = "Leave it out.") -> InputError:
        value = getattr(self, name)
        return InputError(problem, code="no-sense", argument=name, got=value, remedy=remedy)

    def _check_held_out(self) -> None:
        """A search needs rows held out, and only where there are some can they be given back."""
        if self.plan in IMAGE_PLANS and (self.is_search or self.refit):
            fixed = f"the plan {self.plan!r} fixes every setting, and all rows train."
            name = "search" if self.is_search else "refit"
            raise self._error(name, f"has nothing to do: {fixed}")
        if get_protocol(self.protocol).validation > 0:
            return
        protocol = named("protocol", self.protocol)
        if self.is_search:
            others = [named("protocol", "default"), named("protocol", "paper")]
            raise self._error(
                "search",
                f"needs rows held out for validation, and {protocol} holds out none.",
                f"Use {', '.join(others)} or {named('search', 'published')}.",
            )
        if self.refit:
            problem = f"has nothing to add: {protocol} trains on all rows anyway."
            raise self._error("refit", problem)

    def _check_rounds(self) -> None:
        for name in _ROUNDS:
            if getattr(self, name) is not None:
                self.check_searched(name)
        if self.search_seeds is not None and self.seeds is not None:
            check_number("search_seeds", self.search_seeds, low=1, high=self.seeds)
        full = self.epochs or EPOCHS[self.scale]
        if self.screen is not None and self.screen >= full:
            raise self._error("screen", f"is no short round before {full} epochs; use fewer.", "")
        if self.keep is not None:
            check_number("keep", self.keep, low=0, high=1, open_low=True)
            if self.screen is None:
                problem = "is the share that goes on from a short round"
                screen = named("screen", Shown("…"))
                raise self._error("keep", f"{problem}; set {screen} to its epochs.", "")


def check_within(
    name: str, value: str, options: Collection[str], place: str, elsewhere: Collection[str]
) -> str:
    """Return `value` if it is one of `options`, which `place` has; else say if it is one at all.

    >>> check_within("methods", "ipal", ["rc", "cc"], "table1", ["rc", "cc", "ipal"])
    Traceback (most recent call last):
    amongst.errors.InputError: methods='ipal' is not in table1. Choose from: cc, rc.
    """
    if value in elsewhere and value not in options:
        problem = f"is not in {place}. Choose from: {', '.join(sorted(options))}."
        raise InputError(problem, code="elsewhere", argument=name, got=value)
    return check_choice(name, value, options)


def _spelt_out(methods: tuple[str, ...], plan: str) -> tuple[str, ...]:
    """``lw`` as the variants of LW that the plan has."""
    if SHORT not in methods:
        return methods
    has = set(LW) if plan == "compare" else {slot.method for slot in plan_slots(plan)}
    variants = tuple(name for name in LW if name in has)
    return tuple(m for name in methods for m in (variants if name == SHORT else (name,)))
