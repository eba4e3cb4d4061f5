"""Decides which memories are used, and with what score. Pure."""

__all__: list[str] = []
