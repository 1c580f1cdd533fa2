"""Every statement of the theory, checked once more on random problems: what `amongst theory` runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from amongst.candidates import case, class_dependent
from amongst.checks import Seed, check_integer, spawn
from amongst.losses import PSIS, average, classifier_consistent, initial_weights, minimum
from amongst.theory import (
    beta_threshold,
    normalised_threshold,
    ova_weights,
    symmetric_form,
)
from amongst.theory.bayes import WEIGHTS, bayes_map, peaked
from amongst.theory.estimate import estimate_class_q, estimate_uniform_q
from amongst.theory.law import MAX_CLASSES, enumerate_sets, set_law
from amongst.theory.risk import (
    PartialLoss,
    corrected_risk,
    exact_risk,
    fixed_weights,
    following_weights,
    marginal_risk,
    monte_carlo_risk,
    printed_gap,
    printed_risk,
)

__all__ = ["Check", "Problem", "random_problems", "random_rows", "verify"]

Array = npt.NDArray[np.float64]

EXACT = 1e-12
"""What counts as equal for sums in float64."""


@dataclass(frozen=True)
class Check:
    """One statement and what came out.

    Attributes
    ----------
    name : what it is about.
    claim : the statement, in a line.
    measured : the number that decides: an error, in the unit of `unit`.
    limit : it holds where `measured` is at most this.
    unit : what the number is.
    refuted : True for a printed statement that is expected to fail.

    Examples
    --------
    >>> Check("Lemma", "it sums to one", 1e-16, 1e-12).holds
    True
    """

    name: str
    claim: str
    measured: float
    limit: float
    unit: str = "max. relative error"
    refuted: bool = False

    @property
    def holds(self) -> bool:
        """Whether the statement came out true."""
        return self.measured <= self.limit

    @property
    def as_expected(self) -> bool:
        """Whether it came out as documented: true, or false for a refuted one."""
        return self.holds is not self.refuted


@dataclass(frozen=True, eq=False)
class Problem:
    """A random g, w, q, posterior (each (K,)), y, β and ψ."""

    g: Tensor
    w: Tensor
    q: Tensor
    posterior: Tensor
    y: int
    beta: float
    psi: str

    @property
    def loss(self) -> PartialLoss:
        """LW with the problem's fixed weights."""
        return fixed_weights(self.w, self.psi, self.beta)


def random_problems(rng: np.random.Generator, count: int, largest: int = 8) -> Iterator[Problem]:
    """Problems with K from 2 to `largest`, rates anywhere in [0, 1], and every trainable ψ.

    >>> len(list(random_problems(np.random.default_rng(0), 5)))
    5
    """
    names = sorted(name for name, psi in PSIS.items() if psi.trainable)
    for number in range(count):
        k = int(rng.integers(2, largest + 1))
        rows = rng.normal(0, 2, k), rng.exponential(1, k), rng.random(k), rng.dirichlet(np.ones(k))
        g, w, q, p = map(torch.from_numpy, rows)
        beta = float(rng.exponential(3))
        yield Problem(g, w, q, p, int(rng.integers(k)), beta, names[number % len(names)])


