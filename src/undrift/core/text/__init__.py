"""Texts: tokens, secrets, marks. Pure."""

__all__: list[str] = []
