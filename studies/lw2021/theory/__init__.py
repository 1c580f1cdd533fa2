"""The theory of the Leveraged Weighted loss, verified, drawn, and held against sweeps of β."""

from lw2021.theory.bayes import BayesMap, bayes_map, minimiser, peaked
from lw2021.theory.counterexample import COUNTEREXAMPLE, Counterexample
from lw2021.theory.verification import Check, verify

__all__ = [
    "COUNTEREXAMPLE",
    "BayesMap",
    "Check",
    "Counterexample",
    "bayes_map",
    "minimiser",
    "peaked",
    "verify",
]
