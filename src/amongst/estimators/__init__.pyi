"""Made by scripts/stubs.py from the registry: the estimators, for editors and type checkers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amongst.estimators.base import PartialLabelClassifier as PartialLabelClassifier
from amongst.estimators.by_algorithm import estimator_for as estimator_for
from amongst.estimators.classical.ipal import IPALClassifier as IPALClassifier
from amongst.estimators.classical.paloc import PALOCClassifier as PALOCClassifier
from amongst.estimators.classical.plecoc import PLECOCClassifier as PLECOCClassifier
from amongst.estimators.classical.plknn import PLKNNClassifier as PLKNNClassifier
from amongst.estimators.classical.plridge import PLRidgeClassifier as PLRidgeClassifier
from amongst.estimators.classical.plsvm import PLSVMClassifier as PLSVMClassifier
from amongst.estimators.crowd import CrowdClassifier as CrowdClassifier
from amongst.estimators.neural import NeuralClassifier as NeuralClassifier
from amongst.estimators.partial_label import PartialLabel as PartialLabel
from amongst.estimators.persistence import load as load
from amongst.estimators.persistence import save as save
from amongst.estimators.pipelines import disambiguate as disambiguate

CLASSICAL: Mapping[str, Any]
ESTIMATORS: Mapping[str, type[PartialLabelClassifier]]

@dataclass(kw_only=True, eq=False, repr=False)
class ALIMClassifier(NeuralClassifier):
    """PiCO, with 1 on candidates and λ on other labels in place of the set, and a mixed loss:"""

    width: int = 128
    queue: int = 8192
    ema: float = 0.999
    memory: float = 0.99
    weight: float = 0.5
    temperature: float = 0.07
    phi: float = 0.95
    phi_end: float = 0.8
    start: float = 0.1
    noise: float = 0.1
    form: str = "onehot"
    adjust: float = 0.08
    mixup: float = 1.0
    mix: float = 4.0

@dataclass(kw_only=True, eq=False, repr=False)
class AverageClassifier(NeuralClassifier):
    """The mean of ψ(g_z) over z ∈ s, by the weights of the candidates where they have some."""

    psi: str = "cross_entropy"

@dataclass(kw_only=True, eq=False, repr=False)
class CAVLClassifier(NeuralClassifier):
    """−log p of the candidate with the largest |1 − v_z| g_z, as a second pass after the step has it; at"""

    activation: str = "score"

@dataclass(kw_only=True, eq=False, repr=False)
class CCClassifier(NeuralClassifier):
    """−log Σ_{z∈s} p_z; with weights π of the candidates −log Σ π_z p_z."""

@dataclass(kw_only=True, eq=False, repr=False)
class CLPLClassifier(NeuralClassifier):
    """ψ(max_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z), or with ``form="mean"`` ψ of the mean score over s."""

    psi: str = "squared_hinge"
    form: str = "mean"
    model: Any = "linear"

@dataclass(kw_only=True, eq=False, repr=False)
class CRDPLLClassifier(NeuralClassifier):
    """−Σ_{z∉s} log(1 − p_z) of the first view + λ(t) Σ_views KL(c ‖ p), with c on s proportional to the"""

    views: int = 3
    weight: float = 1.0
    ramp: float = 0.5

@dataclass(kw_only=True, eq=False, repr=False)
class DIRKClassifier(NeuralClassifier):
    """−Σ_z r_z log p_z + `weight` · contrast, for sets that depend on the instance: r is a teacher's p,"""

    width: int = 128
    queue: int = 4096
    ema: float = 0.99
    weight: float = 1.0
    temperature: float = 0.07
    likeness: float = 0.4
    start: float = 0.005

@dataclass(kw_only=True, eq=False, repr=False)
class LWClassifier(NeuralClassifier):
    """α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z), w from the scores on either side of s."""

    psi: str = "cross_entropy"
    beta: float | str = "auto"
    alpha: float = 1.0
    fade: float | None = None
    @property
    def beta_(self) -> Any: ...

@dataclass(kw_only=True, eq=False, repr=False)
class LWViewsClassifier(NeuralClassifier):
    """Mean over views of λ(t) α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z), the cross-entropy ψ by default:"""

    views: int = 2
    beta: float = 1.0
    alpha: float = 1.0
    outside: str = "ones"
    start: float = 0.0
    ramp: float = 0.3
    belief: str = "views"
    keep: float = 0.5
    sharpness: float = 1.0
    ema: float = 0.99
    psi: str = "cross_entropy"

