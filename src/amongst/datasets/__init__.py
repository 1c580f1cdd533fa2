"""Data: the paper's datasets by name, and one's own files, through one door each."""

from amongst.datasets.catalogue import CATALOGUE, entry, names
from amongst.datasets.dataset import Dataset, Part, digest
from amongst.datasets.download import fetch
from amongst.datasets.entries import Entry, File
from amongst.datasets.images import ImageFolder, load_image_folder
from amongst.datasets.loading import is_here, load
from amongst.datasets.pictures import Picture, draw_picture, picture
from amongst.datasets.scaling import Scaling, fit_scaling
from amongst.datasets.splits import hold_out, stratified_folds, validation_split
from amongst.datasets.tables import Table, load_csv, load_mat, load_npz, load_parquet, read_table
from amongst.datasets.verification import Check, verify

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
