"""Find what compactions removed: what the agent used of it, fetched again, or never saw again. Pure."""

__all__: list[str] = []
