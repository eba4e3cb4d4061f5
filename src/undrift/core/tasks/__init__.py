"""The life of tasks. Pure."""

__all__: list[str] = []
