"""The window of one conversation: its history, its decisions, and the entries to send."""

__all__: list[str] = []
