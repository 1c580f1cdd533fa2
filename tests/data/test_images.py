"""A folder of images and a CSV of candidates: in memory, mapped, or in batches, always the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from amongst.data import ImageFolder, images, load_image_folder
from amongst.errors import DataNotFoundError, FileFormatError, InputError

N = 11


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Eleven images of 6 × 4, some below a folder of their own, and labels.csv."""
    rng = np.random.default_rng(0)
    (tmp_path / "more").mkdir()
    lines = ["image,labels,true"]
    for place in range(N):
        name = f"{'more/' if place % 3 == 0 else ''}{place}.png"
        pixels = rng.integers(0, 256, (6, 4, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / name)
        lines.append(f"{name},{'owl|kite' if place % 2 else 'owl'},owl")
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path


def opened(folder: Path, **options: object) -> ImageFolder:
    return load_image_folder(folder, folder / "labels.csv", candidates="labels", **options)  # type: ignore[arg-type]


def one_by_one(found: ImageFolder) -> np.ndarray:
    return np.stack([np.asarray(Image.open(path)).transpose(2, 0, 1) for path in found.paths])


def test_in_memory_mapped_and_streamed_are_the_same(folder: Path) -> None:
    found = opened(folder, truth="true")
    expected = one_by_one(found)
    np.testing.assert_array_equal(found.to_array(), expected)
    mapped = found.to_array(folder / "images.npy")
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, expected)
    batches = list(found.batches(4))
    assert [len(batch) for batch in batches] == [4, 4, 3]
    np.testing.assert_array_equal(np.concatenate(batches), expected)
    np.testing.assert_array_equal(found.batch([5, 2]), expected[[5, 2]])
    assert found.candidates.sizes.tolist() == [1 + place % 2 for place in range(N)]
    assert found.truth is not None
    assert found.truth.tolist() == ["owl"] * N


def test_what_does_not_fit_is_not_put_into_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "IN_MEMORY_BYTES", 100)
    found = opened(folder)
    with pytest.raises(InputError, match="memory_map="):
        found.to_array()
    assert found.to_array(folder / "images.npy").shape == (N, 3, 6, 4)


def test_grey_and_resized(folder: Path) -> None:
    found = opened(folder, size=(8, 5), mode="L")
    assert found.to_array().shape == (N, 1, 8, 5)
    assert "8, 5" in repr(found)


def test_photos_are_seen_as_the_camera_was_held(tmp_path: Path) -> None:
    """A phone stores a picture that lies on its side, and says so beside it."""
    upright = np.zeros((4, 6, 3), dtype=np.uint8)
    upright[0] = 200
    exif = Image.Exif()
    exif[0x0112] = 8  # turned by 90° when shown
    Image.fromarray(np.rot90(upright, -1)).save(tmp_path / "a.png", exif=exif)
    (tmp_path / "labels.csv").write_text("image,labels\na.png,x|y\n")
    found = load_image_folder(tmp_path, tmp_path / "labels.csv", candidates="labels")
    assert np.array_equal(found.to_array()[0], upright.transpose(2, 0, 1))


def test_an_image_of_another_size_is_named(folder: Path) -> None:
    Image.new("RGB", (9, 9)).save(folder / "4.png")
    with pytest.raises(InputError, match=r"4\.png is 9 × 9, the first image 6 × 4. Pass size="):
        opened(folder).to_array()
    assert opened(folder, size=(6, 4)).to_array().shape == (N, 3, 6, 4)


def test_a_failed_map_leaves_nothing_behind(folder: Path) -> None:
    found = opened(folder)
    (folder / "7.png").write_bytes(b"no picture")
    with pytest.raises(FileFormatError, match=r"7\.png cannot be read as an image"):
        found.to_array(folder / "images.npy")
    assert list(folder.glob("*.npy")) == []
    assert list(folder.glob(".*")) == []
    with pytest.raises(InputError, match="cannot be written"):
        opened(folder).to_array(folder / "nowhere" / "images.npy")


@pytest.mark.parametrize("name", ["more/0.png", "5.png"])
def test_truncated_image(name: str, folder: Path) -> None:
    """Also the first one, which is asked for its size and for how the camera was held."""
    path = folder / name
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileFormatError, match=name) as caught:
        opened(folder).to_array()
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", ""])
def test_names_that_lead_out_of_the_folder(folder: Path, name: str) -> None:
    (folder / "labels.csv").write_text(f"image,labels\n1.png,owl\n{name},owl\n")
    with pytest.raises(InputError, match=r"row 1 names .* below the folder"):
        opened(folder)


def test_missing_files_columns_and_folders(folder: Path) -> None:
    (folder / "2.png").unlink()
    with pytest.raises(DataNotFoundError, match=r"2\.png is named in the CSV .*1 of 11"):
        opened(folder)
    with pytest.raises(InputError, match=r"image: .* did you mean 'image'"):
        opened(folder, image="imag")
    with pytest.raises(DataNotFoundError, match="not a folder"):
        load_image_folder(folder / "x", folder / "labels.csv", candidates="labels")
    (folder / "labels.csv").write_text("image,labels\n")
    with pytest.raises(FileFormatError, match="no rows"):
        opened(folder)


def test_true_label_outside_its_set(folder: Path) -> None:
    (folder / "labels.csv").write_text("image,labels,true\n1.png,owl,kite\n2.png,kite,kite\n")
    with pytest.raises(InputError, match="row 0 has the true label 'kite'"):
        opened(folder, truth="true")
    assert opened(folder, truth="true", outside="keep").truth is not None


@pytest.mark.parametrize("pixels", [np.uint16, np.int32, np.float32])
def test_pixels_of_more_than_8_bits_are_not_cut_off(tmp_path: Path, pixels: type) -> None:
    ending = "png" if pixels is np.uint16 else "tif"
    Image.fromarray(np.full((3, 4), 40000, dtype=pixels)).save(tmp_path / f"a.{ending}")
    (tmp_path / "labels.csv").write_text(f"image,s\na.{ending},a|b\n")
    images = load_image_folder(tmp_path, tmp_path / "labels.csv", candidates="s")
    with pytest.raises(InputError, match="more than 8 bits"):
        images.to_array()
