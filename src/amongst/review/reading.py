"""What is shown of a file's rows: what a model makes of them, and the columns that it does not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from amongst.data import Table
from amongst.data.columns import no_column
from amongst.data.images import LOOKED_AT, Photos, picture_column
from amongst.errors import InputError
from amongst.estimators.base import PartialLabelClassifier
from amongst.review.reviewed import row_keys
from amongst.review.rows import Pictures, Rows


def read_rows(
    estimator: PartialLabelClassifier,
    X: Any,
    table: Table,
    file: Path,
    images: Path | None = None,
    image: str | None = None,
) -> Rows:
    """The rows of a table for a review, those first whose likeliest candidate is least sure.

    Parameters
    ----------
    estimator : fitted; X has the features that it reads.
    table : as it was read from `file`, with candidate sets.
    images : the folder of pictures; `image` is the column that names them, found if None.
    """
    assert table.candidates is not None
    shares = table.candidates.posterior(estimator._log_weights(X) / estimator._temperature)
    order = shares.max(axis=1).argsort(kind="stable")
    told = getattr(estimator, "metadata_", {})
    texts, pictures = unread(table, file, told.get("truth"), images, image)
    frame = None if isinstance(table, Photos) else table.frame
    return Rows(row_keys(table), table.candidates, shares, order, frame, texts, pictures)


def unread(
    table: Table, path: Path, truth: str | None, images: Path | None, image: str | None
) -> tuple[pd.DataFrame | None, Pictures | None]:
    """The columns that no model reads, as text, and the pictures that one of them names. `truth` is
    the column of true labels when the model was fitted, which is not shown.
    """
    if isinstance(table, Photos):
        return None, Pictures(table.folder, table.index.tolist())
    if table.others is None:
        if images is not None:
            problem = "needs a file with a column of file names."
            raise InputError(problem, code="no-images", argument="images", got=str(images))
        return None, None
    columns = pd.concat([table.others, table.mixed], axis=1)  # numbers name no files
    if images is not None:
        if not images.is_dir():
            got = str(images)
            raise InputError("is not a folder.", code="no-folder", argument="images", got=got)
        if image is not None and image not in columns:
            raise no_column(path, list(columns), "image", image)
        first = {name: columns[name].head(LOOKED_AT).tolist() for name in columns}
        image = image or picture_column(first, path, images)
    told = table.columns
    known = {told.index, told.truth, told.rater, truth, *table.feature_names} - {image}
    frame = columns[[name for name in columns if name not in known]].astype(object)
    frame = frame.where(frame.notna(), None)
    if images is None or image is None:
        return frame, None
    cells = ["" if cell is None else str(cell) for cell in frame[image]]
    return frame.drop(columns=image), Pictures(images, cells)
