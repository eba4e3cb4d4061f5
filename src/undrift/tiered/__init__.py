"""The short-term buffer over a store: the classes of the seed documents."""

__all__: list[str] = []
