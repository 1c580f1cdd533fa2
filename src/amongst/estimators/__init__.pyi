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
    """ALIM: Xu et al., ALIM: Adjusting Label Importance Mechanism, NeurIPS 2023."""

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
    """Average: Jin & Ghahramani, Learning with Multiple Labels, 2002."""

    psi: str = "cross_entropy"

@dataclass(kw_only=True, eq=False, repr=False)
class CAVLClassifier(NeuralClassifier):
    """CAVL: Zhang et al., Exploiting Class Activation Value, ICLR 2022."""

    activation: str = "score"

class CCClassifier(NeuralClassifier):
    """CC: Feng et al., Provably Consistent Partial-Label Learning, 2020."""

@dataclass(kw_only=True, eq=False, repr=False)
class CLPLClassifier(NeuralClassifier):
    """CLPL: Cour et al., Learning from Partial Labels, JMLR 2011."""

    psi: str = "squared_hinge"
    form: str = "mean"
    model: Any = "linear"

@dataclass(kw_only=True, eq=False, repr=False)
class CRDPLLClassifier(NeuralClassifier):
    """CRDPLL: Wu et al., Revisiting Consistency Regularization for Deep PLL, ICML 2022."""

    views: int = 3
    weight: float = 1.0
    ramp: float = 0.5

@dataclass(kw_only=True, eq=False, repr=False)
class DIRKClassifier(NeuralClassifier):
    """DIRK: Wu et al., Distilling Reliable Knowledge for Instance-Dependent PLL, AAAI 2024."""

    width: int = 128
    queue: int = 4096
    ema: float = 0.99
    weight: float = 1.0
    temperature: float = 0.07
    likeness: float = 0.4
    start: float = 0.005

@dataclass(kw_only=True, eq=False, repr=False)
class LWClassifier(NeuralClassifier):
    """LW: Wen et al., Leveraged Weighted Loss, ICML 2021."""

    psi: str = "cross_entropy"
    beta: float | str = "auto"
    alpha: float = 1.0
    fade: float | None = None
    @property
    def beta_(self) -> Any: ...

@dataclass(kw_only=True, eq=False, repr=False)
class LWViewsClassifier(NeuralClassifier):
    """LW with views: Wen et al., Leveraged Weighted Loss, ICML 2021, with views as CRDPLL has them."""

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
    """Mean teacher: Tarvainen & Valpola, Mean teachers are better role models, NeurIPS 2017."""

    ema: float = 0.99

@dataclass(kw_only=True, eq=False, repr=False)
class MinimumClassifier(NeuralClassifier):
    """Minimum: Lv et al., Progressive Identification of True Labels, ICML 2020."""

    psi: str = "cross_entropy"

@dataclass(kw_only=True, eq=False, repr=False)
class MixupClassifier(NeuralClassifier):
    """PRODEN with mixup: Zhang et al., mixup: Beyond Empirical Risk Minimization, ICLR 2018."""

    mix: float = 1.0
    keep: float = 0.9

@dataclass(kw_only=True, eq=False, repr=False)
class PALSClassifier(NeuralClassifier):
    """PALS: Saravanan et al., Pseudo-labelling meets Label Smoothing, CVPRW 2025."""

    views: int = 2
    neighbours: int = 15
    delta: float = 0.25
    smoothing: float = 0.5
    sure: float = 0.45
    sure_end: float = 0.35
    mix: float = 1.0

@dataclass(kw_only=True, eq=False, repr=False)
class PaPiClassifier(NeuralClassifier):
    """PaPi: Xia et al., Towards Effective Visual Representations for PLL, CVPR 2023."""

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
    """PiCO: Wang et al., PiCO: Contrastive Label Disambiguation, ICLR 2022."""

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
    """POP: Xu et al., Progressive Purification for Instance-Dependent PLL, ICML 2023."""

    views: int = 3
    start: float = 0.04
    window: int = 5
    threshold_start: float = 0.001
    growth: float = 0.001
    highest: float = 0.4

class PRODENClassifier(NeuralClassifier):
    """PRODEN: Lv et al., Progressive Identification of True Labels, ICML 2020."""

class RCClassifier(NeuralClassifier):
    """RC: Feng et al., Provably Consistent Partial-Label Learning, 2020."""

@dataclass(kw_only=True, eq=False, repr=False)
class RECORDSClassifier(NeuralClassifier):
    """RECORDS: Hong et al., Long-Tailed PLL via Dynamic Rebalancing, ICLR 2023."""

    views: int = 2
    memory: float = 0.9
    mixup: float = 1.0
    mix: float = 4.0

@dataclass(kw_only=True, eq=False, repr=False)
class SoLarClassifier(NeuralClassifier):
    """SoLar: Wang et al., SoLar: Sinkhorn Label Refinery, NeurIPS 2022."""

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
