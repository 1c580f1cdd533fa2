"""The real files, where AMONGST_DATA points at them: they are what the catalogue says."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from amongst.data import CATALOGUE, Entry, load, stratified_folds, verify
from amongst.data.loading import is_here

REAL = os.environ.get("AMONGST_DATA", "")
pytestmark = pytest.mark.skipif(
    not Path(REAL).is_dir() or not REAL, reason="AMONGST_DATA points at no folder of real data"
)
SMALL = [found for found in CATALOGUE if not found.layout.startswith("cifar")]
KNOWN_ACCURACY = {"lost": 0.60, "birdsong": 0.76, "msrcv2": 0.62}


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """CIFAR-10's sheets are decoded once for this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMONGST_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def skip_if_absent(found: Entry) -> None:
    if not is_here(found):
        pytest.skip(f"{found.name} is not in AMONGST_DATA")


@pytest.mark.parametrize("found", SMALL, ids=lambda found: found.name)
def test_verify_passes(found: Entry) -> None:
    skip_if_absent(found)
    assert {check.state for check in verify(found.name)} == {"ok"}


@pytest.mark.parametrize("found", SMALL, ids=lambda found: found.name)
def test_loads_as_the_entry_says(found: Entry) -> None:
    skip_if_absent(found)
    data = load(found.name, download=False)
    assert data.features.shape == (found.n, *found.row)
    assert np.unique(data.labels).max() < found.n_classes
    assert data.features.dtype.kind in "OUT" or np.isfinite(data.features).all()
    if found.layout == "idx":
        assert data.features.dtype == np.uint8
        assert (len(data.train), len(data.test)) == (60_000, 10_000)


@pytest.mark.parametrize("name", KNOWN_ACCURACY)
def test_supervised_neighbours_find_what_others_found(name: str) -> None:
    """5 nearest neighbours on standardised features: labels and features belong together."""
    found = next(entry for entry in CATALOGUE if entry.name == name)
    skip_if_absent(found)
    data = load(name, download=False)
    train, test = stratified_folds(data.labels, 10, seed=0)[0]
    scaling = data.fit_scaling(train)
    model = KNeighborsClassifier(5).fit(scaling.apply(data.features[train]), data.labels[train])
    accuracy = model.score(scaling.apply(data.features[test]), data.labels[test])
    assert accuracy == pytest.approx(KNOWN_ACCURACY[name], abs=0.08)


def test_cifar10n_and_its_images() -> None:
    """Published channel statistics, 5,000 + 1,000 images of each class, 97.87 % inside."""
    found = next(entry for entry in CATALOGUE if entry.name == "cifar10n")
    skip_if_absent(found)
    data = load("cifar10n", download=False)
    scaling = data.fit_scaling()
    np.testing.assert_allclose(
        scaling.shift.ravel() / 255, [0.49139968, 0.48215841, 0.44653091], atol=1e-8
    )
    np.testing.assert_allclose(
        scaling.scale.ravel() / 255, [0.24703223, 0.24348513, 0.26158784], atol=1e-8
    )
    assert np.bincount(data.train.labels).tolist() == [5000] * 10
    assert np.bincount(data.test.labels).tolist() == [1000] * 10
    assert data.train.candidates is not None
    inside = data.train.candidates.contains(data.train.labels)
    assert inside.mean() == pytest.approx(0.97866, abs=1e-9)
    assert data.candidates is not None
    assert data.candidates.prior[data.candidates.sizes == 2].max() == pytest.approx(2 / 3)
    assert data.candidates.answers is not None
    assert data.candidates.answers.codes.shape == (50_000, 3)
    plain = load("cifar10", download=False)
    np.testing.assert_array_equal(plain.features, data.features)
    assert plain.digest != data.digest


def test_what_raters_said() -> None:
    for name, answers, right in (("labelme", 2.547, 0.766), ("sentiment", 5.550, 0.889)):
        found = next(entry for entry in CATALOGUE if entry.name == name)
        skip_if_absent(found)
        sets = load(name, download=False).train.candidates
        assert sets is not None
        assert sets.answers is not None
        assert (sets.answers.codes >= 0).sum(1).mean() == pytest.approx(answers, abs=1e-3)
        votes = sets.prior.argmax(1) == load(name, download=False).train.labels
        assert votes.mean() == pytest.approx(right, abs=0.02)
