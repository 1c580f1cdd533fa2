"""What to believe of an answer when no true label is known: rows explained, and whom to ask next."""

from amongst.candidates.container import with_prior
from amongst.trust.calibration import (
    FLOOR,
    fit_temperature,
    log_beliefs,
    reliability,
    set_risk,
    tempered,
)
from amongst.trust.conformal import (
    Calibration,
    Law,
    calibration_of,
    error_curve,
    prediction_sets,
)
from amongst.trust.explanation import Explanation, ask_order, expected_right, explain_rows
from amongst.trust.outside import Outside, chance_outside, fit_outside
from amongst.trust.page import explained_page, gallery
from amongst.trust.rates import Company, LabelRates, estimate_label_q, not_by_chance

__all__ = [
    "FLOOR",
    "Calibration",
    "Company",
    "Explanation",
    "LabelRates",
    "Law",
    "Outside",
    "ask_order",
    "calibration_of",
    "chance_outside",
    "error_curve",
    "estimate_label_q",
    "expected_right",
    "explain_rows",
    "explained_page",
    "fit_outside",
    "fit_temperature",
    "gallery",
    "log_beliefs",
    "not_by_chance",
    "prediction_sets",
    "reliability",
    "set_risk",
    "tempered",
    "with_prior",
]
