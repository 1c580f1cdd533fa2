"""PyTorch has one generator for all threads of a process: seeding it is for one at a time."""

from __future__ import annotations

import threading

import torch

from amongst.models import seeded


def _first(seed: int) -> float:
    return torch.rand(1, generator=torch.Generator().manual_seed(seed)).item()


def test_two_threads_do_not_seed_into_each_other() -> None:
    inside, done, others = threading.Event(), threading.Event(), []

    def other() -> None:
        with seeded(1):
            inside.set()
            done.wait()
            others.append(torch.rand(1).item())

    thread = threading.Thread(target=other)
    before = torch.get_rng_state()
    with seeded(0):
        thread.start()
        inside.wait(timeout=0.2)  # were it let in, it would be in by now
        mine = torch.rand(1).item()
    done.set()
    thread.join()
    assert [mine, *others] == [_first(0), _first(1)]
    assert torch.equal(torch.get_rng_state(), before)
