"""The values that travel between the floors. Frozen; they import nothing but errors."""

__all__: list[str] = []
