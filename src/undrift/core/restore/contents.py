"""Counts what stands in a restored text, by its own items. Pure."""

from collections.abc import Sequence

from undrift.core.restore.render import RestoredItem
from undrift.core.restore.trace import file_key
from undrift.core.text.tokens import characters_per_4
from undrift.core.text.typed import GAP
from undrift.values.restored import RestoredContents

__all__ = ["contents_of"]


def contents_of(items: Sequence[RestoredItem], text: str) -> RestoredContents:
    """Return the counts of a text. `text`: as it is given, with all that stands around the items."""
    if not text:
        return RestoredContents()
    shown = [item for item in items if item.path is not None and item.kind in ("file", "edit")]

    def lines(kind: str) -> int:
        found = (line for item in items if item.kind == kind for line in item.text.split("\n"))
        return sum(bool(line.strip()) and line != GAP for line in found)

    def sources(kind: str) -> int:
        return len({item.source for item in items if item.kind == kind})

    return RestoredContents(
        tokens=characters_per_4(text),
        files=len({file_key(item.path or "") for item in shown}),
        requests=lines("requests") + lines("said"),
        rules=lines("rules"),
        pasted=sources("pasted"),
        steps=sum(item.kind == "plan" for item in items),
        statements=sources("statement"),
        verdicts=sources("verdict"),
        edits=sum(item.kind == "edit" for item in items),
        results=sources("result"),
    )
