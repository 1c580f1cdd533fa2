"""Fill the measured figures of README.md, results/speed.md and pages of docs/ from the files in results/, and what came out of the paper from docs/reproduction.md, which is made from results/paper.

    python scripts/readme_numbers.py           # writes the pages
    python scripts/readme_numbers.py --check   # exit code 1 if a page would change

What is filled stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import ttest_rel

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "studies"))
RESULTS = ROOT / "results"
BLOCK = r"(<!-- {0}:begin -->\n).*?(<!-- {0}:end -->)"
EXCERPT = (
    "- Of the ",
    "- How much of LW's margin remains in Table 1",
    "- With one grid, optimiser and schedule for all",
)
CONVNET = {
    "public": "ConvNet, public-code style",
    "graph-bf16": "ConvNet, CUDA graph, bf16",
    "compiled-bf16": "ConvNet, compiled, CUDA graph, bf16",
    "compiled-bf16-plain": "ConvNet, the same with Inductor's own threshold",
    "stacked-bf16-2": "ConvNet, two stacked by vmap, CUDA graph, bf16",
    "compiled-bf16-wide": "ConvNet, the same, input padded to 8 channels",
    "compiled-bf16-all": "ConvNet, compiled, CUDA graph, bf16, input padded, every cuDNN algorithm tried",
    "compiled-bf16-all-pointwise": "ConvNet, the same, Inductor's pointwise kernels tuned",
}

Content = dict[str, Any]


def main() -> int:
    """Write, or check."""
    changed = [page for page, name in BLOCKS if update(ROOT / page, name, BLOCKS[page, name])]
    if "--check" in sys.argv and changed:
        print(f"out of date: {', '.join(changed)}; run python scripts/readme_numbers.py")
        return 1
    return 0


def update(page: Path, name: str, render: Callable[[Path], str]) -> bool:
    """Whether a block of the page changes; written unless only checking."""
    text = page.read_text("utf-8")
    new = filled(text, name, render(RESULTS))
    if new != text and "--check" not in sys.argv:
        page.write_text(new, "utf-8")
    return new != text


def filled(text: str, name: str, block: str) -> str:
    """The page with this between its markers."""
    found = re.compile(BLOCK.format(name), re.DOTALL)
    if not found.search(text):
        raise SystemExit(f"the page has no <!-- {name}:begin --> … <!-- {name}:end -->.")
    return found.sub(lambda marks: f"{marks[1]}{block}\n{marks[2]}", text)


def reproduced(results: Path) -> str:
    """Of the reproduction's answers: the cells, Table 1's margin, and where LW wins tuned alike."""
    text = (results.parent / "docs" / "reproduction.md").read_text("utf-8")
    short = text.partition("## In short\n\n")[2].partition("\n\n")[0]
    said = re.split(r"\n(?=- )", short)
    return "\n".join(line for line in said if line.startswith(EXCERPT))


def images(results: Path) -> str:
    """LW with views beside what papers print."""
    from images_report import Found, headline

    return headline(Found.read(results / "images"))


def readme(results: Path) -> str:
    """Short: one table a machine, and what is not alike on both sides."""
    mlp, convnet = read(results, "gpu_population"), read(results, "gpu_convnet")
    parts = [
        f"MLP on data of MNIST's shape (60,000 rows), {where(mlp)}, in one run:",
        population_table(mlp),
        unlike(mlp),
        f"ConvNet on data of CIFAR-10's shape, {where(convnet)}: {convnet_sentence(convnet)}",
        *cpu_single(results),
    ]
    return joined(parts)


def page(results: Path) -> str:
    """Long: also shares of the measured ceilings, memory, and every ConvNet variant."""
    mlp, convnet = read(results, "gpu_population"), read(results, "gpu_convnet")
    precision = read(results, "gpu_precision")
    parts = [
        f"MLP d-300×4-10, batch 256, 60,000 rows, {where(mlp)}, at revision {mlp['revision']}; "
        f"ceilings of this run: {ceilings(mlp)}.",
        population_table(mlp, wide=True),
        unlike(mlp),
        precision_words(precision),
        precision_table(precision),
        f"ConvNet, 50,000 images of 3×32×32, {where(convnet)}, at revision {convnet['revision']}; "
        f"ceilings of this run: {ceilings(convnet)}. The public style takes a second forward pass, "
        "the others none; evaluation is of 60,000 images.",
        convnet_table(convnet),
        *map(convnet_earlier, convnet["earlier"]),
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
    """The fastest variant."""
    rows = {row["variant"]: row for row in content["rows"]}
    best = min(content["rows"], key=lambda row: row["training_seconds"])
    slow, fast = rows["public"]["training_seconds"], best["training_seconds"]
    return (
        f"{fast:.3f} s of training an epoch against {slow:.2f} s in public-code style "
        f"({slow / fast:.1f} times faster, {best['ratio']:.1f} with evaluation; theirs with a second "
        f"forward pass), {100 * best['product_share']:.0f} % of the measured bf16 product rate."
    )


def convnet_table(content: Content) -> str:
    """All variants, training alone and with evaluation."""
    lines = []
    for row in content["rows"]:
        cells = [CONVNET.get(row["variant"], row["variant"])]
        cells += [f"{row['training_seconds']:.3f}", f"{row['training_ratio']:.2f}×"]
        cells += (
            [f"{row['seconds_with_evaluation']:.3f}", f"{row['ratio']:.2f}×"]
            if "ratio" in row
            else ["", ""]
        )
        cells += [f"{row['TFLOP_per_second']:.1f}", f"{100 * row['product_share']:.1f} %"]
        lines.append([*cells, f"{row['GiB']:.1f}"])
    head = [
        "way of training",
        "seconds per epoch",
        "times faster",
        "with evaluation",
        "times faster",
    ]
    return table([*head, "TFLOP/s in training", "of its product rate", "GiB"], lines)


def convnet_earlier(content: Content) -> str:
    """What an earlier run says about single steps, training only."""
    found = [
        f"{row['training_seconds']:.3f} s ({100 * row['product_share']:.1f} %) for "
        f"{CONVNET[row['variant']].removeprefix('ConvNet, ')}"
        for row in content["rows"]
    ]
    return (
        f"Earlier, at revision {content['revision']}, in a run of its own (bf16 products at "
        f"{content['ceilings']['bf16'] / 1e12:.0f} TFLOP/s), training only: {'; '.join(found)}."
    )


def precision_words(content: Content) -> str:
    """What the table of precisions shows."""
    facts = content["facts"]
    return (
        f"Accuracy by precision, in percent: {facts['dataset'].upper()}, {facts['method']}, "
        f"q = {facts['q']}, {facts['epochs']} epochs, mean of the last 3, mean ± standard deviation "
        f"over {facts['seeds']} seeds, {where(content)}. A seed has the same candidate sets, initial "
        "weights and orders of rows in every precision, so that differences pair."
    )


def precision_table(content: Content) -> str:
    """Each precision, and its difference from the first by a paired t-test."""
    first, lines = content["rows"][0], []
    for row in content["rows"]:
        mean, spread = 100 * row["accuracy"], 100 * row["spread"]
        tested = [""] * 4 if row is first else paired(row["each"], first["each"])
        lines.append([row["precision"], f"{mean:.2f} ± {spread:.2f}", *tested])
    head = ["precision", "accuracy", f"minus {first['precision']}", "95 % interval"]
    return table([*head, f"t({len(first['each']) - 1})", "p"], lines)


def paired(ours: list[float], theirs: list[float]) -> list[str]:
    """Mean difference in points, its interval, t and p."""
    found = ttest_rel(ours, theirs)
    mean = 100 * (sum(ours) - sum(theirs)) / len(ours)
    low, high = (f"{100 * end:+.2f}" for end in found.confidence_interval(0.95))
    cells = [f"{mean:+.2f}", f"{low} to {high}", f"{found.statistic:+.2f}", f"{found.pvalue:.2f}"]
    return [cell.replace("-", "−") for cell in cells]


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


def real(results: Path) -> str:
    """Each method on the paper's real data, as the reproduction found it; the best in bold."""
    text = (results.parent / "docs" / "reproduction.md").read_text("utf-8")
    part = text.partition("## Table 2: accuracy on real datasets\n")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()]
    head = next(cells for cells in lines if "Lost" in cells)
    network, rows = "", []
    for cells in (cells for cells in lines if "<br>" in "".join(cells)):
        network = cells[0] or network
        label = cells[1] if network == "No network" else f"{cells[1]}, {network}"
        rows.append([label, *(re.sub(r" [✓✗].*", "", cell) for cell in cells[2:5])])
    return table(["method", *head[2:5]], rows)


