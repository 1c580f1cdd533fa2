"""Looking at doubtful rows one after another: what is decided is kept, and trains as certain."""

from amongst.review.decisions import Decision, Decisions, file_digest
from amongst.review.reviewed import reviewed_sets
from amongst.review.rows import Rows, Wanted

__all__ = ["Decision", "Decisions", "Rows", "Wanted", "file_digest", "reviewed_sets"]
