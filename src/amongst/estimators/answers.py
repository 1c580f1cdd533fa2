"""How far to believe what a fitted estimator says of rows and their candidate sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.candidates.container import LARGEST
from amongst.errors import InputError
from amongst.estimators.ensemble import explain, unseen
from amongst.estimators.inputs import Floats
from amongst.train.doubts import LIKELY, as_share
from amongst.trust import (
    Calibration,
    Law,
    calibration_of,
    chance_outside,
    fit_outside,
    prediction_sets,
    tempered,
)


class Answers:
    """How far to believe it: which rows are in doubt, and, once it has been told how sure it may be,
    sets with a coverage.

    Attributes
    ----------
    calibration_ : what `calibrate` found, an `amongst.trust.Calibration`; None before.
    """

    classes_: npt.NDArray[Any]
    calibration_: Calibration | None = None
    outside_: float
    outside_temperature_: float

    if TYPE_CHECKING:

        def _log_weights(self, X: npt.ArrayLike) -> Floats: ...
        def _weighed(self, X: npt.ArrayLike, y: Any) -> tuple[Floats, CandidateSets]: ...
        @property
        def _temperature(self) -> float: ...

    def suspects(
        self, X: npt.ArrayLike, y: Any, *, outside: float | str = "auto", ensemble: int = 5
    ) -> pd.DataFrame:
        """Rows whose true label is likely none of their candidates, and the label proposed.

        An estimator that was fitted with ``outside=`` learnt of these rows what others say of them, and
        answers by itself. Of others, clones judge the rows that they have not seen, as in `explain`.

        Parameters
        ----------
        X, y : features and candidate sets, as for `fit`.
        outside : the share of such rows, or ``"auto"`` to find it; see `amongst.trust.fit_outside`.
        ensemble : how many clones; 0 for the estimator itself, on rows that it was not fitted on.

        Returns
        -------
        DataFrame with a row for each that is suspected, likeliest first, under the index of X:
        ``label``, the likeliest candidate; ``proposed``, the likeliest other class; ``outside``, the
        probability that no candidate is right, above 1/2.

        Examples
        --------
        >>> from amongst import PLKNNClassifier, as_candidates
        >>> X, y = np.repeat(np.eye(3), 20, axis=0), np.repeat([0, 1, 2], 20)
        >>> told = np.where(np.arange(60) == 7, 2, y)
        >>> model = PLKNNClassifier(n_neighbors=5).fit(X, told)
        >>> model.suspects(X, told)[["label", "proposed"]]
           label  proposed
        7      2         0
        """
        logs, sets = self._weighed(X, y)
        given = as_share(outside)
        if given is None and hasattr(self, "outside_"):
            chances = self._outside(logs, sets)
        else:
            judged = unseen(self, X, sets, ensemble)
            logs = logs if judged is None else judged[0]
            chances = fit_outside(logs, sets, given).chances
        within = (self._likeliest(logs, side) for side in (sets.mask, ~sets.mask))
        best, other = (found.astype(self.classes_.dtype) for found in within)
        table = {"label": best, "proposed": other, "outside": chances}
        kept = pd.DataFrame(table, index=_index(X))[chances > LIKELY]
        return kept.sort_values("outside", ascending=False, kind="stable")

    def explain(self, X: npt.ArrayLike, y: Any, *, ensemble: int = 5) -> pd.DataFrame:
        """What happened to each row: its label, how sure that is, and what asking would gain.

        An ensemble of clones is trained on these rows, each without one part of them, so that each
        row is judged by a clone that has not seen it. The label is that of `disambiguate`; its
        confidence, and what else is about probabilities, comes from that clone, at the temperature
        that makes the candidate sets of these rows likeliest. For rows that the
        estimator was not fitted on, or a quick answer, pass ``ensemble=0``: then all comes from the
        estimator itself, which is too sure of rows that it was fitted on.

        Parameters
        ----------
        X, y : features and candidate sets, as for `fit`.
        ensemble : how many clones, 0 or at least 2; networks train as one population where they can.

        Returns
        -------
        DataFrame with a row for each row of X, and its index; see `amongst.trust.explain_rows`.

        Examples
        --------
        >>> from amongst import PLKNNClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], ["a", "a|b", "a", "b", "a|b", "b"]
        >>> model = PLKNNClassifier(n_neighbors=3).fit(X, y)
        >>> model.explain(X, y, ensemble=0)[["label", "gain", "rank"]].round(2).head(3)
          label  gain  rank
        0     a  0.00     3
        1     a  0.33     1
        2     a  0.00     4
        """
        return explain(self, X, y, ensemble).rows

    def calibrate(self, X: npt.ArrayLike, y: Any) -> Self:
        """Find from rows that `fit` has not seen how sure the answers may be.

        From then on `predict_proba`, `disambiguate` and `explain` give calibrated confidences, and
        `predict_set` and `reject` answer. The labels of `predict` stay. `fit` forgets it.

        Parameters
        ----------
        X, y : features and candidate sets, as for `fit`; some hundred rows, like those to come.

        Examples
        --------
        >>> from amongst import PLKNNClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], ["a", "a|b", "a", "b", "a|b", "b"]
        >>> model = PLKNNClassifier(n_neighbors=3).fit(X, y)
        >>> model = model.calibrate([[1.5], [8.5], [2.5]] * 9, ["a", "b", "a"] * 9)
        >>> model.predict_set([[1.0], [9.0]], coverage=0.5).to_lists()
        [['a'], ['b']]
        >>> model.reject([[1.0], [5.0]], error=0.2).tolist()
        [False, True]
        """
        self.calibration_ = calibration_of(*self._weighed(X, y))
        return self

    def predict_set(
        self, X: npt.ArrayLike, coverage: float = 0.9, law: Law = "chance"
    ) -> CandidateSets:
        """For each row the labels amongst which the true one is, in a share `coverage` of rows.

        Parameters
        ----------
        X : features of rows.
        coverage : from 0 to 1.
        law : what `calibrate` may believe of its candidate sets: ``"chance"``, false labels join by
            themselves, each at a rate of its own; ``"any"``, the true label is amongst them, and no
            more, which makes large sets. See `amongst.trust.conformal`.
        """
        threshold = self._known("predict_set").threshold(coverage, law)
        return CandidateSets(prediction_sets(self._log_weights(X), threshold), self.classes_)

    def reject(self, X: npt.ArrayLike, error: float = 0.05) -> npt.NDArray[np.bool_]:
        """Whether each row is better left to a person, so that of the others a share `error` is wrong
        at most, shape (n,).

        ``calibration_.curve`` has the expected error for every share of rows that is answered.
        """
        least = self._known("reject").surest(error)
        confidence = tempered(self._log_weights(X), self._temperature).max(axis=1)
        return np.asarray(confidence < least)

    def _outside(self, logs: Floats, sets: CandidateSets) -> Floats:
        """P(y ∉ s | x, s), shape (n,), of an estimator that was fitted with a share of such rows."""
        return chance_outside(tempered(logs, self.outside_temperature_), sets, self.outside_)

    def _likeliest(self, logs: Floats, mask: npt.NDArray[np.bool_]) -> Any:
        """Of these classes of each row."""
        within = np.where(mask, np.maximum(logs, -LARGEST), -np.inf)
        return self.classes_.astype(object)[within.argmax(axis=1)]

    def _calibrated(self, proba: Floats) -> Floats:
        """Probabilities at the temperature that was found; as they are where none was."""
        if self.calibration_ is None:
            return proba
        with np.errstate(divide="ignore"):
            return tempered(np.log(proba), self._temperature)

    def _known(self, asked: str) -> Calibration:
        if self.calibration_ is None:
            raise InputError(
                f"{asked} needs rows that fit has not seen, to learn how sure it may be.",
                code="not-calibrated",
                remedy="Call calibrate(X, y) first.",
            )
        return self.calibration_


def _index(X: Any) -> Any:
    return X.index if isinstance(X, pd.DataFrame) else None
