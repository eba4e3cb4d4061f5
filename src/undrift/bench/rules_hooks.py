"""The hooks in a session of the suite of rules: their own code, called by the entries that ``undrift install`` writes.

Law: nothing is mocked. A hook gets the client's payload and the recording on disk; what it prints goes where the client
puts it. Work that the hooks leave to a process of its own is done at once.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from undrift.bench.rules_client import RecordedClient
from undrift.bench.rules_file import RuleCall
from undrift.clients.events import ENTRIES, HookEntry
from undrift.hooks.answer import answer
from undrift.hooks.home import LOG, folder_of
from undrift.hooks.rule_guard import SAID, say_again
from undrift.hooks.start import options_of

__all__ = ["HookRun", "entries_for", "has_guard"]

_BEFORE_CALL, _COMPACT = "PreToolUse", "compact"


def entries_for(client: str, event: str, subject: str = "") -> list[HookEntry]:
    """Return the installed entries that a client calls.

    `subject`: what the client compares with a matcher: how a session starts, or a tool.
    """
    ours = (one for one in ENTRIES if one.event == event and client in one.clients)
    return [one for one in ours if not one.matcher or subject in one.matcher.split("|")]


def has_guard(client: str) -> bool:
    """Tell whether a client asks our hooks before its agent's calls."""
    return any(one.event == _BEFORE_CALL and client in one.clients for one in ENTRIES)


class HookRun:
    """The hooks of one session. `place`: an empty folder for the homes of undrift and of the client."""

    def __init__(self, client: RecordedClient, place: Path) -> None:
        self._client = client
        self._home, self._client_home = place / "home", place / "client"
        self._path = client.path(self._client_home)
        client.flush(self._path)

    def typed(self, text: str) -> None:
        """Let the hooks see a message of the user, and put into the window what they add to it."""
        for output in self._called("UserPromptSubmit", prompt=text):
            self._take(output, "UserPromptSubmit")

    def before(self) -> None:
        """Let the session be recorded, as it is before a compaction."""
        list(self._called("PreCompact", trigger="auto", at_ms=self._client.now_s * 1_000))

    def after(self) -> None:
        """Put what the hooks give back into the window; all the parts are asked for at once, as the client does it."""
        for output in list(self._called("SessionStart", _COMPACT, source=_COMPACT)):
            self._take(output, f"SessionStart:{_COMPACT}")

    def of_call(self, call: RuleCall, *, asks: bool) -> str:
        """Return what a call's hooks say to the agent or ask the user; empty if they let it pass.

        `asks`: as at the setting ``ask``, at which the guard speaks each time; at ``warn`` it speaks a few times.
        """
        counted = folder_of(self._home, f"{self._client.name}-{self._client.session_id}") / SAID
        before = counted.read_bytes() if asks and counted.exists() else None
        if asks:
            say_again(counted.parent)
        try:
            return self._said_of(call)
        finally:
            if asks:
                say_again(counted.parent)
            if before is not None:
                counted.write_bytes(before)

    def _said_of(self, call: RuleCall) -> str:
        given = {"tool_name": call.tool, "tool_input": call.given, "tool_use_id": "toolu_judged"}
        outputs = list(self._called(_BEFORE_CALL, call.tool, **given))
        texts = [one.get(name, "") for one in outputs for name in ("additionalContext", "permissionDecisionReason")]
        return "\n".join(str(text) for text in texts if text)

    def faults(self) -> list[str]:
        """Return the lines that the hooks wrote into their log: there should be none."""
        path = self._home / LOG
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def _take(self, output: dict[str, Any], event: str) -> None:
        text = output.get("additionalContext")
        if isinstance(text, str) and text:
            self._client.take(text, event)

    def _called(self, event: str, subject: str = "", **more: Any) -> Iterator[dict[str, Any]]:
        """Call each entry of an event, and yield what it says for the client."""
        self._client.flush(self._path)
        named = {"session_id": self._client.session_id, "transcript_path": str(self._path), "cwd": self._client.cwd}
        given = json.dumps({**named, "hook_event_name": event, **more}).encode()
        places = [
            f"--client={self._client.name}",
            f"--home={self._home}",
            f"--client-home={self._client_home}",
            "--now",
        ]
        for entry in entries_for(self._client.name, event, subject):
            _, options = options_of([event, *places, *entry.options])
            printed = answer(event, given, options)
            found = json.loads(printed).get("hookSpecificOutput", {}) if printed else {}
            yield found if isinstance(found, dict) else {}
