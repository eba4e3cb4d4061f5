"""Recorded sessions: found, replayed, examined."""

__all__: list[str] = []
