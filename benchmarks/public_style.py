"""Training as public partial-label code does it: the yardstick of the benchmarks.

A Dataset that returns one example at a time, a DataLoader, weights on the host, a second forward
pass for new weights, and accuracy on the training and the test set after each epoch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class PartialDataset(Dataset[tuple[Tensor, Tensor, int, int]]):
    """Images, candidate masks, labels and row numbers."""

    def __init__(self, images: Tensor, inside: Tensor, labels: Tensor) -> None:
        self.images, self.inside, self.labels = images, inside.float(), labels

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor, int, int]:
        image = self.images[i].float().div(255)
        return image, self.inside[i], int(self.labels[i]), i


def train_epoch(
    model: nn.Module,
    loader: DataLoader[tuple[Tensor, Tensor, int, int]],
    optimizer: torch.optim.Optimizer,
    weights: Tensor,
    device: torch.device,
) -> None:
    """One epoch; `weights` (n, K) live on the host."""
    model.train()
    for image, inside, _, index in loader:
        x, s = image.to(device), inside.to(device)
        w = weights[index].to(device)
        p = F.softmax(model(x), 1)
        toward = -(p + 1e-8).log() * w * s
        away = -(1 - p + 1e-8).log() * w * (1 - s)
        loss = (toward.sum(1) + away.sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            e = model(x).exp()
            new = e * s / (e * s).sum(1, True) + e * (1 - s) / ((e * (1 - s)).sum(1, True) + 1e-8)
        weights[index] = new.cpu()


@torch.no_grad()
def accuracy(
    model: nn.Module,
    loader: DataLoader[tuple[Tensor, Tensor, int, int]],
    device: torch.device,
) -> float:
    """Share of right answers, batch by batch."""
    model.eval()
    right = total = 0
    for image, _, label, _ in loader:
        guess = model(image.to(device)).argmax(1).cpu()
        right += int((guess == label).sum())
        total += len(label)
    return right / total
