"""Recorded sessions: finds, replays and examines them."""

__all__: list[str] = []
