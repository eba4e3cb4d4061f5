"""A sub-agent stops: what it found becomes facts of its parent's session, in the store of the project.

Law: nothing is printed. A report is data of another agent: bounded and masked before it is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from undrift.errors import InputError, StoreError
from undrift.hooks.call import HookCall, text_of
from undrift.hooks.reply import HookReply
from undrift.values.window import ContextEntry

if TYPE_CHECKING:
    from undrift.core.handoff.reports import AgentReport

__all__ = ["reports_of", "work"]

_REPORT_CHARACTERS = 2_000
_TASK_CHARACTERS = 500
_LABEL_CHARACTERS = 60
_ID_CHARACTERS = 8
_MOST_FACTS = 500
_MOST_REPORTS = 50
_MOST_FILES = 50
_LINES, _TASK = "report", "task"
"""In a fact's metadata: the telling lines of the last message, and the task in its parent's words."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """The task, the last words and the changed files of a sub-agent that stopped."""

    task: str
    message: str
    files: tuple[str, ...]


def work(call: HookCall) -> HookReply:
    """Keep what the sub-agent found."""
    ended = _ended(call)
    if ended.message.strip():
        _keep(call, ended)
    return HookReply()


def reports_of(call: HookCall) -> "Iterator[AgentReport]":
    """Yield what sub-agents of the session reported, the newest first; nothing if there is no store yet."""
    from undrift.core.handoff.reports import AgentReport
    from undrift.facts.sqlite import SqliteSessionFactStore
    from undrift.stores.opening import open_store
    from undrift.values.scope import Scope

    try:
        with open_store(call.place(), Scope(), create=False) as store:
            facts = SqliteSessionFactStore(run_id=_run(call), store=store, settings=_settings()).get_valid()
    except StoreError:
        return
    found = [one.metadata for one in reversed(facts) if one.metadata and _LINES in one.metadata]
    for metadata in found[:_MOST_REPORTS]:
        yield AgentReport(str(metadata.get(_TASK, "")), str(metadata[_LINES]).split("\n"))


def _ended(call: HookCall) -> _Ended:
    """Read the last words from the payload, the rest from the sub-agent's own recording, as far as it is there."""
    from undrift.hooks.sub_agents import OwnSession, entries_of, own_session
    from undrift.hooks.transcript import Transcript

    given = call.payload.get("last_assistant_message")
    message = given if isinstance(given, str) else ""
    own, entries = OwnSession(), tuple[ContextEntry, ...]()
    try:
        with Transcript.open(text_of(call.payload, "agent_transcript_path"), call.sessions) as transcript:
            own, entries = own_session(transcript, call.format), entries_of(transcript, call.format)
    except (InputError, OSError):
        if not message:
            raise
    said = (one.content for one in reversed(entries) if _is_last_words(one.metadata or {}))
    files = () if own.is_fork else _changed(entries, call.cwd)  # a fork's recording begins with its parent's edits
    return _Ended(own.name or own.task or text_of(call.payload, "agent_type"), message or next(said, ""), files)


def _is_last_words(about: Mapping[str, Any]) -> bool:
    return about.get("kind") == "text" and about.get("role") == "assistant"


def _changed(entries: Sequence[ContextEntry], cwd: str) -> tuple[str, ...]:
    """Return the files that calls changed, each once, below the folder as the project names them."""
    from undrift.profiles import acts_of

    found: dict[str, None] = {}
    for entry in entries:
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") == "call" and isinstance(given, Mapping | str):
            acts = acts_of(str(about.get("tool_name")), given)
            found |= {_below(act.path, cwd): None for act in acts if act.kind == "edit" and act.path}
    return tuple(found)[:_MOST_FILES]


def _below(path: str, cwd: str) -> str:
    return PurePath(path).relative_to(cwd).as_posix() if cwd and PurePath(path).is_relative_to(cwd) else path


def _keep(call: HookCall, ended: _Ended) -> None:
    """Write the facts; those of an earlier sub-agent with the same task stay beside them."""
    from undrift.core.facts.changes import FactBatch
    from undrift.core.handoff.reports import structured_result, telling_lines
    from undrift.core.text.safe_lines import label
    from undrift.core.text.secrets import mask
    from undrift.facts.extractor import RuleBasedFactExtractor
    from undrift.facts.sqlite import SqliteSessionFactStore
    from undrift.stores.opening import open_store
    from undrift.values.scope import Scope

    message = mask(ended.message).text
    lines = telling_lines(message, _REPORT_CHARACTERS)
    result = {"status": "completed", "files_changed": list(ended.files), **(structured_result(message) or {})}
    if not isinstance(result.get("summary"), str) or not result["summary"].strip():
        result["summary"] = lines[0] if lines else "no words"
    agent = text_of(call.payload, "agent_id")[-_ID_CHARACTERS:]
    task_id = " ".join(filter(None, (label(ended.task.strip().split("\n")[0], _LABEL_CHARACTERS), agent)))
    result.pop("task_id", None)  # the sub-agent's own name for it says nothing here
    batch = RuleBasedFactExtractor().extract_from_implementer(result, task_id)
    about = {_LINES: "\n".join(lines), _TASK: mask(ended.task).text[:_TASK_CHARACTERS]}
    facts = [replace(one, metadata={**about}) if one.relation == "summary" else one for one in batch]
    with open_store(call.place(), Scope()) as store:
        kept = SqliteSessionFactStore(run_id=_run(call), store=store, settings=_settings())
        kept.add(FactBatch(facts, batch.ended))
        kept.compact(_MOST_FACTS)


def _run(call: HookCall) -> str:
    return f"{call.client}:{call.session_id}"


def _settings() -> Any:
    """Settings of no file and no variable: a project controls the environment of a hook."""
    from undrift.settings import Settings

    return Settings()
