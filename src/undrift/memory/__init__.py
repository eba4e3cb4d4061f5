"""Long-term memory: stores memories, finds them, and marks superseded ones."""

__all__: list[str] = []
