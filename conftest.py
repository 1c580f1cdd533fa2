"""What pytest must not import: Triton kernels, where Triton is not installed."""

from importlib.util import find_spec

collect_ignore_glob = (
    []
    if find_spec("triton")
    else [
        "src/amongst/accel/population/*kernel*.py",
        "src/amongst/accel/population/fused*.py",
    ]
)