UNIFORM = {
    "rc": "RC, tuned",
    "cc": "CC, tuned",
    "proden": "PRODEN, tuned",
    "lw-sigmoid": "LW-Sigmoid, tuned",
    "lw-cross_entropy": "LW-Cross entropy, tuned",
    "auto-fading": "`LWClassifier()`",
}


def uniform(results: Path) -> str:
    """Each method at each q, the mean over data sets; the best in bold."""
    found = pd.read_csv(results / "defaults.csv")
    ours = (found["stage"] == "default") & (found["method"] == "auto-fading")
    ours &= (found["lr"] == 0.05) & (found["weight_decay"] == 1e-3)
    kept = found[(found["stage"] == "tuned") | ours]
    means = kept.pivot_table(index="method", columns="q", values="accuracy").loc[list(UNIFORM)]
    text = means.map("{:.2f}".format).where(means < means.max(), means.map("**{:.2f}**".format))
    rows = [[UNIFORM[str(method)], *cells] for method, *cells in text.reset_index().values.tolist()]
    return table(["method", *(f"q = {q}" for q in means.columns)], rows)


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


BLOCKS: dict[tuple[str, str], Callable[[Path], str]] = {
    ("README.md", "reproduction"): reproduced,
    ("README.md", "images"): images,
    ("README.md", "numbers"): readme,
    ("docs/population.md", "numbers"): readme,
    ("results/speed.md", "numbers"): page,
    ("docs/which-method.md", "real"): real,
    ("docs/which-method.md", "uniform"): uniform,
}


if __name__ == "__main__":
    sys.exit(main())
