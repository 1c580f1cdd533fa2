"""Data: the paper's datasets by name, and one's own files, through one door each."""

from typing import TYPE_CHECKING

from amongst.optional import when_asked_for

if TYPE_CHECKING:
    from amongst.data.catalogue import CATALOGUE, Entry, File, entry, names
    from amongst.data.dataset import Dataset, Part, digest
    from amongst.data.download import fetch
    from amongst.data.encoder import TableEncoder
    from amongst.data.features import Scaling, fit_scaling
    from amongst.data.images import ImageFolder, load_image_folder
    from amongst.data.loading import Check, load, verify
    from amongst.data.pictures import Picture, draw_picture, picture
    from amongst.data.places import is_here
    from amongst.data.splits import hold_out, stratified_folds, validation_split
    from amongst.data.tables import Table, load_csv, load_mat, load_npz, load_parquet, read_table

__all__ = [
    "CATALOGUE",
    "Check",
    "Dataset",
    "Entry",
    "File",
    "ImageFolder",
    "Part",
    "Picture",
    "Scaling",
    "Table",
    "TableEncoder",
    "digest",
    "draw_picture",
    "entry",
    "fetch",
    "fit_scaling",
    "hold_out",
    "is_here",
    "load",
    "load_csv",
    "load_image_folder",
    "load_mat",
    "load_npz",
    "load_parquet",
    "names",
    "picture",
    "read_table",
    "stratified_folds",
    "validation_split",
    "verify",
]

__getattr__, __dir__ = when_asked_for(
    __name__,
    {
        "catalogue": ("CATALOGUE", "Entry", "File", "entry", "names"),
        "dataset": ("Dataset", "Part", "digest"),
        "download": ("fetch",),
        "encoder": ("TableEncoder",),
        "images": ("ImageFolder", "load_image_folder"),
        "loading": ("Check", "load", "verify"),
        "pictures": ("Picture", "draw_picture", "picture"),
        "places": ("is_here",),
        "features": ("Scaling", "fit_scaling"),
        "splits": ("hold_out", "stratified_folds", "validation_split"),
        "tables": ("Table", "load_csv", "load_mat", "load_npz", "load_parquet", "read_table"),
    },
)
