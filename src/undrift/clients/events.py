"""Our entries in a client's list of hooks, in one table: a row is one entry. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from undrift.clients.hookfile import Groups

__all__ = ["ENTRIES", "HookEntry", "hook_groups"]

_BOTH = ("claude", "codex")


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One entry.

    Args:
        part: Which part of the text it asks for; 0 for an event that has none.
        matcher: Which calls of the event it is for, in the client's own form; empty for all.
        clients: The clients that have the event.
        timeout_s: How long the client waits for it at most.
    """

    event: str
    part: int = 0
    matcher: str = ""
    clients: tuple[str, ...] = _BOTH
    timeout_s: int = 20

    def shown(self, command: str) -> dict[str, Any]:
        """Return the entry as it stands in the list of its event."""
        hooks = [{"type": "command", "command": command, "timeout": self.timeout_s}]
        return {"matcher": self.matcher, "hooks": hooks} if self.matcher else {"hooks": hooks}


ENTRIES = (
    HookEntry("PreCompact"),
    *(HookEntry("SessionStart", part, "compact") for part in (1, 2)),
    HookEntry("SessionStart", matcher="startup|resume"),
    HookEntry("UserPromptSubmit", clients=("claude",), timeout_s=5),  # each message waits for it
)
"""Every entry; those of one event in the order in which the client runs them."""


def hook_groups(client: str, make: Callable[[str, int], str]) -> Groups:
    """Return the entries of a client, by event.

    `client`: by the name that one types. `make`: see `HookedClient.groups`.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for one in ENTRIES:
        if client in one.clients:
            found.setdefault(one.event, []).append(one.shown(make(one.event, one.part)))
    return found
