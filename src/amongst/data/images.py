"""A folder of images, and a table that names them and their candidates: as bytes, or as a `Table`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.checks import check_choice, check_integer
from amongst.data.columns import LabelOptions, Outside, no_column
from amongst.data.frames import ColumnFile, open_table
from amongst.data.tables import Table, columns_of, read_as
from amongst.errors import DataNotFoundError, InputError, named, reading
from amongst.files import atomic_write
from amongst.optional import optional_import

IN_MEMORY_BYTES = 2 * 2**30
"""Images beyond this size are not put into memory unless asked for."""

ORIENTATION, LYING = 0x0112, range(5, 9)
"""Where a camera says how it was held, and its values for pictures that lie on a side."""

LARGEST = 64
"""Pixels of the longer side up to which photos of one size are taken as they are; others become squares
of this side unless told."""

ENDINGS = frozenset({".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm"})
LOOKED_AT = 20

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
                f"{IN_MEMORY_BYTES / 2**30:.0f} GiB kept in memory.",
                code="memory",
                remedy=("pass memory_map='images.npy'", "use batches()", "use a smaller size=…"),
            )
        return self.batch(range(len(self)))

    def _mapped(self, path: Path) -> Bytes:
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(self), *self.row)}
        try:
            with atomic_write(path) as file:
                np.lib.format.write_array_header_1_0(file, header)
                for batch in self.batches():
                    file.write(batch.tobytes())
        except OSError as error:
            if isinstance(error, DataNotFoundError):
                raise
            problem = f"cannot be written: {error}."
            raise InputError(
                problem, code="unwritable", argument="memory_map", got=str(path)
            ) from error
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
    columns = {"candidates": candidates, "truth": truth, "outside": outside, "header": True}
    found = _labelled(open_table(labels, True), image, {**columns, **options}, guess=False)
    paths = checked_paths(Path(folder), found.index)
    assert found.candidates is not None
    row = _row(paths[0], size, mode)
    return ImageFolder(paths, row, found.candidates, found.truth, resize=size is not None)


def _labelled(file: Any, image: str, options: dict[str, Any], guess: bool) -> Table:
    """The labels in a table whose column `image` names the rows, as text."""
    if image not in file.names:
        raise no_column(file.path, file.names, "image", image)
    columns = replace(columns_of(**options), features=(), index=image, mixed=True)
    return read_as(file, columns, guess)


@dataclass(frozen=True, repr=False)
class Photos(Table):
    """Photos as rows.

    Attributes
    ----------
    features : (n, 3, height, width) bytes.
    folder : where the files are.
    image : the column that names them, or None where all of the folder are taken.
    """

    folder: Path = Path()
    image: str | None = None

    def __repr__(self) -> str:
        height, width = self.size
        return f"Photos(n={len(self)}, {height} × {width}, candidates={self.candidates})"

    @property
    def size(self) -> tuple[int, int]:
        """Height and width that all have here."""
        height, width = self.features.shape[-2:]
        return int(height), int(width)

    @property
    def frame(self) -> Any:
        """The images: they have no columns."""
        return self.features

    def told(self) -> dict[str, Any]:
        """How they were read, for `read_photos_like`."""
        return super().told() | {"photos": {"image": self.image, "size": list(self.size)}}


def read_photos(
    folder: str | Path,
    labels: str | Path | None = None,
    *,
    image: str | None = None,
    size: int | tuple[int, int] | None = None,
    **options: Any,
) -> Photos:
    """Photos in a folder, of any size, and a table of their candidate labels.

    Parameters
    ----------
    folder : where the photos are; also below it.
    labels : a table that `read_table` reads, with a column of file names relative to the folder; None
        for all photos of the folder, without labels.
    image : that column; None for ``"image"``, or the first one whose cells name files there.
    size : height and width, or the side of a square, to which they are resized; None for the size that
        all have, if it is at most 64 pixels, else 64.
    options : as for `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, side in (("a.png", 90), ("b.png", 40)):
    ...     Image.new("RGB", (side, side)).save(folder / name)
    >>> _ = (folder / "labels.csv").write_text("image,labels\\na.png,owl|kite\\nb.png,owl\\n")
    >>> read_photos(folder, folder / "labels.csv", candidates="labels")
    Photos(n=2, 64 × 64, candidates=CandidateSets(n=2, K=2, mean size 1.50))
    """
    place = Path(folder)
    if labels is None:
        names = np.array(photos_in(place))
        found = Table(np.zeros((len(names), 0)), (), None, None, names)
    else:
        file = open_table(labels, options.get("header"))
        assert isinstance(file, ColumnFile)
        image = image or (
            "image"
            if "image" in file.names
            else picture_column(dict(zip(file.names, file.head, strict=True)), file.path, place)
        )
        found = _labelled(file, image, options, options.pop("guess", False))
        names = np.array([str(name) for name in found.index])
    paths = checked_paths(place, names)
    row = (3, *_size_of(paths, size))
    pixels = ImageFolder(paths, row, None, None, resize=True).to_array()  # type: ignore[arg-type]
    columns = replace(found.columns, index=image)
    known = found.candidates, found.truth, names, columns, found.found, None, found.rows
    return Photos(pixels, (), *known, folder=place, image=image)


def read_photos_like(
    folder: str | Path, labels: str | Path | None, told: Mapping[str, Any], **options: Any
) -> Photos:
    """Photos as those that a model was fitted on: `told` is what `Photos.told` gave.

    Parameters
    ----------
    labels : None for all photos of the folder.
    """
    facts = told.get("photos")
    if facts is None:
        raise InputError(
            f"{folder} is a folder, but the model was fitted on a table; name a file.",
            code="no-photos",
        )
    known = ("candidates", "separator", "empty", "hierarchy", "raters", "rater")
    same = {name: told[name] for name in known if told.get(name) is not None}
    size = tuple(facts["size"])
    if labels is None:
        return read_photos(folder, size=size)
    return read_photos(folder, labels, size=size, guess=True, **same | options)


def photos_in(folder: Path) -> list[str]:
    """Names of the photos in a folder, and below it, in order."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    if not names:
        raise InputError(
            f"has no photos: no file that ends in {', '.join(sorted(ENDINGS))}.",
            code="no-images",
            argument="folder",
            got=str(folder),
        )
    return names


def picture_column(columns: Mapping[str, Sequence[Any]], path: Path, folder: Path) -> str:
    """Of the columns of a file the one most of whose first cells name files below the folder."""
    for name, head in columns.items():
        cells = [cell for cell in head[:LOOKED_AT] if isinstance(cell, str) and cell]
        there = sum(file_below(folder, cell) is not None for cell in cells)
        if 2 * there > len(cells):
            return name
    raise InputError(
        f"no column of {path} names files below {folder}.",
        code="no-images",
        argument="images",
        remedy=f"File names are relative to the folder; name their column with {named('image')}.",
    )


def file_below(folder: Path, name: str) -> Path | None:
    """The file of this name, links followed; None where it is none below the folder."""
    try:
        found = (folder / name).resolve()
        return found if found.is_relative_to(folder.resolve()) and found.is_file() else None
    except (OSError, ValueError):  # such as a name with a NUL
        return None


def checked_paths(folder: Path, names: Any) -> tuple[Path, ...]:
    """The files of these names below a folder, all of which are there."""
    if not folder.is_dir():
        problem = "is not a folder."
        raise DataNotFoundError(problem, code="no-folder", argument="folder", got=str(folder))
    listed = ["" if pd.isna(name) else str(name) for name in names]
    for row, name in enumerate(listed):
        path = PurePath(name)
        if not name or path.is_absolute() or ".." in path.parts:
            problem = f"image: row {row} names {name!r}; it is no file below the folder {folder}."
            raise InputError(problem, code="outside-folder", at=row, got=name)
    paths = tuple(folder / name for name in listed)
    gone = [path for path in paths if not os.path.isfile(path)]  # False for names no system takes
    if gone:
        of = f"{len(gone)} of {len(paths)} are not"
        problem = f"{gone[0]} is named in the CSV but is not there ({of})."
        remedy = "correct the names", "drop the rows"
        raise DataNotFoundError(problem, code="no-file", remedy=remedy)
    return paths


def _size_of(paths: Sequence[Path], size: int | tuple[int, int] | None) -> tuple[int, int]:
    """Height and width: those asked for; else those that all these files have, if neither is beyond
    `LARGEST`; else a square of that side."""
    if size is not None:
        return _row(paths[0], (size, size) if isinstance(size, int) else size, "RGB")[1:]
    first = _row(paths[0], None, "RGB")[1:]
    alike = max(first) <= LARGEST and all(_row(path, None, "RGB")[1:] == first for path in paths)
    return first if alike else (LARGEST, LARGEST)


def _row(path: Path, size: tuple[int, int] | None, mode: Mode) -> tuple[int, int, int]:
    channels = 3 if mode == "RGB" else 1
    if size is not None:
        height, width = (check_integer("size", side, low=1) for side in size)
        return channels, height, width
    with _opened(path) as picture:
        lies = picture.getexif().get(ORIENTATION, 1) in LYING
        width, height = picture.size[::-1] if lies else picture.size
        return channels, height, width


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A picture, of which parts are decoded when they are asked for: what fails then is told here."""
    image = optional_import("PIL.Image", extra="data", purpose="reading images")
    with reading(path, "an image"), image.open(path) as picture:
        yield picture


def upright(picture: Any) -> Any:
    """The picture as it is to be seen: cameras store how they were held, not turned pixels."""
    ops = optional_import("PIL.ImageOps", extra="data", purpose="reading images")
    return ops.exif_transpose(picture)


def _decode(path: Path, row: tuple[int, int, int], resize: bool) -> Bytes:
    channels, height, width = row
    with _opened(path) as picture:
        if picture.mode.startswith(("I", "F")):
            raise InputError(
                f"{path} has more than 8 bits for each pixel (mode {picture.mode}), which would be cut "
                "off at 255.",
                code="depth",
                remedy="Bring the images to 8 bits first.",
            )
        pixels = upright(picture).convert("RGB" if channels == 3 else "L")
    if pixels.size != (width, height):
        if not resize:
            found = f"{pixels.height} × {pixels.width}"
            problem = f"{path} is {found}, the first image {height} × {width}."
            remedy = "Pass size=(height, width) to resize all of them."
            raise InputError(problem, code="size", remedy=remedy)
        pixels = pixels.resize((width, height))
    array = np.asarray(pixels, dtype=np.uint8).reshape(height, width, channels)
    return array.transpose(2, 0, 1)
