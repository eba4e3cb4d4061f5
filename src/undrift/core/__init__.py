"""The pure core: values in, values out."""

__all__: list[str] = []
