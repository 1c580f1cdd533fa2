"""amongst: partial-label learning. The true label is *amongst* these."""

from amongst.candidates import CandidateSets, as_candidates

__version__ = "0.1.0"

__all__ = ["CandidateSets", "__version__", "as_candidates"]