@dataclass(kw_only=True, eq=False, repr=False)
class MeanTeacherClassifier(NeuralClassifier):
    """−Σ_{z∈s} c_z log p_z with c the softmax over s of a teacher's scores on the second view; after each"""

    ema: float = 0.99

@dataclass(kw_only=True, eq=False, repr=False)
class MinimumClassifier(NeuralClassifier):
    """min_{z∈s} ψ(g_z): only the best candidate counts, the one of the largest g_z + log π_z where"""

    psi: str = "cross_entropy"

@dataclass(kw_only=True, eq=False, repr=False)
class MixupClassifier(NeuralClassifier):
    """−Σ_z (λ c_z + (1 − λ) c'_z) log p_z of λ x + (1 − λ) x', with x' another row of the batch and λ from"""

    mix: float = 1.0
    keep: float = 0.9

@dataclass(kw_only=True, eq=False, repr=False)
class PALSClassifier(NeuralClassifier):
    """Mean over views of −Σ t_z log p_z of reliable rows, mixed with other ones by λ of Beta(`mix`,"""

    views: int = 2
    neighbours: int = 15
    delta: float = 0.25
    smoothing: float = 0.5
    sure: float = 0.45
    sure_end: float = 0.35
    mix: float = 1.0

@dataclass(kw_only=True, eq=False, repr=False)
class PaPiClassifier(NeuralClassifier):
    """−Σ c_z log p_z of the first view + α Σ_views [λ KL(c ‖ r) + (1 − λ) KL(c' ‖ r)], with r the softmax"""

    width: int = 128
    temperature: float = 0.3
    mix: float = 8.0
    weight: float = 1.0
    ramp: float = 0.02
    phi: float = 0.95
    phi_end: float = 0.8
    memory: float = 0.9
    memory_end: float = 0.5

@dataclass(kw_only=True, eq=False, repr=False)
class PiCOClassifier(NeuralClassifier):
    """−Σ s_z log p_z + `weight` · contrast: a row's embedding q of its first view nears those, by a slow"""

    width: int = 128
    queue: int = 8192
    ema: float = 0.999
    memory: float = 0.99
    weight: float = 0.5
    temperature: float = 0.07
    phi: float = 0.95
    phi_end: float = 0.8
    start: float = 0.1

@dataclass(kw_only=True, eq=False, repr=False)
class POPClassifier(NeuralClassifier):
    """Mean over views of −Σ_{z∈s} c_z log p_z, c the softmax over s of the first view's scores at the"""

    views: int = 3
    start: float = 0.04
    window: int = 5
    threshold_start: float = 0.001
    growth: float = 0.001
    highest: float = 0.4

@dataclass(kw_only=True, eq=False, repr=False)
class PRODENClassifier(NeuralClassifier):
    """−Σ_{z∈s} c_z log p_z, with c the softmax over s of the scores that gave the row's last loss."""

@dataclass(kw_only=True, eq=False, repr=False)
class RCClassifier(NeuralClassifier):
    """−Σ_{z∈s} c_z log p_z, with c from a second pass after the optimiser's step."""

@dataclass(kw_only=True, eq=False, repr=False)
class RECORDSClassifier(NeuralClassifier):
    """Σ_views [−Σ_{z∉s} log(1 − p_z) + KL(c ‖ p)], c over s from the geometric mean of all views at the"""

    views: int = 2
    memory: float = 0.9
    mixup: float = 1.0
    mix: float = 4.0

@dataclass(kw_only=True, eq=False, repr=False)
class SoLarClassifier(NeuralClassifier):
    """η [−Σ t_z log p_z of the first view, of the second, and of a mixed one] over trusted rows"""

    queue: int = 16384
    sharpness: float = 3.0
    eta: float = 0.9
    rho: float = 0.2
    rho_end: float = 0.8
    sure: float = 0.99
    ramp: float = 0.05
    estimating: float = 0.02
    gamma_start: float = 0.1
    gamma: float = 0.01
    mix: float = 4.0

def __getattr__(name: str) -> Any: ...
