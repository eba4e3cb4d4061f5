"""The recordings of a sub-agent and of its parent, and its task in its parent's words.

Law: only the newest part of a recording is read, and nothing outside the client's own folder of sessions.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from undrift import transcripts
from undrift.errors import InputError, TranscriptError
from undrift.hooks.call import HookCall
from undrift.hooks.transcript import Transcript, lines_before
from undrift.profiles import bare_name, kind_of
from undrift.values.window import ContextEntry

__all__ = ["OwnSession", "entries_of", "own_session", "parent_session", "task_given"]

NEWEST_BYTES = 1 << 20
_HEAD_BYTES = 256 << 10
_MOST_FILES = 100_000
_TASK_CHARACTERS = 20_000
_LONGEST_WORD = 200
"""A longer piece without a space is a cipher: Codex seals the message to its sub-agents."""

_WORDS = ("description", "task_name", "prompt", "message")
_AGENT_KIND = "subagent_type"
_TASK_NAME = "task_name"


@dataclass(frozen=True, slots=True)
class OwnSession:
    """The beginning of a sub-agent's own recording.

    Args:
        name: The name that its parent gave to the task; empty if there is none.
        task: The task's words; empty if they are not recorded.
        is_fork: It begins with a copy of its parent's history.
    """

    name: str = ""
    task: str = ""
    is_fork: bool = False


def parent_session(call: HookCall) -> Transcript:
    """Open the parent's recording, which carries the name of the session; a client may name the sub-agent's own.

    Raises InputError or OSError: as `Transcript.open`.
    """
    if Path(call.transcript).stem.endswith(call.session_id):
        return call.open()
    name = f"*-{call.session_id}.jsonl"
    beside = Path(call.transcript).parent.glob(name) if call.transcript else ()
    found = next(islice(chain(beside, call.sessions.rglob(name)), 1), None)
    if found is None:
        raise InputError("the parent's session is not among the recorded ones")
    return Transcript.open(str(found), call.sessions)


def entries_of(transcript: Transcript, format_name: str) -> tuple[ContextEntry, ...]:
    """Read the newest MiB of a recording; nothing if no message is in it."""
    start, before = transcript.skip(max(0, transcript.size - NEWEST_BYTES))
    texts = (line.text for line in transcript.lines(start))
    try:
        return transcripts.read(chain(lines_before(before), texts), format=format_name).entries
    except TranscriptError:
        return ()


def own_session(transcript: Transcript, format_name: str) -> OwnSession:
    """Read the beginning of a sub-agent's own recording."""
    head = transcript.head(_HEAD_BYTES)
    about = _object(_json(head[0] if head else "").get("payload"))
    spawned = _object(_object(_object(about.get("source")).get("subagent")).get("thread_spawn"))
    name = str(spawned.get("agent_path") or "").rpartition("/")[2]
    if about.get("forked_from_id"):
        return OwnSession(name, is_fork=True)
    try:
        entries = transcripts.read(head, format=format_name).entries
    except TranscriptError:
        entries = ()
    said = (one.content for one in entries if _is_said_to_it(one.metadata or {}) and not one.content.startswith("<"))
    return OwnSession(name, next(said, "")[:_TASK_CHARACTERS])


def task_given(entries: Sequence[ContextEntry], agent_kind: str, name: str) -> str:
    """Return the words of the task that a parent has just given; empty if it gave none.

    Those for another kind of agent or with another name do not count, if one fits.
    """
    answered = {one.pair_id for one in entries if (one.metadata or {}).get("kind") == "result"}
    calls = [one for one in entries if _gives_a_task(one.metadata or {})]
    calls = [one for one in calls if one.pair_id not in answered] or calls[-1:]
    given = [_object((one.metadata or {}).get("input")) for one in calls]
    for field, wanted in ((_TASK_NAME, name), (_AGENT_KIND, agent_kind)):
        given = [one for one in given if wanted and one.get(field) == wanted] or given
    words = [str(one[field]) for one in given for field in _WORDS if isinstance(one.get(field), str)]
    return "\n".join(text for text in dict.fromkeys(words) if " " in text[:_LONGEST_WORD] or len(text) < _LONGEST_WORD)[
        :_TASK_CHARACTERS
    ]


def _gives_a_task(about: Mapping[str, Any]) -> bool:
    given = about.get("input")
    if about.get("kind") != "call" or not isinstance(given, Mapping):
        return False
    name = bare_name(str(about.get("tool_name")))  # Codex puts a name space before it; here only its words count
    return kind_of(name) == "agent" and any(given.get(field) for field in _WORDS)


def _is_said_to_it(about: Mapping[str, Any]) -> bool:
    return about.get("kind") == "text" and about.get("role") == "user" and not about.get("meta")


def _json(line: str) -> Mapping[str, Any]:
    try:
        return _object(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
