"""Data: the paper's datasets by name, and one's own files, through one door each."""

from amongst.datasets.tables import Table, load_csv, load_mat, load_npz, load_parquet, read_table

__all__ = ["Table", "load_csv", "load_mat", "load_npz", "load_parquet", "read_table"]
