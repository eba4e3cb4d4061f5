"""A sub-agent stops: what it found becomes facts of its parent's session, in the store of the project.

Law: nothing is printed. A report is data of another agent: bounded and masked before it is written.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from undrift.errors import InputError, StoreError
from undrift.hooks.call import HookCall, text_of
from undrift.hooks.reply import HookReply
from undrift.values.window import ContextEntry

if TYPE_CHECKING:
    from undrift.core.handoff.reports import AgentReport, EndedAgent

__all__ = ["reports_of", "work"]


def work(call: HookCall) -> HookReply:
    """Keep what the sub-agent found."""
    from undrift.facts.reports import keep_report, run_of
    from undrift.stores.opening import open_store
    from undrift.values.scope import Scope

    ended = _ended(call)
    if ended.message.strip():
        with open_store(call.place(), Scope()) as store:
            keep_report(store, run_of(call.client, call.session_id), ended)
    return HookReply()


def reports_of(call: HookCall) -> "Iterator[AgentReport]":
    """Yield what sub-agents of the session reported, the newest first; nothing if there is no store yet."""
    from undrift.facts import reports
    from undrift.stores.opening import open_store
    from undrift.values.scope import Scope

    try:
        with open_store(call.place(), Scope(), create=False) as store:
            found = [*reports.reports_of(store, reports.run_of(call.client, call.session_id))]
    except StoreError:
        return
    yield from found


def _ended(call: HookCall) -> "EndedAgent":
    """Read the last words from the payload, the rest from the sub-agent's own recording, as far as it is there."""
    from undrift.core.handoff.reports import EndedAgent
    from undrift.facts.reports import changed_files
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
    files = () if own.is_fork else changed_files(entries, call.cwd)  # a fork's begins with its parent's edits
    task = own.name or own.task or text_of(call.payload, "agent_type")
    return EndedAgent(task, message or next(said, ""), text_of(call.payload, "agent_id"), files)


def _is_last_words(about: Mapping[str, Any]) -> bool:
    return about.get("kind") == "text" and about.get("role") == "assistant"
