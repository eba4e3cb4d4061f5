"""Moves homes between a folder and a server, and keeps the two equal.

Law: a record has one form here, in any home: the operation that wrote it, and what the operation made of it. Nothing
is overwritten, and a session is there as a whole or not at all.
"""

__all__: list[str] = []
