"""One hook's answer: reads the client's JSON from stdin and returns what to print; empty for nothing.

Law: `answer` returns; every fault is one line in the log. The client waits: other work is left to a process of its own,
and heavy modules are imported if they are used.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undrift.errors import InputError, SettingsError
from undrift.hooks import home
from undrift.hooks.call import CLIENTS, HookCall
from undrift.settings import Settings
from undrift.values.clock import now_ms

if TYPE_CHECKING:
    from undrift.hooks.prepared import PreparedText

__all__ = ["Options", "answer"]

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_EARLIER = "earlier"
"""The source by which `_aside` asks for nothing but the record."""

_BEGUN = "begun"
"""The source by which `_aside` asks for nothing but what earlier sessions of the folder teach."""

_ANNOUNCED = "announced"
"""The file in a session's folder with the trigger of the newest compaction."""

_ID_CHARACTERS = 36
"""The length of a UUID, with which both clients' file names end."""

_MOST_INPUT_BYTES = 1 << 20
_WAIT_MS = 8_000
"""For a text that another process is preparing; both parts are asked for at once."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options in the command that ``undrift install`` has registered.

    `home`: absolute path; None for ``~/.undrift``. `client_home`: the client's own folder, absolute; None for the usual
    one. `now`: do the slow work in this process and not in one of its own.
    """

    client: str = "claude"
    home: str | None = None
    client_home: str | None = None
    part: int = 1
    now: bool = False


def answer(event: str, given: bytes, options: Options) -> str:
    """Do the work of a hook call, and return the output: one JSON object, or nothing.

    `event`: ``PreCompact``, ``SessionStart`` or ``UserPromptSubmit``; another one does nothing.
    """
    place: Path | None = None
    try:
        place = home.home_folder(options.home)
        payload = _payload(event, given)
        call = _call(payload, options, place, _announced_ms(payload) if event == "PreCompact" else None)
        if event == "PreCompact":
            _pre_compact(call, payload, options)
            return ""
        if event == "SessionStart":
            return _compacted(call, options) if call.source == "compact" else _hook_output(_begun(call, options))
        if event == "UserPromptSubmit":
            return _shown(_cold_cache(call, payload))
        raise InputError(f"no such event: {event[:40]}")
    except Exception as error:  # noqa: BLE001 - no error may fail the client
        home.note(place, f"{options.client} {event[:40]}: {type(error).__name__}: {error}")
        return ""


def _payload(event: str, given: bytes) -> dict[str, Any]:
    if len(given) > _MOST_INPUT_BYTES:
        raise InputError(f"the payload is larger than {_MOST_INPUT_BYTES >> 20} MiB")
    try:
        payload: Any = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InputError("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise InputError("the payload is no object")
    if (named := _text(payload, "hook_event_name")) and named != event:
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
    session_id = _text(payload, "session_id")
    if not _SESSION.fullmatch(session_id):
        raise InputError("the payload names no session")
    client = CLIENTS[options.client]
    own = Path(options.client_home) if options.client_home else Path.home() / client.folder
    if not own.is_absolute():
        raise InputError("--client-home must be an absolute path")
    source, transcript, cwd = (_text(payload, name) for name in ("source", "transcript_path", "cwd"))
    return HookCall(
        options.client,
        session_id,
        source,
        transcript,
        cwd,
        own / client.sessions,
        place,
        at_ms,
        _text(payload, "trigger"),
    )


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) and len(value) <= 4096 else ""


def _pre_compact(call: HookCall, payload: Mapping[str, Any], options: Options) -> None:
    """Record the session and prepare the text while the client waits for its summary."""
    if options.now and call.source == _BEGUN:
        from undrift.hooks.learning import learn_earlier

        learn_earlier(call)
        return
    with call.open() as transcript:
        if options.now:
            from undrift.hooks.sweep import sweep_one
            from undrift.hooks.work import prepare, record

            try:
                if call.source != _EARLIER:
                    with home.locked(call.folder() / "lock", _WAIT_MS):
                        prepare(call, transcript)
            finally:
                record(call, transcript)
            sweep_one(call)
            return
    # a home that cannot be written to is reported here, in the log line of this call
    home.write_small(call.folder() / _ANNOUNCED, call.trigger.encode("utf-8", "replace"))
    _aside({**payload, "at_ms": call.at_ms}, options)


def _begun(call: HookCall, options: Options) -> str:
    """Return the text for a session that begins or is resumed: what another one left open."""
    if call.source not in ("startup", "resume") or options.part != 1:
        return ""
    from undrift.hooks.earlier import left_open

    if call.source == "startup" and _learns():
        _work_aside(
            call, {"session_id": call.session_id, "transcript_path": call.transcript, "source": _BEGUN}, options
        )
    offer, path = left_open(call, now_ms=now_ms())
    if path is not None:  # what is offered can be recalled
        _record_aside(call, path.stem[-_ID_CHARACTERS:], str(path), options)
    return offer


