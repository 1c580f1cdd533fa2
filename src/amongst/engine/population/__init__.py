"""Hundreds of models in one pass, each as if it were trained alone."""

from amongst.engine.population.backends import BACKENDS
from amongst.engine.population.evaluate import Criterion
from amongst.engine.population.member import Member
from amongst.engine.population.plan import MemoryPlan, plan_memory
from amongst.engine.population.progress import Progress, population_bar
from amongst.engine.population.result import PopulationResult
from amongst.engine.population.run import train_population

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
