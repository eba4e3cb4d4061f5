"""Finds what a client gives back by itself after its compaction, so that a text need not hold it too. Pure.

Law: what is not certain counts as lost. A line that is in the window two times costs little, one that is missing is gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from undrift.core.restore.history import RestoreHistory
from undrift.core.restore.stated import Excerpt
from undrift.core.restore.trace import Trace, file_key
from undrift.core.text.references import NAME_CANDIDATE, name_in, normal
from undrift.core.text.tokens import characters_per_4
from undrift.core.text.typed import user_texts
from undrift.profiles import GivenBack, acts_of
from undrift.values.window import ContextEntry

__all__ = ["KeptByClient", "kept_by_client", "newest_answer", "without_kept_texts"]

_SURE = 0.8
"""A file counts as small enough up to this share of the client's limit, as the client counts in its own way."""

_LOOKED_AT = 1_000_000  # characters: more than any window holds


@dataclass(frozen=True, slots=True)
class KeptByClient:
    """The client gives these back.

    Args:
        others: The entries without the user's texts that it keeps.
        lines: Keys of lines.
        names: Names; those of a file that came back by its name alone are none of its content's.
    """

    others: Sequence[ContextEntry]
    lines: frozenset[str]
    names: frozenset[str] = frozenset()

    def lost(self, excerpts: Iterable[Excerpt]) -> list[Excerpt]:
        """Return the excerpts of which a line is gone."""
        return [one for one in excerpts if any(normal(line) not in self.lines for line in one.lines)]


def kept_by_client(
    entries: Sequence[ContextEntry], history: RestoreHistory, gives: GivenBack, put_back: Sequence[str] = ()
) -> KeptByClient:
    """Find what stays in the window without us.

    Args:
        entries: The session.
        history: What was read of it.
        gives: What the client keeps by its own rule: the user's texts, files, and the newest answer.
        put_back: Texts that are known to stand in the new window. If there are any, its rule for files is not asked.
    """
    others = without_kept_texts(entries, gives)
    left = {entry.id for entry in others}.difference(entry.id for entry in newest_answer(entries, gives))
    texts = [trace for entry, trace in _pairs(history) if entry.id not in left]
    readings = [] if put_back else _readings(history, gives)
    lines, names = _standing(put_back)
    lines.update(key for trace in [*texts, *readings] for key in trace.keys)
    return KeptByClient(others, frozenset(lines), frozenset(names))


def _standing(texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the lines and names of the first `_LOOKED_AT` characters of texts."""
    lines: set[str] = set()
    names: set[str] = set()
    left = _LOOKED_AT
    for text in texts:
        part = text[:left]
        left -= len(part)
        lines.update(map(normal, part.split("\n")))
        names.update(name for token in set(NAME_CANDIDATE.findall(part)) if (name := name_in(token)))
    return lines - {""}, names


def without_kept_texts(entries: Sequence[ContextEntry], gives: GivenBack) -> Sequence[ContextEntry]:
    """Return the entries without the user's newest texts, as far as the client keeps those."""
    kept: set[str] = set()
    tokens = 0
    for entry in user_texts(entries):
        tokens += characters_per_4(entry.content)
        if tokens > gives.user_tokens * _SURE:
            break
        kept.add(entry.id)
    return [entry for entry in entries if entry.id not in kept] if kept else entries


def newest_answer(entries: Sequence[ContextEntry], gives: GivenBack) -> Sequence[ContextEntry]:
    """Return the agent's newest message and the results of its calls, if the client keeps them; none if they are too large."""
    last = next((place for place in range(len(entries) - 1, -1, -1) if _of_agent(entries[place])), None)
    if last is None or not gives.newest_tokens:
        return ()
    message = (entries[last].metadata or {}).get("message")
    first = last
    while message and first and _of_agent(entries[first - 1]).get("message") == message:
        first -= 1
    calls = {entry.pair_id for entry in entries[first : last + 1] if entry.pair_id}
    answer = [one for one in entries[first:] if _is_text_of_agent(one) or one.pair_id in calls]
    tokens = sum(characters_per_4(entry.content) for entry in answer)
    return answer if tokens <= gives.newest_tokens * _SURE else ()


def _of_agent(entry: ContextEntry) -> Mapping[str, object]:
    """Return the metadata of an entry that the agent wrote; empty for others."""
    about = entry.metadata or {}
    return about if about.get("role") == "assistant" else {}


def _is_text_of_agent(entry: ContextEntry) -> bool:
    return _of_agent(entry).get("kind") not in (None, "thinking")


def _readings(history: RestoreHistory, gives: GivenBack) -> list[Trace]:
    """Return what showed the files that the client attaches again: the last ones, if the whole of them was read and is small."""
    used: dict[str, None] = {}
    for trace in reversed(history.traces):
        if trace.kind == "call":
            for file in trace.files:
                if len(used) < gives.files:
                    used.setdefault(file_key(file))
    calls = {entry.pair_id: entry.metadata or {} for entry, trace in _pairs(history) if trace.kind == "call"}
    readings: dict[str, list[Trace]] = {}
    sizes: dict[str, int] = {}
    for entry, trace in _pairs(history):
        path = file_key(trace.path) if trace.path else ""
        if path in used and trace.kind == "read":
            readings.setdefault(path, []).append(trace)
            if _reads_all(calls.get(entry.pair_id, {})):
                sizes[path] = len(entry.content)
        for edit in trace.edits:
            if (edited := file_key(edit.file)) in sizes:
                sizes[edited] += sum(len(line) + 1 for line in edit.written)
    most = gives.file_tokens * 4 * _SURE
    return [trace for path, traces in readings.items() if sizes.get(path, most) < most for trace in traces]


def _reads_all(call: Mapping[str, object]) -> bool:
    """Tell whether a call reads a file with nothing but its path; a shell's output is not what the client keeps."""
    given = call.get("input")
    acts = acts_of(str(call.get("tool_name") or ""), given) if isinstance(given, Mapping) else ()
    return len(acts) == 1 and acts[0].kind == "read" and len(acts[0].given) == 1


def _pairs(history: RestoreHistory) -> list[tuple[ContextEntry, Trace]]:
    return list(zip(history.entries, history.traces, strict=True))
