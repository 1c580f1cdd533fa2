"""Hundreds of models in one pass, each as if it were trained alone."""

from amongst.accel.population.backends import BACKENDS
from amongst.accel.population.member import Member
from amongst.accel.population.plan import MemoryPlan, plan_memory
from amongst.accel.population.result import Criterion, PopulationResult, Progress, population_bar
from amongst.accel.population.run import train_population

__all__ = [
    "BACKENDS",
    "Criterion",
    "Member",
    "MemoryPlan",
    "PopulationResult",
    "Progress",
    "plan_memory",
    "population_bar",
    "train_population",
]
