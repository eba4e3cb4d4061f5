"""The texts that a client left in the window at its own compaction: its summary, and what it kept or attached. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.autopsy.steps import Step
from undrift.core.text.tokens import characters_per_4

__all__ = ["CompactionRecord", "NativeTexts", "native_texts"]

_ATTACHED = frozenset({"compact_file_reference", "file"})
"""Returns what a client attaches again by itself after a compaction."""


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """The figures of a compaction, without its place; see `undrift.transcripts.figures.Boundary`.

    Args:
        line: Where it stands in the recording, from 1; prompts before it belong to the window before.
        kept_ids: Beginnings of the ids of entries that stayed.
        version: The client's release; empty if it is not recorded.
    """

    line: int = 0
    at_ms: int | None = None
    trigger: str = ""
    tokens_before: int | None = None
    kept_ids: frozenset[str] = frozenset()
    kept_texts: tuple[str, ...] = ()
    encrypted: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class NativeTexts:
    """The texts that a compaction left in the window: the client's summary, and what it kept or attached again.

    Args:
        own: The indices of the steps among them.
        has_attached: Whether the recording holds what the client attached.
    """

    own: frozenset[int]
    texts: tuple[str, ...]
    tokens: int
    summary_tokens: int
    place: int
    has_attached: bool = False


def native_texts(steps: Sequence[Step], index: int, record: CompactionRecord | None = None) -> NativeTexts:
    """Gather what the client put in at a compaction: up to the agent's next word, its summary and attached files."""
    record = record or CompactionRecord()
    own: set[int] = set()
    place, attached = index, False
    for step in steps[index:]:
        metadata = step.entry.metadata or {}
        if metadata.get("role") == "assistant":
            break
        attachment = metadata.get("attachment")
        if step.kind == "summary" or (step.kind == "client" and attachment in _ATTACHED):
            own.add(step.index)
            place, attached = step.index + 1, attached or attachment in _ATTACHED
    texts = [steps[number].entry.content for number in sorted(own)]
    tokens = sum(steps[number].entry.token_count for number in own)
    written = sum(steps[number].entry.token_count for number in own if steps[number].kind == "summary")
    kept = [
        step.entry.content
        for step in steps[:index]
        if record.kept_ids and step.kind != "silent" and step.entry.id.rsplit(":", 1)[0] in record.kept_ids
    ]
    known = set(texts)
    kept += [text for text in record.kept_texts if text not in known]
    kept_tokens = sum(map(characters_per_4, kept))
    return NativeTexts(frozenset(own), (*texts, *kept), tokens + kept_tokens, written, place, attached)
