"""PyTorch has one generator for all threads of a process: seeding it is for one at a time."""

from __future__ import annotations

import os
import signal
import threading

import pytest
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_has_not() -> None:
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with seeded(1):
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # kills it if it waits
        with seeded(0):
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert status == 0
