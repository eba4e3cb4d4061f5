"""Reports of a client's sub-agents become facts of their parent's session, as with hooks for clients that have them.

Law: only a result that belongs to a call of the client's own tool counts, and once, also after a restart. A report is data:
bounded and masked before it is written. A fault costs the facts, never the request.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from undrift.core.handoff.reports import EndedAgent
from undrift.errors import StoreError
from undrift.facts.reports import changed_files, keep_report, run_of
from undrift.profiles import ClientTool, kind_of, profile_of
from undrift.proxy.ask import Ask
from undrift.proxy.family import newest_entries, relative_of
from undrift.proxy.lane_figures import GatewayLane, LaneFigures
from undrift.proxy.naming import folder_of
from undrift.proxy.observe import log_line, safe_id
from undrift.session.lanes import Lanes
from undrift.stores.contract import Store
from undrift.window.answered import AnsweredCall, answered_calls
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["keep_reports", "run_named"]

_MOST_AT_ONCE = 8
"""A session that is new to the gateway may hold many; the next request takes in more."""

_LEAST_TIME_S = 2.5  # of the deadline of the request; a locked store takes 2 s to say so
_EDITS = ("edit", "shell")


def run_named(agent: str, name: str) -> str:
    """Return the run of the facts of the session that a client calls so. `agent`: the client's user agent."""
    profile = profile_of(agent)
    return run_of("" if profile is None else profile.name, name)


def keep_reports(
    lanes: Lanes[LaneFigures], lane: GatewayLane, form: Form, request: Request, ask: Ask, store: Store
) -> None:
    """Keep what sub-agents reported in the results that this request brings; it has been prepared.

    `store`: of the session's project.
    """
    tools = _tools(ask) if ask.own_name else {}
    log, figures = lane.figures.log, lane.figures
    conversation = None if log is None else log.along
    if not tools or conversation is None or form.delta(request.fields) is not None:
        return
    if ask.deadline_s - time.monotonic() < _LEAST_TIME_S:
        return
    start, left, until = conversation.numbers.get(figures.read_to, -1) + 1, _MOST_AT_ONCE, len(conversation.messages)
    try:
        for call in answered_calls(conversation, tools, start):
            ended = _ended(tools[call.tool_name], call)
            if ended is None or ended.key in figures.reports:
                continue
            if not left:
                until = call.number  # of its reports some may be kept already
                break
            left -= 1
            files = _files(lanes, lane, ended, _folder(lane, form, request))
            keep_report(store, run_named(ask.agent, ask.own_name), ended.with_files(files))
            figures.reports.add(ended.key)
    except StoreError as error:
        _say(lane, error)
        return  # the next request tries again
    except Exception as error:  # noqa: BLE001 - the client's request continues after any fault
        _say(lane, error)
    if until:
        figures.read_to = conversation.messages[until - 1].item.id


def _tools(ask: Ask) -> Mapping[str, ClientTool]:
    profile = profile_of(ask.agent)
    return {} if profile is None else {tool.name: tool for tool in profile.tools if tool.report is not None}


def _ended(tool: ClientTool, call: AnsweredCall) -> EndedAgent | None:
    """Read a call and its result; None if its sub-agent has not ended, or said nothing."""
    assert tool.report is not None, "these tools alone are asked for"
    begins, end = tool.report
    for text in _texts(call.result):
        if (found := begins.match(text)) is not None:
            message = text[found.end() :].rstrip().removesuffix(end)
            given = _object(call.arguments).get(tool.task)
            task = given if isinstance(given, str) else ""
            return EndedAgent(task, message, found["agent"]) if message.strip() else None
    return None


def _texts(result: str) -> Iterator[str]:
    """Yield a result, and if it is an object, as for Gemini, the texts in it."""
    yield result
    yield from (value for value in _object(result).values() if isinstance(value, str))


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _files(lanes: Lanes[LaneFigures], lane: GatewayLane, ended: EndedAgent, folder: str) -> tuple[str, ...]:
    """Return the files that a sub-agent changed; none if its session is not open here, as after a restart."""
    own = relative_of(lanes, lane, ended.agent_id)
    entries = [] if own is None else newest_entries(own)
    return changed_files((one for one in entries if kind_of(str(one.meta("tool_name"))) in _EDITS), folder)


def _folder(lane: GatewayLane, form: Form, request: Request) -> str:
    project = lane.place.project
    return folder_of(form, request) or ("" if project is None else project.checkout or project.root)


def _say(lane: GatewayLane, error: Exception) -> None:
    log_line({"event": "not-reported", "session": safe_id(lane.found.session_id), "detail": type(error).__name__})
