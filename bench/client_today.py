"""What a client of today puts back by itself after a compaction, beside its summary: the files that it used last.

Law: as recorded, where the recording holds what was attached. Else simulated as Claude Code of late 2026 does it: the five
files that were read or written last, each as the agent last saw it, one of more than 5,000 tokens by its name alone. The
agent's own edits are in it too, which flatters the client.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path

from undrift.core.text.tokens import characters_per_4
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = ["files_put_back", "five_files"]

_ATTACHED = frozenset({"compact_file_reference", "file"})
_FILES = 5
_LARGEST_TOKENS = 5_000


def five_files(entries: Sequence[ContextEntry]) -> str:
    """Give the five files that were used last, the newest first."""
    texts: dict[str, list[str]] = {}
    read: dict[str, str] = {}
    for entry in entries:
        metadata = entry.metadata or {}
        pair, given = metadata.get("pair_id"), metadata.get("input")
        if metadata.get("kind") == "call" and isinstance(given, dict) and isinstance(given.get("file_path"), str):
            path, tool = given["file_path"], metadata.get("tool_name")
            if tool not in ("Read", "Edit", "MultiEdit", "Write"):
                continue
            known = [] if tool == "Write" else texts.pop(path, [])
            texts.pop(path, None)
            texts[path] = [*known, *_written(given)]  # at the end: it was used last
            if tool == "Read" and isinstance(pair, str):
                read[pair] = path
        elif metadata.get("kind") == "result" and pair in read and read[pair] in texts:
            texts[read[pair]].append(entry.content)
    parts = []
    for path in list(reversed(texts))[:_FILES]:
        whole = "\n".join(dict.fromkeys(reversed(texts[path])))
        parts.append(path + ("\n" + whole if characters_per_4(whole) <= _LARGEST_TOKENS else ""))
    return "\n".join(parts)


def _written(given: dict[str, object]) -> list[str]:
    edits = given.get("edits")
    parts = [given.get("content"), given.get("new_string")]
    parts += [edit.get("new_string") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    return [part for part in parts if isinstance(part, str) and part]


def files_put_back(path: str | Path) -> Callable[[Sequence[ContextEntry]], str]:
    """Return what gives the simulated files at each compaction of a recording; nothing where it attached some itself."""
    recording = open_recording(path)
    recorded = {index for index in recording.compactions if _has_attached(recording.entries[index:])}
    return lambda entries: "" if len(entries) in recorded else five_files(entries)


def _has_attached(after: Sequence[ContextEntry]) -> bool:
    before_the_agent = takewhile(lambda entry: (entry.metadata or {}).get("role") != "assistant", after)
    return any((entry.metadata or {}).get("attachment") in _ATTACHED for entry in before_the_agent)
