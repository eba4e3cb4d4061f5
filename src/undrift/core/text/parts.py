"""The text of a result that came in several parts, which is kept as the JSON of its parts. Pure, linear."""

import json

from undrift.values.window import ContextEntry

__all__ = ["text_of"]

_MOST_CHARACTERS = 4_000_000  # a longer result is a picture or another file


def text_of(entry: ContextEntry) -> str:
    """Return the texts of a result's parts, one after the other. If a part is no text, or there are none: its content."""
    if not entry.meta("mixed") or len(entry.content) > _MOST_CHARACTERS:
        return entry.content
    try:
        parts = json.loads(entry.content)
    except (ValueError, RecursionError):
        return entry.content
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts] if isinstance(parts, list) else []
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if known and len(known) == len(texts) else entry.content
