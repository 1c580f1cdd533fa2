"""A folder of images and a CSV of candidates: in memory, memory-mapped, or a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.checks import check_choice, check_integer
from amongst.datasets.columns import unknown_column
from amongst.datasets.frames import existing_file, read_csv_frame
from amongst.datasets.labels import (
    LabelOptions,
    Outside,
    candidate_column,
    check_inside,
    true_labels,
)
from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import

__all__ = ["IN_MEMORY_BYTES", "ImageFolder", "load_image_folder"]

IN_MEMORY_BYTES = 2 * 2**30
"""Images beyond this size are not put into memory unless asked for."""

Mode = Literal["RGB", "L"]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class ImageFolder:
    """Images on disk, with the candidate labels of each; made by `load_image_folder`.

    Attributes
    ----------
    paths : n files.
    row : (channels, height, width) of every decoded image.
    candidates : CandidateSets of the n images.
    truth : (n,) true labels, or None.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> ImageFolder((Path("a.png"),), (3, 8, 8), as_candidates(["owl|kite"]), None).nbytes
    192
    """

    paths: tuple[Path, ...]
    row: tuple[int, int, int]
    candidates: CandidateSets
    truth: npt.NDArray[Any] | None
    resize: bool = False

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        size = f"{self.nbytes / 2**20:.1f} MiB decoded"
        return f"ImageFolder(n={len(self)}, row {self.row}, {size}, {self.candidates})"

    @property
    def nbytes(self) -> int:
        """Bytes that all images take once decoded."""
        return len(self) * int(np.prod(self.row))

    def batch(self, rows: Sequence[int] | npt.NDArray[np.int64]) -> Bytes:
        """These images, decoded, shape (len(rows), channels, height, width)."""
        out = np.empty((len(rows), *self.row), dtype=np.uint8)
        for place, row in enumerate(rows):
            out[place] = _decode(self.paths[row], self.row, self.resize)
        return out

    def batches(self, size: int = 256) -> Iterator[Bytes]:
        """All images in order, `size` at a time; only one batch is in memory."""
        check_integer("size", size, low=1)
        for start in range(0, len(self), size):
            yield self.batch(range(start, min(start + size, len(self))))

    def to_array(self, memory_map: str | Path | None = None) -> Bytes:
        """All images, shape (n, channels, height, width), in memory or mapped from a file.

        Parameters
        ----------
        memory_map : a `.npy` file to write and map, so that the images need not fit into memory;
            it appears under its name only when it is complete.
        """
        if memory_map is not None:
            return self._mapped(Path(memory_map))
        if self.nbytes > IN_MEMORY_BYTES:
            raise InputError(
                f"the {len(self)} images take {self.nbytes / 2**30:.1f} GiB decoded, more than the "
                f"{IN_MEMORY_BYTES / 2**30:.0f} GiB kept in memory; pass memory_map='images.npy', "
                "use batches(), or a smaller size=(height, width)."
            )
        return self.batch(range(len(self)))

    def _mapped(self, path: Path) -> Bytes:
        partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            mapped = np.lib.format.open_memmap(
                partial, mode="w+", dtype=np.uint8, shape=(len(self), *self.row)
            )
            start = 0
            for batch in self.batches():
                mapped[start : start + len(batch)] = batch
                start += len(batch)
            mapped.flush()
            del mapped
            os.replace(partial, path)
        except OSError as error:
            if isinstance(error, DataNotFoundError):
                raise
            raise InputError(f"memory_map={str(path)!r} cannot be written: {error}.") from error
        finally:
            partial.unlink(missing_ok=True)
        opened: Bytes = np.load(path, mmap_mode="r")
        return opened


def load_image_folder(
    folder: str | Path,
    labels: str | Path,
    *,
    candidates: str | Sequence[str],
    image: str = "image",
    truth: str | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "RGB",
    outside: Outside = "error",
    **options: Unpack[LabelOptions],
) -> ImageFolder:
    """Images in a folder, and a CSV that names each file and its candidate labels.

    Nothing is decoded here but the first image, for its size: see `ImageFolder.to_array` and
    `ImageFolder.batches`. Files that the CSV does not name are left alone.

    Parameters
    ----------
    folder : where the images are; also below it.
    labels : CSV with a header line.
    candidates : its column of candidate labels, or several; as for `read_table`.
    image : its column of file names, relative to `folder`.
    truth : its column of true labels, if they are known.
    size : (height, width) to which every image is resized; None if all have one size.
    mode : ``"RGB"`` for three channels, ``"L"`` for one (grey).
    outside : a true label that is not among its candidates is an ``"error"``, or ``"keep"``.
    options : `separator`, `kind`, `classes` and `empty`, as for `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a.png", "b.png"):
    ...     Image.new("RGB", (4, 3)).save(folder / name)
    >>> _ = (folder / "labels.csv").write_text("image,labels\\na.png,owl|kite\\nb.png,owl\\n")
    >>> images = load_image_folder(folder, folder / "labels.csv", candidates="labels")
    >>> images.to_array().shape
    (2, 3, 3, 4)
    """
    check_choice("mode", mode, get_args(Mode))
    check_choice("outside", outside, get_args(Outside))
    frame, columns = _label_frame(existing_file(labels), candidates, image, truth)
    paths = _image_paths(Path(folder), frame[image])
    sets = candidate_column(frame[columns], **options)
    known = None if truth is None else true_labels(frame[truth], sets.classes)
    if known is not None:
        check_inside(sets, known, outside, f"{labels}: truth")
    row = _row(paths[0], size, mode)
    return ImageFolder(paths, row, sets, known, resize=size is not None)


def _label_frame(
    path: Path, candidates: str | Sequence[str], image: str, truth: str | None
) -> tuple[pd.DataFrame, list[str]]:
    columns = [candidates] if isinstance(candidates, str) else list(candidates)
    answers = columns if len(columns) > 1 else []
    text = {image, truth or "", *columns} - {*answers}
    frame = read_csv_frame(path, text=text, answers=answers)
    if not len(frame):
        raise FileFormatError(f"{path} has column names but no rows.")
    for argument, name in (
        ("image", image),
        ("truth", truth),
        *(("candidates", c) for c in columns),
    ):
        if name is not None and name not in frame.columns:
            raise InputError(unknown_column(path, frame, argument, name))
    return frame, columns


def _image_paths(folder: Path, names: pd.Series) -> tuple[Path, ...]:
    if not folder.is_dir():
        raise DataNotFoundError(f"folder={str(folder)!r} is not a folder.")
    listed = ["" if pd.isna(name) else str(name) for name in names]
    for row, name in enumerate(listed):
        path = PurePath(name)
        if not name or path.is_absolute() or ".." in path.parts:
            raise InputError(
                f"image: row {row} names {name!r}; it must be a file below the folder {folder}."
            )
    paths = tuple(folder / name for name in listed)
    gone = [path for path in paths if not path.is_file()]
    if gone:
        raise DataNotFoundError(
            f"{gone[0]} is named in the CSV but is not there ({len(gone)} of {len(paths)} images "
            "are missing); correct the names, or drop the rows."
        )
    return paths


def _row(path: Path, size: tuple[int, int] | None, mode: Mode) -> tuple[int, int, int]:
    channels = 3 if mode == "RGB" else 1
    if size is not None:
        height, width = (check_integer("size", side, low=1) for side in size)
        return channels, height, width
    with _opened(path) as picture:
        return channels, picture.height, picture.width


def _opened(path: Path) -> Any:
    image = optional_import("PIL.Image", extra="data", purpose="reading images")
    try:
        return image.open(path)
    except (OSError, image.DecompressionBombError) as error:
        raise FileFormatError(f"{path} cannot be read as an image: {error}.") from error


def _decode(path: Path, row: tuple[int, int, int], resize: bool) -> Bytes:
    channels, height, width = row
    with _opened(path) as picture:
        if picture.mode.startswith(("I", "F")):
            raise InputError(
                f"{path} has more than 8 bits for each pixel (mode {picture.mode}), which would be "
                "cut off at 255; bring the images to 8 bits first."
            )
        try:
            pixels = picture.convert("RGB" if channels == 3 else "L")
        except (OSError, SyntaxError, ValueError) as error:
            raise FileFormatError(f"{path} is damaged: {error}.") from error
    if pixels.size != (width, height):
        if not resize:
            raise InputError(
                f"{path} is {pixels.height} × {pixels.width}, the first image {height} × {width}; "
                "pass size=(height, width) to resize all of them."
            )
        pixels = pixels.resize((width, height))
    array = np.asarray(pixels, dtype=np.uint8).reshape(height, width, channels)
    return array.transpose(2, 0, 1)