def random_rows(rng: np.random.Generator, k: int, n: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Posteriors (n, K) that are mostly sure of a label, and labels (n,) drawn from them.

    >>> p, y = random_rows(np.random.default_rng(0), 3, 5)
    >>> p.shape, y.shape
    ((5, 3), (5,))
    """
    p = rng.dirichlet(np.full(k, 0.2), size=n)
    return p, (rng.random((n, 1)) > p.cumsum(1)).sum(1).clip(max=k - 1)


def verify(problems: int = 100, seed: Seed = 0) -> list[Check]:
    """Check the law, the risks, the thresholds, Theorem 2 and the estimates; in seconds.

    Parameters
    ----------
    problems : how many random problems each identity is tried on.
    seed : int, NumPy generator or None.

    Examples
    --------
    >>> all(check.as_expected for check in verify(problems=8))
    True
    """
    check_integer("problems", problems, low=1)
    checks = (_law_checks, _risk_checks, _printed_checks, _beta_checks, _bayes_checks, _rate_checks)
    rngs = spawn(seed, len(checks), "seed")
    return [found for run, rng in zip(checks, rngs, strict=True) for found in run(rng, problems)]


def _law_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    sums = []
    for k in (2, 3, 5, 8, MAX_CLASSES):
        sets = enumerate_sets(k, 0)
        for full in (False, True):
            sums.append(float(set_law(sets, rng.random(k), 0, exclude_full=full).sum() - 1))
    yield Check(
        "Lemma",
        "the law of the sets sums to one, K = 2 to 16, with and without [K]",
        _worst(sums),
        EXACT,
        "max. error",
    )
    yield Check(
        "Law",
        "generated sets follow it, K = 4, 100,000 draws",
        _frequency_error(rng),
        4.5,
        "standard errors off",
    )


def _frequency_error(rng: np.random.Generator, draws: int = 100_000) -> float:
    Q = np.where(np.eye(4, dtype=bool), 1.0, rng.uniform(0.1, 0.9, (4, 4)))
    sets = enumerate_sets(4, 0)[:-1]
    law = set_law(sets, Q, 0, exclude_full=True).numpy()
    labels = np.zeros(draws, dtype=int)
    drawn = class_dependent(labels, Q, classes=range(4), exclude_full=True, seed=rng)
    bits = 1 << np.arange(4)
    seen = np.bincount(drawn.mask @ bits, minlength=16)[sets.numpy() @ bits] / draws
    return _worst((seen - law) / np.sqrt(law * (1 - law) / draws))


def _risk_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    found = list(random_problems(rng, problems))
    yield Check(
        "Appendix theorem",
        "E L(s, g) = Σ_y p_y E[L(s, g) | y] for any loss: LW, CC, average, min",
        _worst([_appendix_error(problem, loss) for problem in found for loss in _losses(problem)]),
        EXACT,
    )
    for full, words in ((False, ""), (True, ", without [K]")):
        errors = [
            _relative(_closed(problem, full), _enumerated(problem, full)) for problem in found
        ]
        claim = f"w_y ψ(g_y) + Σ w_z [q_z ψ(g_z) + β (1−q_z) ψ(−g_z)] = enumeration{words}"
        yield Check("Theorem 1, corrected", claim, _worst(errors), EXACT)
    yield Check(
        "Simulation",
        "the corrected form again, K = 50, 100,000 draws",
        _simulation_error(rng),
        4.0,
        "standard errors off",
    )


def _losses(problem: Problem) -> list[PartialLoss]:
    return [
        problem.loss,
        following_weights(problem.psi, problem.beta),
        classifier_consistent,
        lambda g, inside: average(g, inside, problem.psi),
        lambda g, inside: minimum(g, inside, problem.psi),
    ]


def _appendix_error(problem: Problem, loss: PartialLoss) -> float:
    g, q, p = problem.g, problem.q, problem.posterior
    by_label = sum(p[y] * exact_risk(loss, g, q, y) for y in range(len(p)))
    return _relative(marginal_risk(loss, g, q, p), torch.as_tensor(by_label))


def _enumerated(problem: Problem, exclude_full: bool = False) -> Tensor:
    return exact_risk(problem.loss, problem.g, problem.q, problem.y, exclude_full=exclude_full)


def _closed(problem: Problem, exclude_full: bool = False) -> Tensor:
    return corrected_risk(*_arguments(problem), exclude_full=exclude_full)


def _arguments(problem: Problem) -> tuple[Tensor, Tensor, Tensor, int, float, str]:
    return problem.g, problem.w, problem.q, problem.y, problem.beta, problem.psi


def _simulation_error(rng: np.random.Generator, k: int = 50) -> float:
    g, w, q = rng.normal(0, 2, k), rng.exponential(1, k), rng.random(k)
    drawn = monte_carlo_risk(fixed_weights(w, "sigmoid", 3.0), g, q, 7, seed=rng)
    return abs(drawn.value - float(corrected_risk(g, w, q, 7, 3.0))) / drawn.standard_error


def _printed_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    found = list(random_problems(rng, problems))
    gaps = [
        printed_risk(*_arguments(problem))
        - _enumerated(problem)
        - printed_gap(*_arguments(problem))
        for problem in found
    ]
    scales = [float(_enumerated(problem)) for problem in found]
    yield Check(
        "Erratum",
        "printed − exact = β Σ_{z≠y} w_z (2 q_z − 1) ψ(−g_z)",
        _worst([float(gap) / max(1.0, scale) for gap, scale in zip(gaps, scales, strict=True)]),
        EXACT,
    )
    errors = [
        _relative(printed_risk(*_arguments(problem)), _enumerated(problem)) for problem in found
    ]
    yield Check(
        "Theorem 1, as printed",
        "w_y ψ(g_y) + Σ w_z q_z [ψ(g_z) + β ψ(−g_z)] = enumeration",
        float(np.median(np.abs(errors))),
        EXACT,
        "median relative error",
        refuted=True,
    )


def _beta_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    cases = [error for _ in range(problems) for error in _case_errors(rng)]
    yield Check(
        "Three cases and OVA",
        "the paper's forms, at β = 0, odds, 2·odds, and with weights 1/(β(1−q)−q)",
        _worst(cases),
        EXACT,
    )
    errors = [_threshold_error(rng, int(k)) for k in rng.integers(2, 9, problems)]
    yield Check(
        "Normalised weights",
        "early threshold in closed form = enumeration with w = 1/|s|, 1/(K−|s|)",
        _worst(errors),
        EXACT,
    )


def _case_errors(rng: np.random.Generator, k: int = 5) -> Iterator[float]:
    """Each of the cases at the β that it needs, against enumeration; ψ is the sigmoid."""
    g, w = (torch.from_numpy(row) for row in (rng.normal(0, 2, k), rng.exponential(1, k)))
    q = torch.full((k,), float(rng.uniform(0.05, 0.95)), dtype=torch.float64)
    psi, wrong, odds = PSIS["sigmoid"], torch.arange(k) > 0, beta_threshold(float(q[0]))
    own, lost = w[0] * psi.toward(g)[0], (w * q)[wrong].sum()
    expected = {
        0.0: own + (w * q * psi.toward(g))[wrong].sum(),
        odds: own + lost,
        2 * odds: own + (w * q * psi.away(g))[wrong].sum() + lost,
    }
    for beta, value in expected.items():
        yield _relative(exact_risk(fixed_weights(w, psi, beta), g, q, 0), value)
        weights, constant = symmetric_form(w, q, 0, beta)
        yield _relative((weights * psi.toward(g)).sum() + constant, value)
    rates = torch.from_numpy(rng.uniform(0.05, 0.9, k))
    beta = 1.5 * float(beta_threshold(rates[wrong].numpy()).max())
    v = ova_weights(rates, 0, beta)
    ova = psi.toward(g)[0] + psi.away(g)[wrong].sum() + (v * rates)[wrong].sum()
    yield _relative(exact_risk(fixed_weights(v, psi, beta), g, rates, 0), ova)


def _threshold_error(rng: np.random.Generator, k: int) -> float:
    q, sets = rng.uniform(0.02, 0.98, k), enumerate_sets(k, 0)
    law, w = set_law(sets, q, 0), initial_weights(sets, dtype=torch.float64)
    enumerated = (law @ (w * sets)) / (law @ (w * ~sets))
    return _worst(normalised_threshold(q, 0, k)[1:] / enumerated.numpy()[1:] - 1)


def _bayes_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    betas, qs = np.geomspace(0.11, 90, 14), np.linspace(0.05, 0.95, 10)
    tops = (1.0, 0.6)
    maps = [bayes_map(betas, qs, peaked(5, top), "sigmoid").agrees.numpy() for top in tops]
    for found, words in zip(maps, ("certain", "0.6 likely"), strict=True):
        yield Check(
            "Theorem 2, as printed",
            f"sigmoid, w = 1: ranks as Bayes at every β > 0, label {words}",
            float((~found).mean()),
            0.0,
            "share of (β, q) where not",
            refuted=True,
        )
    windows = [_window(betas, qs, (1 - top) / 4, top) for top in tops]
    yield Check(
        "Theorem 2, corrected",
        "it does just where the odds of z ∈ s are below β for the second label, above for the first",
        float(np.mean([a != b for a, b in zip(maps, windows, strict=True)])),
        0.0,
        "share of (β, q) where not",
    )
    others = [bayes_map(betas, qs, peaked(5, 0.6), "cross_entropy", kind) for kind in WEIGHTS]
    yield Check(
        "Theorem 2, cross entropy",
        "ranks as Bayes at every β and uniform q, weights fixed or following",
        max(1 - found.share for found in others),
        0.0,
        "share of (β, q) where not",
    )
    yield _class_check()


def _class_check() -> Check:
    """Label 1 comes along with 0 and 2 at a rate of 0.9; nothing else is ever added."""
    Q = torch.eye(3, dtype=torch.float64)
    Q[0, 1] = Q[2, 1] = 0.9
    p, betas = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), np.geomspace(0.1, 100, 13)
    agrees = [
        bayes_map(betas, Q[None], p, psi, weights).agrees
        for psi in ("sigmoid", "cross_entropy")
        for weights in ("equal", "initial", "following")
    ]
    return Check(
        "Theorem 2, class-dependent q",
        "some β ranks as Bayes: p = (.5, .3, .2), label 1 a false candidate at .9",
        float((~torch.stack(agrees)).double().mean()),
        0.999,
        "share of (β, ψ) where not",
        refuted=True,
    )


def _window(betas: Array, qs: Array, second: float, first: float) -> npt.NDArray[np.bool_]:
    """odds(q + (1−q) p_second) < β < odds(q + (1−q) p_first)."""
    low = beta_threshold(qs + (1 - qs) * second)
    high = beta_threshold(np.minimum(qs + (1 - qs) * first, 1.0))
    inside: npt.NDArray[np.bool_] = (low < betas[:, None]) & (betas[:, None] < high)
    return inside


def _rate_checks(rng: np.random.Generator, problems: int) -> Iterator[Check]:
    k = 6
    p, y = random_rows(rng, k, 20_000)
    flat = np.where(np.eye(k, dtype=bool), 1.0, 0.9)
    drawn = class_dependent(y, flat, classes=range(k), seed=rng)
    found = estimate_uniform_q(drawn)
    yield Check(
        "q from the sets",
        "uniform q = 0.9 by moments, n = 20,000",
        abs(found.value - 0.9) / found.standard_error,
        4.0,
        "standard errors off",
    )
    for name, Q in (("uniform 0.9", flat), ("case 3", case(3, k))):
        sets = class_dependent(y, Q, classes=range(k), seed=rng)
        error = float(np.abs(estimate_class_q(sets, p).matrix - Q).max())
        yield Check("q from the sets", f"matrix by EM, {name}", error, 0.08, "max. error")


def _relative(found: Tensor, truth: Tensor) -> float:
    return float((found - truth) / truth.abs().clamp(min=1.0))


def _worst(errors: Any) -> float:
    return float(np.abs(np.asarray(errors, dtype=np.float64)).max())
