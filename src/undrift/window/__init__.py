"""The window of one conversation: what came in, what was decided, what is sent."""

__all__: list[str] = []
