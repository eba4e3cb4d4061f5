"""One hook's answer: reads the client's JSON from stdin and returns what to print; empty for nothing.

Law: `answer` returns; every fault is one line in the log. The payload is checked here, `undrift.hooks.events` says what is done.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undrift.errors import InputError
from undrift.hooks import home
from undrift.hooks.call import CLIENTS, HookCall, Options, text_of
from undrift.hooks.events import EVENTS, workers
from undrift.hooks.reply import HookReply, output
from undrift.values.clock import now_ms

__all__ = ["answer"]

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_MOST_INPUT_BYTES = 1 << 20


def answer(event: str, given: bytes, options: Options) -> str:
    """Do the work of a hook call, and return the output: one JSON object, or nothing.

    `event`: a key of `EVENTS`; another one does nothing.
    """
    place: Path | None = None
    try:
        place = home.home_folder(options.home)
        payload = _payload(event, given)
        call = _call(payload, options, place, _announced_ms(payload) if event == "PreCompact" else None)
        return "" if call.is_purged() else output(event, _replies(event, call))
    except Exception as error:  # noqa: BLE001 - no error may fail the client
        _note(place, options, event, error)
        return ""


def _replies(event: str, call: HookCall) -> Iterator[HookReply]:
    """Yield what each piece of work says; one that fails is noted, and keeps no other from its say."""
    if event not in EVENTS:
        raise InputError(f"no such event: {event[:40]}")
    for work in workers(event, call.source):
        try:
            yield work(call)
        except Exception as error:  # noqa: BLE001 - no error may fail the client
            _note(call.home, call.options, event, error)


def _note(place: Path | None, options: Options, event: str, error: Exception) -> None:
    home.note(place, f"{options.client} {event[:40]}: {type(error).__name__}: {error}")


def _payload(event: str, given: bytes) -> dict[str, Any]:
    if len(given) > _MOST_INPUT_BYTES:
        raise InputError(f"the payload is larger than {_MOST_INPUT_BYTES >> 20} MiB")
    try:
        payload: Any = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InputError("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise InputError("the payload is no object")
    if (named := text_of(payload, "hook_event_name")) and named != event:
        raise InputError("the payload is of another event")
    return payload


def _announced_ms(payload: Mapping[str, Any]) -> int:
    """Return when the client said that it compacts: the process that prepares the text starts later, and is given it."""
    told = payload.get("at_ms")
    return told if type(told) is int else now_ms()


def _call(payload: Mapping[str, Any], options: Options, place: Path, at_ms: int | None) -> HookCall:
    """Check a payload; nothing in it is believed that is not needed."""
    if options.client not in CLIENTS:
        raise InputError(f"no such client: {options.client[:40]}; known are {', '.join(CLIENTS)}")
    session_id = text_of(payload, "session_id")
    if not _SESSION.fullmatch(session_id):
        raise InputError("the payload names no session")
    client = CLIENTS[options.client]
    own = Path(options.client_home) if options.client_home else Path.home() / client.folder
    if not own.is_absolute():
        raise InputError("--client-home must be an absolute path")
    source, transcript, cwd = (text_of(payload, name) for name in ("source", "transcript_path", "cwd"))
    return HookCall(
        options.client,
        session_id,
        source,
        transcript,
        cwd,
        own / client.sessions,
        place,
        at_ms,
        text_of(payload, "trigger"),
        payload,
        options,
    )
