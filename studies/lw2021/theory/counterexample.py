"""The erratum in numbers: the smallest problem on which Theorem 1 as printed fails."""

from __future__ import annotations

from dataclasses import dataclass

from amongst.theory.risk import corrected_risk, exact_risk, fixed_weights, printed_risk

__all__ = ["COUNTEREXAMPLE", "Counterexample"]


@dataclass(frozen=True)
class Counterexample:
    """The smallest problem on which Theorem 1 as printed fails; it can be done by hand.

    Two labels, all scores 0 and all weights 1, so that every ψ is 1/2. The set is {y} with
    probability 1 − q and costs 1/2 + β/2, or both labels with probability q and costs 1.

    Examples
    --------
    >>> case = Counterexample(q=0.1, beta=2.0)
    >>> [round(value, 12) for value in (case.exact, case.corrected, case.printed)]
    [1.45, 1.45, 0.65]
    """

    q: float = 0.1
    beta: float = 2.0

    @property
    def exact(self) -> float:
        """By enumeration of the two sets."""
        return float(
            exact_risk(fixed_weights([1.0, 1.0], "sigmoid", self.beta), [0.0, 0.0], self.q, 0)
        )

    @property
    def corrected(self) -> float:
        """By the corrected form."""
        return float(corrected_risk([0.0, 0.0], [1.0, 1.0], self.q, 0, self.beta))

    @property
    def printed(self) -> float:
        """By the form that the paper prints."""
        return float(printed_risk([0.0, 0.0], [1.0, 1.0], self.q, 0, self.beta))


COUNTEREXAMPLE = Counterexample()
"""q = 0.1 and β = 2: the risk is 1.45, the printed form gives 0.65."""
