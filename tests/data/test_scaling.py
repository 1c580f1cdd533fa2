"""Preprocessing as the paper: and a test that a leak of the test part would fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from amongst.data import Dataset, fit_scaling, stratified_folds
from amongst.errors import InputError


def test_unit_is_pixels_over_255() -> None:
    x = np.arange(256, dtype=np.uint8).reshape(4, 8, 8)
    scaled = fit_scaling(x, "unit").apply(x)
    np.testing.assert_array_equal(scaled, (x / np.float32(255)).astype(np.float32))
    assert scaled.dtype == np.float32


def test_channel_matches_the_slow_way() -> None:
    x = np.random.default_rng(0).integers(0, 256, (50, 3, 6, 5)).astype(np.uint8)
    scaling = fit_scaling(x, "channel")
    unit = x.astype(np.float64) / 255
    mean = unit.mean(axis=(0, 2, 3))[:, None, None]
    std = unit.std(axis=(0, 2, 3))[:, None, None]
    np.testing.assert_allclose(scaling.apply(x), (unit - mean) / std, atol=2e-6)
    np.testing.assert_allclose(scaling.shift / 255, mean, rtol=1e-12)
    np.testing.assert_allclose(scaling.scale / 255, std, rtol=1e-12)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 5)),
        elements=st.floats(-1e3, 1e3).map(lambda value: round(value, 3)),
    )
)
def test_standard_matches_scikit_learn(x: np.ndarray) -> None:
    expected = StandardScaler().fit_transform(x)
    np.testing.assert_allclose(fit_scaling(x, "standard").apply(x), expected, atol=1e-5)


def test_large_offsets_keep_their_digits() -> None:
    x = 1e7 + np.random.default_rng(0).normal(size=(500, 2))
    scaled = fit_scaling(x, "standard").apply(x)
    assert abs(float(scaled.std()) - 1) < 1e-3


def table(features: np.ndarray) -> Dataset:
    labels = np.arange(len(features)) % 3
    return Dataset("own", features, labels, None, None, ("a", "b", "c"), "standard")


def test_the_test_part_does_not_leak_into_the_standardisation() -> None:
    """Whatever stands in the test rows, training rows are scaled alike; fitting on all would not."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 4))
    train, test = stratified_folds(np.arange(60) % 3, k=10, seed=0)[0]
    altered = features.copy()
    altered[test] = 1e6
    honest, twin = table(features).fit_scaling(train), table(altered).fit_scaling(train)
    np.testing.assert_array_equal(honest.shift, twin.shift)
    np.testing.assert_array_equal(honest.scale, twin.scale)
    np.testing.assert_array_equal(honest.apply(features[train]), twin.apply(altered[train]))
    leaky, leaky_twin = (fit_scaling(x, "standard") for x in (features, altered))
    assert not np.allclose(leaky.shift, leaky_twin.shift)  # so the lines above can fail
    np.testing.assert_allclose(honest.apply(features[train]).mean(axis=0), 0, atol=1e-6)


def test_the_official_split_fits_on_its_training_part() -> None:
    features = np.vstack([np.random.default_rng(0).normal(size=(8, 2)), np.full((4, 2), 1e6)])
    labels = np.arange(12) % 3
    data = Dataset("own", features, labels, None, 8, ("a", "b", "c"), "standard")
    np.testing.assert_allclose(data.fit_scaling().shift, features[:8].mean(axis=0))


def test_there_is_no_default_without_a_split() -> None:
    with pytest.raises(InputError, match="no official train part"):
        table(np.eye(6)).fit_scaling()


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="did you mean 'standard'"):
        fit_scaling(np.eye(2), "standart")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no rows"):
        fit_scaling(np.empty((0, 2)), "standard")
    with pytest.raises(InputError, match="uint8 images"):
        fit_scaling(np.eye(4), "channel")
    with pytest.raises(InputError, match="top=0"):
        fit_scaling(np.eye(2), "unit", top=0)


def test_values_without_a_standard_deviation_are_named() -> None:
    x = np.array([[1.0, 1e300], [2.0, -1e300], [3.0, 5.0]])
    with pytest.raises(InputError, match=r"column 1 reach 1e\+300, too large"):
        fit_scaling(x, "standard")


@pytest.mark.parametrize(("factor", "word"), [(1e300, "large"), (1e-300, "small")])
def test_a_spread_beyond_floating_point_is_named(factor: float, word: str) -> None:
    x = np.array([[1.0, 1.0], [2.0, 2.0]]) * [1.0, factor]
    with pytest.raises(InputError, match=f"column 1 .* too {word} for a standard deviation"):
        fit_scaling(x, "standard")
