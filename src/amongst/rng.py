"""Randomness that is passed, and split by role; nothing here touches a global generator."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from amongst.errors import InputError

__all__ = ["Seed", "as_seed", "spawn"]

Seed = int | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None


def as_seed(seed: Seed, name: str = "random_state") -> int:
    """One non-negative 63-bit integer from anything that people pass as `random_state` or `seed`.

    A generator is advanced by one draw; `None` takes entropy from the system.

    >>> as_seed(7)
    7
    >>> as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    True
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63 - 1))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    if isinstance(seed, Integral) and 0 <= int(seed) < 2**63:
        return int(seed)
    raise InputError(
        f"{name}={seed!r} must be None, a whole number of at least 0, or a NumPy generator."
    )


def spawn(seed: Seed, roles: int, name: str = "random_state") -> list[np.random.Generator]:
    """Independent generators, one for each role (data, initial weights, batches, …).

    >>> data_rng, init_rng = spawn(0, 2)
    >>> bool(data_rng.random() != init_rng.random())
    True
    """
    children = np.random.SeedSequence(as_seed(seed, name)).spawn(roles)
    return [np.random.default_rng(child) for child in children]
