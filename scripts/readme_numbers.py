"""Fill the measured figures of README.md and docs/population.md from the JSON files in results/.

    python scripts/readme_numbers.py           # writes the pages
    python scripts/readme_numbers.py --check   # exit code 1 if a page would change

A page's figures stand between ``<!-- numbers:begin -->`` and ``<!-- numbers:end -->``.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
BLOCK = re.compile(r"(<!-- numbers:begin -->\n).*?(<!-- numbers:end -->)", re.DOTALL)
CONVNET = {
    "public": "ConvNet, public-code style",
    "graph-bf16": "ConvNet, CUDA graph, bf16",
    "compiled-bf16": "ConvNet, compiled, CUDA graph, bf16",
    "compiled-bf16-wide": "ConvNet, the same, input padded to 8 channels",
}

Content = dict[str, Any]


def main() -> int:
    """Write, or check."""
    changed = [name for name, render in PAGES.items() if update(ROOT / name, render, RESULTS)]
    if "--check" in sys.argv and changed:
        print(f"out of date: {', '.join(changed)}; run python scripts/readme_numbers.py")
        return 1
    return 0


def update(page: Path, render: Callable[[Path], str], results: Path) -> bool:
    """Whether the page's block changes; written unless only checking."""
    text = page.read_text()
    new = filled(text, render(results))
    if new != text and "--check" not in sys.argv:
        page.write_text(new)
    return new != text


def filled(text: str, block: str) -> str:
    """The page with this between its markers."""
    if not BLOCK.search(text):
        raise SystemExit("the page has no <!-- numbers:begin --> … <!-- numbers:end -->.")
    return BLOCK.sub(lambda found: f"{found[1]}{block}\n{found[2]}", text)


def readme(results: Path) -> str:
    """Short: one table a machine, and what is not alike on both sides."""
    mlp, convnet = read(results, "gpu_population"), read(results, "gpu_convnet")
    parts = [
        f"MLP on data of MNIST's shape (60,000 rows), {where(mlp)}, in one run:",
        population_table(mlp),
        unlike(mlp),
        f"ConvNet on data of CIFAR-10's shape, {where(convnet)}, at the earlier revision "
        f"{convnet['revision']}, training only: {convnet_sentence(convnet)}",
        *cpu_single(results),
    ]
    return joined(parts)


def page(results: Path) -> str:
    """Long: also shares of the measured ceilings, memory, and every ConvNet variant."""
    mlp, convnet = read(results, "gpu_population"), read(results, "gpu_convnet")
    parts = [
        f"MLP d-300×4-10, batch 256, 60,000 rows, {where(mlp)}; ceilings of this run: "
        f"{ceilings(mlp)}.",
        population_table(mlp, wide=True),
        unlike(mlp),
        f"ConvNet, 50,000 images of 3×32×32, {where(convnet)}, **measured at the earlier revision "
        f"{convnet['revision']}**; ceilings of this run: {ceilings(convnet)}. Training only; "
        "the public style takes a second forward pass, the others none.",
        convnet_table(convnet),
        *cpu_single(results),
        *cpu_population(results),
    ]
    return joined(parts)


def joined(parts: list[str]) -> str:
    """Paragraphs in lines of a page's width, and tables as they are."""
    return "\n\n".join(p if p.startswith("|") else textwrap.fill(p, 100) for p in parts)


def population_table(content: Content, wide: bool = False) -> str:
    """One row a way of training; wide: with shares of the ceilings and memory."""
    head = ["way of training", "models", "seconds per epoch and model", "times faster"]
    head += ["ms per step", "of product rate", "of copy rate", "GiB"] if wide else []
    return table(head, [population_row(row, wide) for row in content["rows"]])


def population_row(row: Content, wide: bool) -> list[str]:
    """The cells of one way of training."""
    each = row["seconds_per_epoch_and_model"]
    cells = [row["variant"].replace("fused", "population, fused"), f"{row['members']:,}"]
    cells += [f"{each:.3g}" if each >= 0.01 else f"{each:.6f}", times(row["ratio"])]
    if not wide:
        return cells
    if "GiB" not in row:
        return cells + [""] * 4
    shares = [f"{100 * row[key]:.1f} %" for key in ("product_share", "copy_share")]
    return [*cells, f"{row['milliseconds_per_step']:.3f}", *shares, f"{row['GiB']:.1f}"]


