"""Long-term memory: stored, found, kept true."""

__all__: list[str] = []
