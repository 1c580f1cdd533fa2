"""Clocks, ceilings and tables for the benchmarks."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch


def clock(device: torch.device) -> float:
    """Now, once the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def seconds(run: Callable[[], object], device: torch.device, repeats: int = 3) -> float:
    """Median time of a call, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        began = clock(device)
        run()
        times.append(clock(device) - began)
    return statistics.median(times)


def ceilings(device: torch.device) -> dict[str, float]:
    """Measured rates: matrix products in FLOP/s by precision, and a copy in bytes/s."""
    n = 8192 if device.type == "cuda" else 1024
    found = {}
    kinds = {"bf16": torch.bfloat16, "tf32": torch.float32, "float32": torch.float32}
    for name, dtype in kinds.items():
        if device.type == "cpu" and name != "float32":
            continue
        torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
        a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
        found[name] = 2 * n**3 / _per_call(partial(torch.matmul, a, b), device)
    torch.set_float32_matmul_precision("highest")
    source = torch.randn(2**28 if device.type == "cuda" else 2**24, device=device)
    target = torch.empty_like(source)
    nbytes = 2 * source.numel() * source.element_size()
    found["copy"] = nbytes / _per_call(lambda: target.copy_(source), device)
    return found


def _per_call(run: Callable[[], object], device: torch.device) -> float:
    calls = 10 if device.type == "cuda" else 3

    def many() -> None:
        for _ in range(calls):
            run()

    return seconds(many, device) / calls


def peak_memory(device: torch.device) -> dict[str, float]:
    """GiB at the most since `reset_memory`; nothing on a CPU."""
    on_gpu = device.type == "cuda"
    return {"GiB": torch.cuda.max_memory_allocated(device) / 2**30} if on_gpu else {}


def reset_memory(device: torch.device) -> None:
    """Give back what is cached, and count the peak anew."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def check_precision(precision: str, device: torch.device) -> None:
    """A CPU trains in float32 whatever is asked for: its figures would bear a wrong name."""
    if device.type == "cpu" and precision in ("bf16", "tf32"):
        raise ValueError(f"{precision} is for a GPU; on a CPU this would be float32 again")


def attempt(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run one variant; a failure is printed and recorded, and does not stop the others."""
    try:
        row = {"variant": name} | run()
    except Exception as error:
        traceback.print_exc()
        row = {"variant": name, "error": f"{type(error).__name__}: {str(error)[:200]}"}
    print({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return row


def end(rows: list[dict[str, Any]]) -> None:
    """Leave with status 1 if a variant failed; call it last, when all that is known is printed."""
    failed = [row["variant"] for row in rows if "error" in row]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(rows)} variants failed: {', '.join(failed)}")


def machine(device: torch.device) -> dict[str, str]:
    """Hardware, versions and date."""
    on_gpu = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else _processor(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def table(rows: list[dict[str, Any]], columns: dict[str, str]) -> str:
    """Rows as aligned text; columns maps a key to a format."""
    lines = [[key.replace("_", " ") for key in columns]]
    for row in rows:
        cells = [format(row[key], fmt) if key in row else "" for key, fmt in columns.items()]
        if "error" in row:
            cells[-1] = row["error"][:60]
        lines.append(cells)
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def save(path: str | None, content: dict[str, Any]) -> None:
    """Write JSON if a path was given: whole or not at all, since a run may be stopped meanwhile."""
    if path:
        partial = Path(f"{path}.tmp")
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, path)


def read(path: str) -> dict[str, Any]:
    """What `save` wrote."""
    content: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return content
