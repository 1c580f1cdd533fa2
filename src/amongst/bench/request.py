"""What a person asked for: plain values, checked before anything runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from amongst.bench.points import EPOCHS, SEARCHES
from amongst.bench.slots import LW, PAPER_PLANS
from amongst.checks import check_choice, check_integer, check_number
from amongst.engine import Settings
from amongst.errors import InputError
from amongst.methods import get_protocol

__all__ = ["CRITERIA", "KEEP", "PLANS", "SHORT", "Request"]

PLANS = (*PAPER_PLANS, "compare")
"""Names of plans; ``"compare"`` is a person's own."""

CRITERIA = MappingProxyType(
    {
        "covering": "covering_val",
        "approximated": "approximated_val",
        "risk": "risk_val",
        "oracle": "accuracy_val",
    }
)
"""Criterion of the search, and the metric that holds it; all but the oracle need candidate sets
only."""

KEEP = 0.25
"""Share of a grid that goes on from a short round, unless told."""

SHORT = "lw"
"""Stands for the variants of LW."""

_ROUNDS = ("search_seeds", "screen", "keep")
_OPTIONAL = (*_ROUNDS, "refit", "own", "digest")


@dataclass(frozen=True)
class Request:
    """What a person asked for; plain values, so that a store can remember it.

    Attributes
    ----------
    plan : a name in `PLANS`.
    datasets, methods, conditions : narrow the plan down; empty for all of it. The method ``"lw"``
        stands for those variants of LW that the plan has.
    seeds : repeats; None for the plan's own (5, or one run of 10 folds).
    epochs : None for the plan's own (250).
    search : ``"none"`` (each method's default setting), ``"published"`` (the paper's, or the
        nearest), ``"grid"`` (each method's own grid), ``"equal"`` (one grid and optimiser for all).
    criterion : of the search; see `CRITERIA`.
    protocol : ``"default"``, ``"paper"`` or ``"official"``.
    precision : of training, e.g. ``"bf16"`` on a GPU.
    quick : a miniature on scikit-learn's digits; for a comparison, few epochs and a small network.
    models : networks, to narrow the plan down; for the plan ``"compare"`` those to train.
    folds : of the cross-validation, for the plan ``"compare"`` alone.
    metric : that cells report; empty for the protocol's own.
    search_seeds : seeds that the grid is searched with; the chosen settings then train with all.
        None for all seeds.
    screen : epochs of a first, short round of the whole grid; None for none.
    keep : share of the grid that goes on from the short round; None for `KEEP`.
    refit : report networks that are trained on all training rows, with the settings that held-out
        rows chose; without a search nothing is held out.
    own : the words of a command that name a file of one's own and its columns.
    digest : of the data that these words led to.

    Examples
    --------
    >>> Request("table1", seeds=2).search
    'published'
    >>> Request("figure1", methods=("lw",)).methods
    ('lw-sigmoid',)
    """

    plan: str
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    seeds: int | None = None
    epochs: int | None = None
    search: str = "published"
    criterion: str = "covering"
    protocol: str = "default"
    precision: str = "float32"
    quick: bool = False
    models: tuple[str, ...] = ()
    folds: int | None = None
    metric: str = ""
    search_seeds: int | None = None
    screen: int | None = None
    keep: float | None = None
    refit: bool = False
    own: tuple[str, ...] = ()
    digest: str = ""

    def __post_init__(self) -> None:
        for name in ("datasets", "methods", "conditions", "models", "own"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        check_choice("plan", self.plan, PLANS)
        object.__setattr__(self, "methods", _spelt_out(self.methods, self.plan))
        check_choice("search", self.search, SEARCHES)
        check_choice("criterion", self.criterion, CRITERIA)
        get_protocol(self.protocol)
        Settings(precision=self.precision)  # which refuses unknown ones
        for name in ("seeds", "epochs", "search_seeds", "screen"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low=1)
        if self.folds is not None:
            check_integer("folds", self.folds, low=2)
        self._check_held_out()
        self._check_rounds()

    @property
    def scale(self) -> str:
        """``"quick"``, ``"demo"`` or ``"paper"``; see `Budget`."""
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
        """Whether the grid is searched with this seed.

        >>> [Request("table1", search="grid", search_seeds=1).searches(seed) for seed in (0, 1)]
        [True, False]
        """
        return self.search_seeds is None or seed < self.search_seeds

    def check_searched(self, name: str) -> None:
        """Refuse an option that is for a search, where nothing is searched.

        A stored request always has a criterion; whether somebody asked for one, the caller knows.

        >>> Request("table1", criterion="oracle").check_searched("criterion")
        Traceback (most recent call last):
        amongst.errors.InputError: criterion='oracle' is for the search of a grid, and ...
        """
        if not self.is_search:
            raise InputError(
                f"{name}={getattr(self, name)!r} is for the search of a grid, and "
                f"search={self.search!r} has one setting for each cell. Use search='grid' or "
                "search='equal', or leave it out."
            )

    def _check_held_out(self) -> None:
        """A search needs rows held out, and only where there are some can they be given back."""
        if get_protocol(self.protocol).validation > 0:
            return
        if self.is_search:
            raise InputError(
                f"search={self.search!r} needs rows held out for validation, and "
                f"protocol={self.protocol!r} holds out none. Use protocol='default', "
                "protocol='paper' or search='published'."
            )
        if self.refit:
            raise InputError(
                f"refit=True has nothing to add: protocol={self.protocol!r} trains on all rows "
                "anyway. Leave it out."
            )

    def _check_rounds(self) -> None:
        for name in _ROUNDS:
            if getattr(self, name) is not None:
                self.check_searched(name)
        if self.search_seeds is not None and self.seeds is not None:
            check_number("search_seeds", self.search_seeds, low=1, high=self.seeds)
        if self.screen is not None:
            full = self.epochs or EPOCHS[self.scale]
            if self.screen >= full:
                raise InputError(
                    f"screen={self.screen} is no short round before {full} epochs; use fewer."
                )
        if self.keep is not None:
            check_number("keep", self.keep, low=0, high=1, open_low=True)
            if self.screen is None:
                raise InputError(
                    f"keep={self.keep} is the share that goes on from a short round; set screen=… to "
                    "its epochs."
                )


def _spelt_out(methods: tuple[str, ...], plan: str) -> tuple[str, ...]:
    """``lw`` as the variants of LW that the plan has."""
    if SHORT not in methods:
        return methods
    slots = PAPER_PLANS[plan][1]() if plan in PAPER_PLANS else []
    has = {slot.method for slot in slots} or set(LW)
    variants = tuple(name for name in LW if name in has)
    return tuple(m for name in methods for m in (variants if name == SHORT else (name,)))
