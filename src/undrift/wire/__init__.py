"""Provider JSON to entries and back. Pure; one module a form."""

__all__: list[str] = []
