"""Summaries and paired tests."""

from amongst.stats.paired import Alternative, holm, least_p, paired_t, wilcoxon_signed_rank
from amongst.stats.ranks import FriedmanNemenyi, friedman_nemenyi
from amongst.stats.summary import Summary, summarize

__all__ = [
    "Alternative",
    "FriedmanNemenyi",
    "Summary",
    "friedman_nemenyi",
    "holm",
    "least_p",
    "paired_t",
    "summarize",
    "wilcoxon_signed_rank",
]
