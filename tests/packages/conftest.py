"""A fresh environment into which pip installs packages: amongst itself, and one that brings a method."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import textwrap
import venv
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

BACKEND = '''
"""A build backend that needs nothing: a wheel is a zip file with three texts."""
import zipfile
from pathlib import Path

NAME = "amongst_mine-1.0"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    path = Path(folder, f"{NAME}-py3-none-any.whl")
    info = f"{NAME}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.write("amongst_mine.py")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: amongst-mine\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.write("entry_points.txt", f"{info}/entry_points.txt")
        wheel.writestr(f"{info}/RECORD", "")
    return path.name
'''

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""

ENTRY_POINTS = """
[amongst.algorithms]
mine = amongst_mine:Mine
slow = amongst_mine:Slow
neighbour = amongst_mine:NeighbourClassifier

[amongst.models]
wide = amongst_mine:wide
"""

MODULE = '''
"""A package that brings a loss, an algorithm with state, a classifier, and a network."""
from dataclasses import dataclass

import numpy as np
import torch

from amongst.algorithms import PRODEN, Algorithm, Method
from amongst.estimators import PartialLabelClassifier
from amongst.losses import classifier_consistent


@dataclass(frozen=True)
class Mine(Method):
    """(−log Σ_{z∈s} p_z)^γ."""

    name, title, reference = "mine", "Mine", "nowhere"
    grid = PRODEN.grid | {"gamma": (1.0, 2.0)}

    gamma: float = 1.5

    def loss(self, scores, inside, weights):
        return classifier_consistent(scores, inside) ** self.gamma


@dataclass(eq=False)
class Slow(Algorithm):
    """CC, with a count of its steps beside the network."""

    name, title = "slow", "Slow"

    factor: float = 0.5

    def build(self, network, inside, dtype):
        self.network = network
        self.register_buffer("steps", torch.zeros(()))

    def training_step(self, batch):
        scores = self.network(batch.x)
        return self.factor * classifier_consistent(scores, batch.inside), scores

    def after_step(self, batch, scores):
        self.steps += 1


class NeighbourClassifier(PartialLabelClassifier):
    """The candidates of the nearest row."""

    name, title = "neighbour", "Neighbour"
    grid = {"p": (1.0, 2.0)}

    def __init__(self, p=2.0):
        self.p = p

    def _fit(self, X, sets):
        self.rows_, self.mask_ = X, sets.to_mask()

    def _scores(self, X):
        far = (np.abs(X[:, None, :] - self.rows_) ** self.p).sum(-1)
        return self.mask_[far.argmin(1)].astype(float)

    def _get_state(self):
        return {"rows": self.rows_, "mask": self.mask_}, {}

    def _set_state(self, arrays, facts):
        self.rows_, self.mask_ = arrays["rows"], arrays["mask"].astype(bool)


def wide(in_shape, n_classes, factor=3):
    """One hidden layer, so many times as wide as the input."""
    d = int(np.prod(in_shape))
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(d, factor * d), torch.nn.Tanh(),
        torch.nn.Linear(factor * d, n_classes),
    )
'''


class Environment:
    """A Python of its own, which sees the libraries of the one that runs the tests, but not amongst."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        self.python = folder / scripts / "python"
        found = subprocess.run(
            [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.site = Path(found.stdout.strip())
        libraries = folder / "libraries"
        libraries.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if "amongst" not in path.name and path.suffix != ".pth":
                (libraries / path.name).symlink_to(path)
        (self.site / "libraries.pth").write_text(f"{libraries}\n", "utf-8")

    def pip(self, *words: str | Path) -> None:
        """Install without the network, and without dependencies, which are here."""
        options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
        done = self.run("-m", "pip", "install", *options, *words)
        assert done.returncode == 0, done.stderr

    def run(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A command of this Python; what the tests' own environment says does not count."""
        return subprocess.run(
            [self.python, *words], capture_output=True, text=True, cwd=cwd, timeout=300,
            env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(self.site.parent)},
        )  # fmt: skip


def wheel_of_amongst(folder: Path) -> Path:
    """The wheel as hatchling packs it: the package's files and its entry point; built here so that no
    network is needed."""
    info, path = "amongst-0.1.0.dist-info", folder / "amongst-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in sorted((SOURCE / "amongst").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(SOURCE))
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: amongst\nVersion: 0.1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            f"{info}/entry_points.txt", "[console_scripts]\namongst = amongst.cli:main\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """amongst, and a small package of somebody else's, installed by pip into a fresh environment."""
    folder = tmp_path_factory.mktemp("packages")
    mine = folder / "mine"
    mine.mkdir()
    for name, text in {
        "backend.py": BACKEND,
        "pyproject.toml": PROJECT,
        "entry_points.txt": ENTRY_POINTS,
        "amongst_mine.py": MODULE,
    }.items():
        (mine / name).write_text(textwrap.dedent(text), "utf-8")
    environment = Environment(folder / "fresh")
    environment.pip(wheel_of_amongst(folder))
    environment.pip(mine)
    return environment
