"""Candidate sets: what they are, how they come in, and the laws that generate them."""

from amongst.candidates.container import CandidateSets
from amongst.candidates.convert import as_candidates
from amongst.candidates.description import Description, co_occurrence, describe, estimated_q
from amongst.candidates.generate import (
    case,
    class_dependent,
    instance_dependent,
    long_tailed,
    noisy,
    uniform,
)

__all__ = [
    "CandidateSets",
    "Description",
    "as_candidates",
    "case",
    "class_dependent",
    "co_occurrence",
    "describe",
    "estimated_q",
    "instance_dependent",
    "long_tailed",
    "noisy",
    "uniform",
]
