"""Starts the slow work of a hook in a process of its own, which the client does not wait for."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from undrift.hooks import home
from undrift.hooks.call import HookCall, Options

__all__ = ["BEGUN", "EARLIER", "begin", "record", "start_process"]

EARLIER = "earlier"
"""The source by which nothing but the record is asked for."""

BEGUN = "begun"
"""The source by which nothing but what earlier sessions of the folder teach is asked for."""


def record(call: HookCall, session_id: str, path: str) -> None:
    """Have a session recorded. `path`: its transcript."""
    _work(call, {"session_id": session_id, "transcript_path": path, "source": EARLIER})


def begin(call: HookCall) -> None:
    """Have earlier sessions of the call's folder read for what they teach."""
    _work(call, {"session_id": call.session_id, "transcript_path": call.transcript, "source": BEGUN})


def _work(call: HookCall, payload: Mapping[str, Any]) -> None:
    """Have work done about a session of the call's folder; if that fails, what is there to be said is said all the same."""
    place = home.home_folder(call.options.home)
    try:
        if not place.is_dir():
            place.mkdir(mode=0o700, parents=True)
        start_process({**payload, "cwd": call.cwd}, call.options)
    except OSError as error:
        home.note(place, f"{call.client}: the session was not read: {error}")


def start_process(payload: Mapping[str, Any], options: Options) -> None:
    """Start ``undrift hook PreCompact --now`` in a process of its own, which outlives this one.

    Raises OSError: the system refuses. -P and the folder: no module is taken from the project that the client works in.
    """
    told = {
        name: payload[name]
        for name in ("session_id", "transcript_path", "cwd", "source", "trigger", "at_ms")
        if name in payload
    }
    home_of = str(home.home_folder(options.home))
    words = [sys.executable, "-P", "-m", "undrift", "hook", "PreCompact", "--now"]
    words += [f"--client={options.client}", f"--home={home_of}", f"--parts={options.parts}"]
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