def times(ratio: float) -> str:
    """A ratio, to a tenth where that says something."""
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def unlike(content: Content) -> str:
    """What the yardstick does that the others do not."""
    rows = {row["variant"]: row for row in content["rows"]}
    each = rows["public style"]["seconds_per_epoch_and_model"]
    return (
        f"Public-code style ({each:.2f} s here, {content['earlier_public_seconds']:.2f} s in an "
        "earlier run) means a DataLoader, masks on the host, new weights from a second "
        "forward pass, and accuracy on the training and the test set after each epoch; ours takes "
        "weights from the same pass and scores the test set."
    )


def convnet_sentence(content: Content) -> str:
    """The fastest variant, training only."""
    rows = {row["variant"]: row for row in content["rows"]}
    best = min(content["rows"], key=lambda row: row["training_seconds"])
    slow, fast = rows["public"]["training_seconds"], best["training_seconds"]
    return (
        f"{fast:.3f} s an epoch against {slow:.2f} s in public-code style ({slow / fast:.1f} times "
        f"faster; theirs with a second forward pass), {100 * best['product_share']:.0f} % of the "
        "measured bf16 product rate."
    )


def convnet_table(content: Content) -> str:
    """All variants, training only."""
    slow = next(r["training_seconds"] for r in content["rows"] if r["variant"] == "public")
    lines = []
    for row in content["rows"]:
        each = row["training_seconds"]
        cells = [CONVNET.get(row["variant"], row["variant"]), f"{each:.3f}", f"{slow / each:.2f}×"]
        cells += [f"{row['TFLOP_per_second']:.1f}", f"{100 * row['product_share']:.1f} %"]
        lines.append([*cells, f"{row['GiB']:.1f}"])
    head = ["way of training", "seconds per epoch", "times faster", "TFLOP/s"]
    return table([*head, "of its product rate", "GiB"], lines)


def cpu_single(results: Path) -> list[str]:
    """One model on a CPU, where that was measured."""
    if not (results / "cpu_single.json").exists():
        return []
    content = read(results, "cpu_single")
    slow = content["seconds"]["public-code style"]
    lines = [
        [name, f"{each:.2f}", f"{slow / each:.1f}×", f"{content['peak_mib'][name]:,.0f}"]
        for name, each in content["seconds"].items()
    ]
    head = ["way of training", "seconds per epoch", "times faster", "peak MiB"]
    place = f", {where(content)}" if "machine" in content else ""
    title = f"One MLP on a CPU ({content['source']}, {content['rows']:,} rows{place}):"
    return [title, table(head, lines)]


def cpu_population(results: Path) -> list[str]:
    """Eight models on a CPU, where that was measured."""
    if not (results / "cpu_population.json").exists():
        return []
    content = read(results, "cpu_population")
    lines = [population_row(row, wide=False) for row in content["rows"]]
    head = ["way of training", "models", "seconds per epoch and model", "times faster"]
    return [f"MLP on a CPU, {where(content)}. {' '.join(content['notes'])}", table(head, lines)]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown, numbers to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def where(content: Content) -> str:
    """Hardware, version and date."""
    machine = content["machine"]
    return f"{machine['device']}, torch {machine['torch']}, {machine['date']}"


def ceilings(content: Content) -> str:
    """Measured rates of products and copies."""
    found = content["ceilings"]
    rates = [f"{name} {found[name] / 1e12:.0f} TFLOP/s" for name in ("bf16", "tf32", "float32")]
    return f"{', '.join(rates)}, copy {found['copy'] / 1e12:.2f} TB/s"


def read(results: Path, name: str) -> Content:
    """One file of results."""
    content: Content = json.loads((results / f"{name}.json").read_text())
    return content


PAGES: dict[str, Callable[[Path], str]] = {"README.md": readme, "docs/population.md": page}


if __name__ == "__main__":
    sys.exit(main())
