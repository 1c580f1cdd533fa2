"""Estimators without a network, one file each; a file here is found by its name."""

__all__: list[str] = []
