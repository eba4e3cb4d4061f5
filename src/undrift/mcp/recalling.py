"""The tool `recall`: returns an original, a task's originals or a memory, in parts.

Law: what comes back stands in a frame that says it is data; nothing is cut without saying where it continues.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from undrift.core.text.parts import text_of
from undrift.errors import GoneError, InputError, RecallError
from undrift.mcp.arguments import lines_of
from undrift.mcp.framing import as_data, clipped, one_line
from undrift.mcp.place import ServedHome
from undrift.mcp.values import Answer, ToolArguments

if TYPE_CHECKING:
    from undrift.stores.contract import Store
    from undrift.values.window import Original

__all__ = ["RecalledText", "described", "find", "recall"]

_MOST_LINES = 200
_MOST_CHARACTERS = 12_000
_LONGEST_LINE = 2_000
_MOST_ORIGINALS = 100
_FIRST_LINE = 80
_MEMORY = re.compile(r"m[0-9a-f]{16}")
_REF = re.compile(r"[0-9a-f]{16}")
_TASK = "task:"
_HOW = "`search` gives the references of what left; a task's id lists what left with it"


@dataclass(frozen=True, slots=True)
class RecalledText:
    """The content under a reference."""

    name: str
    text: str | None
    task_id: str = ""
    originals: "tuple[Original, ...]" = ()


def recall(place: ServedHome, call: ToolArguments) -> Answer:
    """Answer a call of the tool."""
    found = find(place, call.arguments["ref"], call)
    grep = call.arguments.get("grep") or ""
    lines = call.arguments.get("lines")
    if found.text is not None:
        return _part(found.name, found.text, grep, lines)
    if lines is not None:
        raise InputError("lines goes with the reference of one original: leave it out, or recall one of the list")
    return _grepped(found, grep, call) if grep else _listed(found)


def find(place: ServedHome, ref: str, call: ToolArguments) -> RecalledText:
    """Return the content for a reference, an entry's id, a task's id or a memory's id.

    `place`: the home. Only a session that was named binds: without one, originals of all its sessions are found.
    `call`: names the session; a client that takes it back ends the search. Raises RecallError: nothing does. Raises
    StoreCorrupt: it is damaged on disk.
    """
    named = call.session
    session_id = place.session_id(named)
    if place.has_store():
        with place.store() as store:
            ways = (_task, _original) if ref.startswith(_TASK) else (_original, _task)
            for way in ways:
                found = way(store, session_id, ref, call, is_bound=place.is_bound(named))
                if found is not None:
                    return found
    if _MEMORY.fullmatch(ref):
        with place.look(named) as session:
            for memory in session.memories() if session else ():
                if memory.id == ref:
                    return RecalledText(f"memory {ref}, a {memory.type} by {memory.trust}", memory.content)
    raise _unknown(ref)


def described(original: "Original") -> str:
    """Return the kind and the tool of an original, in a few words that are safe to print."""
    metadata = original.entry.metadata or {}
    kind, tool = (str(metadata.get(name) or "") for name in ("kind", "tool_name"))
    what = kind or original.entry.type
    return one_line(f"{what} of {tool}" if tool else what, _FIRST_LINE)


def _unknown(ref: str) -> RecallError:
    return RecallError(f"no original or memory {one_line(ref, _FIRST_LINE)}: {_HOW}")


def _original(
    store: "Store", session_id: str, ref: str, _call: ToolArguments, *, is_bound: bool
) -> RecalledText | None:
    found = None
    if _REF.fullmatch(ref):
        from undrift.window.originals import original_of

        try:
            found = original_of(store, session_id, ref) if is_bound else store.original(ref)
        except GoneError:
            raise
        except (RecallError, InputError):
            found = None
    if found is None:
        try:
            found = store.by_entry(session_id, ref)
        except GoneError:
            raise
        except RecallError:
            found = None
    if found is None:
        return None
    return RecalledText(f"original {found.ref}, {described(found)}", text_of(found.entry))


def _task(store: "Store", session_id: str, ref: str, call: ToolArguments, *, is_bound: bool) -> RecalledText | None:
    from undrift.tasks.archive import Archive

    others = [] if is_bound else [row.session_id for row in store.sessions() if row.session_id != session_id]
    for task_id in dict.fromkeys((ref.removeprefix(_TASK), ref)):
        for one in (session_id, *others):
            call.check()
            archive = Archive(store, one)
            if task_id in archive.tasks.by_id:
                name = f"task {one_line(task_id, _FIRST_LINE)}, {archive.task(task_id).status}"
                return RecalledText(name, None, task_id, archive.originals(task_id))
    return None


def _part(name: str, text: str, grep: str, lines: str | None) -> Answer:
    """Return as many lines of a text as fit."""
    every = text.split("\n")
    first, last = (1, None) if lines is None else lines_of(lines)
    if first < 0:
        first = max(1, len(every) + first + 1)
    if first > len(every):
        raise InputError(f"it has {len(every):,} lines only: give lines up to that")
    chosen = list(enumerate(every[first - 1 : last], first))
    if grep:
        wanted = grep.casefold()
        chosen = [(number, line) for number, line in chosen if wanted in line.casefold()]
    shown, following = _bounded(chosen, numbered=bool(grep))
    if not shown:
        return Answer.of_data("", f"No line of it holds that text; it has {len(every):,} lines.", lines=len(every))
    span = f"{len(shown)} of {len(chosen):,} lines with it" if grep else f"lines {first}-{first + len(shown) - 1}"
    data = as_data("\n".join(shown), f"{name}, {span} of {len(every):,}")
    if following is None:
        return Answer.of_data(data, lines=len(every))
    return Answer.of_data(data, f"More: lines={following}-", lines=len(every))


def _bounded(lines: Sequence[tuple[int, str]], *, numbered: bool) -> tuple[list[str], int | None]:
    """Return the lines that fit into one answer, and the number of the first line that does not."""
    shown: list[str] = []
    size = 0
    for number, line in lines:
        cut = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ... ({len(line):,} characters)"
        size += len(cut) + 1
        if shown and (len(shown) == _MOST_LINES or size > _MOST_CHARACTERS):
            return shown, number
        shown.append(f"{number}: {cut}" if numbered else cut)
    return shown, None


def _listed(found: RecalledText) -> Answer:
    """List the originals that a task evicted, one line for each."""
    if not found.originals:
        return Answer.of_data("", f"{found.name}: it has let nothing go; what it produced is still in the window.")
    rows = [
        f"{one.ref}  {described(one)}, {one.entry.token_count} tokens: {clipped(one.entry.content, _FIRST_LINE)}"
        for one in found.originals[:_MOST_ORIGINALS]
    ]
    count = len(found.originals)
    data = as_data("\n".join(rows), f"{found.name}, {min(count, _MOST_ORIGINALS)} of {count} originals")
    return Answer.of_data(data, "Recall one by its reference, or give grep.")


def _grepped(found: RecalledText, grep: str, call: ToolArguments) -> Answer:
    """Return the lines that contain a text, from all originals that a task evicted."""
    shown, following = _bounded(list(_matches(found, grep.casefold(), call)), numbered=False)
    if not shown:
        return Answer.of_data("", "No original that left with the task has a line with that text.")
    data = as_data("\n".join(shown), f"{found.name}, lines with it, behind reference and number")
    more = "" if following is None else "There are more: give grep a longer text, or recall one original."
    return Answer.of_data(data, more)


def _matches(found: RecalledText, wanted: str, call: ToolArguments) -> Iterator[tuple[int, str]]:
    for done, one in enumerate(found.originals):
        call.step(done, len(found.originals), "originals searched")
        for number, line in enumerate(one.entry.content.split("\n"), 1):
            if wanted in line.casefold():
                yield 0, f"{one.ref}:{number}: {line}"
