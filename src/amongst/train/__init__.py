"""Training: data on a device, one loop for every algorithm, checkpoints, and what looks on."""

from amongst.data.features import Features
from amongst.devices import as_device, permutation, split_seed
from amongst.train.callbacks import Report, TrainingBar, Watch
from amongst.train.checkpoint import Checkpoint
from amongst.train.loop import run_epoch, start, train
from amongst.train.run import (
    SCHEDULES,
    Callback,
    Settings,
    Training,
    TrainingData,
    batch_bounds,
    learning_rate,
    predict_scores,
    training_data,
)

__all__ = [
    "SCHEDULES",
    "Callback",
    "Checkpoint",
    "Features",
    "Report",
    "Settings",
    "Training",
    "TrainingBar",
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
