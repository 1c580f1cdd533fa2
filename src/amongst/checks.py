"""What people pass, checked or converted: choices, numbers, seeds, tensors. NumPy and PyTorch are
imported where they are used, and no global generator is touched."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

from amongst.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

Seed: TypeAlias = (
    "int | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None"
)

UNKNOWN_TO_NUMPY = ("torch.bfloat16", "torch.float8")


def near_matches(value: object, options: Iterable[str]) -> list[str]:
    """Options that look like `value`, best first."""
    return difflib.get_close_matches(str(value), list(options), n=3, cutoff=0.5)


def check_choice(name: str, value: object, options: Iterable[str]) -> str:
    """Return `value` if it is one of `options`, else an error with the near matches.

    >>> check_choice("psi", "sigmod", ["sigmoid", "ramp"])
    Traceback (most recent call last):
    amongst.errors.InputError: psi='sigmod' is unknown; did you mean 'sigmoid'? Choose from: ramp, sigmoid.
    """
    known = sorted(options)
    if isinstance(value, str) and value in known:
        return value
    near = near_matches(value, known)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    problem = f"is unknown{hint} Choose from: {', '.join(known)}."
    raise InputError(problem, code="unknown", argument=name, got=value)


def check_number(
    name: str,
    value: object,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
) -> float:
    """Return `value` as a float inside [low, high] (or (low, high] with `open_low`).

    >>> check_number("q", 0.3, low=0, high=1)
    0.3
    >>> check_number("q", 1.5, low=0, high=1)
    Traceback (most recent call last):
    amongst.errors.InputError: q=1.5 must be a number between 0 and 1.
    """
    number = _number(value)
    above = low is None or (number > low if open_low else number >= low)
    if above and (high is None or number <= high) and math.isfinite(number):
        return number
    kind = "a finite number" if math.isinf(number) else "a number"
    raise _no_number(name, value, f"{kind}{_interval(low, high, open_low)}")


def check_share(name: str, value: object) -> float:
    """Return `value` as a float inside (0, 1)."""
    if 0 < (number := _number(value)) < 1:
        return number
    raise _no_number(name, value, "a number between 0 and 1, both excluded")


def check_integer(name: str, value: object, *, low: int | None = None) -> int:
    """Return `value` as an int of at least `low`.

    >>> check_integer("epochs", 0, low=1)
    Traceback (most recent call last):
    amongst.errors.InputError: epochs=0 must be a whole number of at least 1.
    """
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if good and (low is None or int(value) >= low):  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload, no-any-return]
    bound = "" if low is None else f" of at least {low}"
    raise _no_number(name, value, f"a whole number{bound}")


def check_factor(name: str, value: Any) -> float:
    """α or β as a finite float of at least 0."""
    if isinstance(value, str):
        rule = "a number of at least 0; amongst.theory.auto_beta(candidates, psi) computes one for beta"
        raise _no_number(name, value, rule)
    return check_number(name, value, low=0)


def check_sparse(name: str, matrix: Any) -> None:
    """An error for a sparse matrix whose indices leave its shape: SciPy would crash on it, or answer.

    >>> import scipy.sparse
    >>> odd = scipy.sparse.eye_array(2, format="csr")
    >>> odd.indices[0] = 9
    >>> check_sparse("y", odd)
    Traceback (most recent call last):
    amongst.errors.InputError: y is no sound sparse matrix (indices must be < 2).
    """
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        places = getattr(matrix, "coords", ()) if matrix.format == "coo" else ()
        for axis, place in enumerate(places):
            if place.size and not 0 <= place.min() <= place.max() < matrix.shape[axis]:
                raise ValueError(f"indices of axis {axis} must be < {matrix.shape[axis]}")
    except ValueError as error:
        reason = " ".join(str(error).split())
        problem = f"is no sound sparse matrix ({reason})."
        raise InputError(problem, code="sparse", argument=name) from error


def as_seed(seed: Seed, name: str = "random_state") -> int:
    """One non-negative 63-bit integer from anything that people pass as `random_state` or `seed`.

    A generator is advanced by one draw; `None` takes entropy from the system.

    >>> as_seed(7)
    7
    >>> import numpy as np
    >>> as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    True
    """
    import numpy as np

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
        "must be a whole number of at least 0.",
        code="no-such-number",
        argument=name,
        got=seed,
        remedy={"python": "It may also be None, or a NumPy generator.", "command": ""},
    )


def spawn(seed: Seed, roles: int, name: str = "random_state") -> list[np.random.Generator]:
    """Independent generators, one for each role (data, initial weights, batches, …).

    >>> data_rng, init_rng = spawn(0, 2)
    >>> bool(data_rng.random() != init_rng.random())
    True
    """
    import numpy as np

    children = np.random.SeedSequence(as_seed(seed, name)).spawn(roles)
    return [np.random.default_rng(child) for child in children]


def on_host(value: Any) -> Any:
    """A tensor of PyTorch as NumPy can read it: off the GPU, without its history, and in float32 where
    NumPy has no such type; anything else as it is.

    >>> on_host([1, 2])
    [1, 2]
    """
    if not (hasattr(value, "detach") and hasattr(value, "cpu")):
        return value
    host = value.detach().cpu()
    return host.float() if str(host.dtype).startswith(UNKNOWN_TO_NUMPY) else host


def as_numbers(values: Any, name: str) -> Tensor:
    """`values` as a float64 tensor; words, truth values and complex numbers are no numbers.

    >>> as_numbers("high", "q")
    Traceback (most recent call last):
    amongst.errors.InputError: q='high' must be numbers, in rows of one length.
    """
    import numpy as np
    import torch

    try:
        if isinstance(values, torch.Tensor):
            if values.dtype == torch.bool or values.is_complex():
                raise TypeError(values.dtype)
            return values.to(torch.float64)
        array = np.array(values)
        if array.dtype.kind not in "iufO":  # whole, floating, or objects such as fractions
            raise TypeError(array.dtype)
        return torch.from_numpy(array.astype(np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        problem = "must be numbers, in rows of one length."
        raise InputError(problem, code="no-numbers", argument=name, got=values) from error


def as_float(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Floats as they are; bytes and half floats as float32, which holds them; else float64.

    >>> import numpy as np
    >>> as_float(np.array([[1, 2]], dtype=np.uint8)).dtype
    dtype('float32')
    """
    import numpy as np

    if values.dtype in (np.float32, np.float64):
        return values
    small = values.dtype.kind == "b" or values.dtype in (np.uint8, np.int8, np.float16)
    return values.astype(np.float32 if small else np.float64)


def _number(value: object) -> float:
    """`value` as a float; NaN for what is no number, infinity for what is too large for one."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.inf


def _no_number(name: str, value: object, wanted: str) -> InputError:
    return InputError(f"must be {wanted}.", code="no-such-number", argument=name, got=value)


def _interval(low: float | None, high: float | None, open_low: bool) -> str:
    if low is not None and high is not None:
        return f" between {low:g} and {high:g}" + (f", {low:g} excluded" if open_low else "")
    if low is not None:
        return f" above {low:g}" if open_low else f" of at least {low:g}"
    return "" if high is None else f" of at most {high:g}"
