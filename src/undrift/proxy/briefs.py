"""Gives a client's sub-agent a brief of what its task needs of its parent, as the hooks do for clients that have them.

Law: only at the first request of a conversation that names its parent, and from a session of the same project. The brief is a
pin: it is stored before it is sent, and each later request has the same bytes. Without a brief the request goes out as it is.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from undrift.core.handoff import brief
from undrift.core.handoff.reports import fitting_reports
from undrift.core.text.tokens import characters_per_4
from undrift.core.window.additions import pin_text
from undrift.errors import StoreError, WireError
from undrift.facts.reports import reports_of
from undrift.proxy.ask import Ask
from undrift.proxy.family import newest_entries, relative_of
from undrift.proxy.lane_figures import GatewayLane, LaneFigures
from undrift.proxy.reports import run_named
from undrift.session.lanes import Lanes
from undrift.stores.contract import Store
from undrift.values.window import ContextEntry, EntryType
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["BRIEF_TOKENS", "give_brief"]

BRIEF_TOKENS = 2_000
"""The most that the whole pin costs, as characters / 4."""

_PIN: EntryType = "spec"
_LEAST_TIME_S = 1.5  # of the deadline of the request; a brief of the longest part takes .2 s of a quiet machine
_REPORTS_TOKENS = 500
_FIRST_ITEMS = 8
_TASK_CHARACTERS = 20_000


def give_brief(
    lanes: Lanes[LaneFigures], lane: GatewayLane, form: Form, request: Request, ask: Ask, store: Store
) -> None:
    """Pin a brief in a sub-agent's session, if this is its first request and its parent is known here.

    `store`: of its project.
    """
    if lane.turn or not ask.parent or form.delta(request.fields) is not None:
        return
    if lane.figures.log is None or lane.figures.log.decisions.pins:
        return  # it has its brief, from before a restart
    parent = relative_of(lanes, lane, ask.parent)
    task = "" if parent is None else _task(form, request)
    if parent is None or not task or ask.deadline_s - time.monotonic() < _LEAST_TIME_S:
        return
    text = _text([_as_recorded(entry) for entry in newest_entries(parent)], _reports(store, ask, task), task)
    if not text.strip():
        return
    try:
        lane.opened.pin(_PIN, text)
    except StoreError:
        return  # nothing is pinned


def _text(entries: Sequence[ContextEntry], reports: str, task: str) -> str:
    """Write the brief, and after it what earlier sub-agents found; as a pin within the limit."""
    spare = characters_per_4(pin_text(ContextEntry("pin", _PIN, "", 0, 0)) + reports) + 1
    text = brief(entries, task, budget_tokens=BRIEF_TOKENS - spare).text if entries else ""
    return "\n".join(piece for piece in (text.rstrip(), reports.rstrip()) if piece)


def _reports(store: Store, ask: Ask, task: str) -> str:
    try:
        return fitting_reports(reports_of(store, run_named(ask.agent, ask.parent)), task, _REPORTS_TOKENS)
    except StoreError:
        return ""  # the parent's history is worth a brief without them


def _task(form: Form, request: Request) -> str:
    """Return the words with which a conversation begins; empty if the model has answered in it."""
    request.open()
    if request.count > _FIRST_ITEMS:
        return ""
    texts: list[str] = []
    for number in range(request.count):
        try:
            view = form.read(request.load(number), f"{form.HISTORY}[{number}]")
        except WireError:
            return ""
        if view.role not in ("user", "system"):
            return ""
        if view.role == "user":
            texts += [block.text[:_TASK_CHARACTERS] for block in view.blocks if block.kind == "text"]
    return "\n".join(texts)[:_TASK_CHARACTERS]


def _as_recorded(entry: ContextEntry) -> ContextEntry:
    """Return a call with its arguments as a recording has them."""
    about = entry.metadata or {}
    if about.get("kind") != "call":
        return entry
    try:
        given = json.loads(entry.content)
    except (ValueError, RecursionError):
        return entry
    return replace(entry, metadata={**about, "input": given}) if isinstance(given, Mapping) else entry
