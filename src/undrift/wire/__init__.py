"""Converts provider JSON to entries and back. Pure; one module for each wire form."""

__all__: list[str] = []
