"""What makes training faster, with the same answers: captured steps, stacked populations, kernels."""

__all__: list[str] = []
