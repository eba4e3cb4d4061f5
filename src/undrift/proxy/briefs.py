"""Gives a client's sub-agent a brief of what its task needs of its parent, as the hooks do for clients that have them.

Law: only at the first request of a conversation that names its parent, and from a session of the same project. The brief is a
pin: it is stored before it is sent, and each later request has the same bytes. Without a brief the request goes out as it is.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from undrift.core.handoff import brief
from undrift.core.window.additions import pin_text
from undrift.errors import StoreError, WireError
from undrift.proxy.ask import Ask
from undrift.proxy.lane_figures import GatewayLane, LaneFigures
from undrift.session.lanes import Lanes
from undrift.values.window import ContextEntry, EntryType
from undrift.window.request import Request
from undrift.wire.form import Form

__all__ = ["BRIEF_TOKENS", "give_brief"]

BRIEF_TOKENS = 2_000
"""The most that the whole pin costs, as characters / 4."""

_PIN: EntryType = "spec"
_PARENT_WAIT_S = 0.2  # the parent waits for its sub-agent, so its lane is free
_LEAST_TIME_S = 1.5  # of the deadline of the request; a brief of the longest part takes .2 s of a quiet machine
_PARENT_CHARACTERS = 500_000
_FIRST_ITEMS = 8
_TASK_CHARACTERS = 20_000


def give_brief(lanes: Lanes[LaneFigures], lane: GatewayLane, form: Form, request: Request, ask: Ask) -> None:
    """Pin a brief in a sub-agent's session, if this is its first request and its parent is known here."""
    if lane.turn or not ask.parent or form.delta(request.fields) is not None:
        return
    if lane.figures.log is None or lane.figures.log.decisions.pins:
        return  # it has its brief, from before a restart
    parent = _parent_of(lanes, lane, ask.parent)
    task = "" if parent is None else _task(form, request)
    if parent is None or not task or ask.deadline_s - time.monotonic() < _LEAST_TIME_S:
        return
    entries = _known_to(parent)
    spare = -(-len(pin_text(ContextEntry("pin", _PIN, "", 0, 0))) // 4)
    text = brief(entries, task, budget_tokens=BRIEF_TOKENS - spare).text if entries else ""
    if not text.strip():
        return
    try:
        lane.opened.pin(_PIN, text)
    except StoreError:
        return  # nothing is pinned


def _parent_of(lanes: Lanes[LaneFigures], lane: GatewayLane, name: str) -> GatewayLane | None:
    """Return the newest open session of this project that its client calls by a name."""
    for one in reversed(lanes.all()):
        if one is not lane and one.figures.own_name == name and one.place.records == lane.place.records:
            return one
    return None


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


def _known_to(parent: GatewayLane) -> list[ContextEntry]:
    """Return the newest entries of a session, as its client sent them last; none if another thread uses it."""
    if not parent.lock.acquire(timeout=_PARENT_WAIT_S):
        return []
    try:
        log = parent.figures.log
        conversation = None if log is None else log.along
        return [] if conversation is None else list(_newest(conversation.window.items))[::-1]
    finally:
        parent.lock.release()


def _newest(items: Any) -> Iterator[ContextEntry]:
    """Yield entries from the newest on, each call with its arguments as a recording has them."""
    left = _PARENT_CHARACTERS
    for number in range(len(items) - 1, -1, -1):
        for entry in reversed(items[number].entries):
            left -= len(entry.content)
            yield _as_recorded(entry)
        if left <= 0:
            return


def _as_recorded(entry: ContextEntry) -> ContextEntry:
    about = entry.metadata or {}
    if about.get("kind") != "call":
        return entry
    try:
        given = json.loads(entry.content)
    except (ValueError, RecursionError):
        return entry
    return replace(entry, metadata={**about, "input": given}) if isinstance(given, Mapping) else entry
