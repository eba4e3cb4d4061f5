"""Tasks: what an agent says about them, and what a finished one evicts."""

__all__: list[str] = []
