"""What leaves a window. Pure."""

__all__: list[str] = []
