"""The rules that decide what a window loses. Pure."""

__all__: list[str] = []
