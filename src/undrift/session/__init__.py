"""One agent session: prepare, record, recall."""

__all__: list[str] = []
