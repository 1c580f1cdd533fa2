"""The theory of the Leveraged Weighted loss, verified, drawn, and held against sweeps of β."""

from lw2021.theory.counterexample import COUNTEREXAMPLE, Counterexample
from lw2021.theory.verification import Check, verify

__all__ = ["COUNTEREXAMPLE", "Check", "Counterexample", "verify"]