def _compacted(call: HookCall, options: Options) -> str:
    """Return a part of what the session knew; the first part speaks to the person, and is recorded, for both."""
    prepared = _prepared(call, options)
    text = prepared.parts[options.part - 1] if len(prepared.parts) >= options.part else ""
    if options.part != 1:
        return _hook_output(text)
    from undrift.hooks.given import record_given

    try:
        record_given(call, prepared)
    except OSError as error:  # what was prepared is given all the same
        home.note(call.home, f"{options.client}: what was given back was not recorded: {error}")
    return _hook_output(text, prepared.contents.sentence())


def _prepared(call: HookCall, options: Options) -> "PreparedText":
    from undrift.hooks.prepared import load

    with call.open() as transcript:
        folder = call.folder()
        found = load(folder, transcript, call.format)
        if found is None:
            with home.locked(folder / "lock", _WAIT_MS):
                found = load(folder, transcript, call.format)
                if (
                    found is None
                ):  # the process of PreCompact has not begun yet, nor has the client recorded how it was asked
                    from undrift.hooks.work import prepare

                    announced = (home.read_small(folder / _ANNOUNCED) or b"").decode("utf-8", "replace")
                    found = prepare(replace(call, trigger=announced), transcript)
                    _record_aside(call, call.session_id, call.transcript, options)
    return found


def _cold_cache(call: HookCall, payload: Mapping[str, Any]) -> str:
    """Return the sentence that the message about to be sent writes the whole prompt again, if that is sure.

    A message that no user typed, as a wake-up of the client's own, gets none.
    """
    if _text(payload, "source") not in ("", "user"):
        return ""
    from undrift.hooks.costs import notices_of
    from undrift.hooks.gateway import sentences, window_of

    window = window_of(call.session_id, call.home)
    if window is not None:  # it knows what leaves before the request
        return " ".join(sentences(window, "text", "away", "free_prune"))
    try:
        transcript = call.open()
    except FileNotFoundError:  # the first message: nothing was sent before it
        return ""
    with transcript:
        notices = notices_of(transcript, call.format, now_ms())
    return next((notice.text for notice in notices if notice.kind == "away"), "")


def _learns() -> bool:
    """Tell whether the settings let sessions teach; a wrong setting is reported elsewhere."""
    try:
        return Settings.from_environment().learns == "all"
    except SettingsError:
        return False


def _record_aside(call: HookCall, session_id: str, path: str, options: Options) -> None:
    """Have a session recorded."""
    _work_aside(call, {"session_id": session_id, "transcript_path": path, "source": _EARLIER}, options)


def _work_aside(call: HookCall, payload: Mapping[str, Any], options: Options) -> None:
    """Have work done about a session of the call's folder; if that fails, what is there to be said is said all the same."""
    place = home.home_folder(options.home)
    try:
        if not place.is_dir():
            place.mkdir(mode=0o700, parents=True)
        _aside({**payload, "cwd": call.cwd}, options)
    except OSError as error:
        home.note(place, f"{options.client}: the session was not read: {error}")


def _aside(payload: Mapping[str, Any], options: Options) -> None:
    """Start ``undrift hook PreCompact --now`` in a process of its own, which outlives this one.

    -P and the folder: no module is taken from the project that the client works in.
    """
    told = {
        name: payload[name]
        for name in ("session_id", "transcript_path", "cwd", "source", "trigger", "at_ms")
        if name in payload
    }
    home_of = str(home.home_folder(options.home))
    words = [sys.executable, "-P", "-m", "undrift", "hook", "PreCompact", "--now"]
    words += [f"--client={options.client}", f"--home={home_of}"]
    words += [f"--client-home={options.client_home}"] if options.client_home else []
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    log = home.open_log(Path(home_of))
    try:
        child = subprocess.Popen(  # noqa: S603 - our own program; nothing of the payload is in its words
            words, cwd=home_of, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, close_fds=True, **detached
        )
    finally:
        os.close(log)
    if child.stdin is not None:
        child.stdin.write(json.dumps(told).encode("ascii"))
        child.stdin.close()
    child.returncode = 0  # it is not waited for; without this Python warns of it


def _shown(text: str) -> str:
    """Return the output that shows a sentence to the user; it does not reach the model."""
    return json.dumps({"systemMessage": f"undrift: {text}"}, ensure_ascii=False) + "\n" if text else ""


def _hook_output(text: str, sentence: str = "") -> str:
    """Return the output that adds a text to the window. `sentence`: for the person alone."""
    if not text:
        return ""
    shown = {"systemMessage": sentence} if sentence else {}
    told = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({**shown, "hookSpecificOutput": told}, ensure_ascii=False) + "\n"
