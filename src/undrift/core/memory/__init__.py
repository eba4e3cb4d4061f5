"""Decide which memories count, and how much. Pure."""

__all__: list[str] = []
