"""Training loops: one model, or a population."""

from amongst.engine.data import Features, TrainingData, training_data
from amongst.engine.devices import as_device
from amongst.engine.order import batch_bounds, permutation, split_seed
from amongst.engine.settings import SCHEDULES, Settings, learning_rate
from amongst.engine.single import Training, predict_scores, run_epoch, start, train
from amongst.engine.watch import Watch

__all__ = [
    "SCHEDULES",
    "Features",
    "Settings",
    "Training",
    "TrainingData",
    "Watch",
    "as_device",
    "batch_bounds",
    "learning_rate",
    "permutation",
    "predict_scores",
    "run_epoch",
    "split_seed",
    "start",
    "train",
    "training_data",
]
