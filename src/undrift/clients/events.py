"""Our entries in a client's list of hooks, in one table: a row is one entry. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from undrift.clients.hookfile import Groups
from undrift.profiles import PROFILES
from undrift.values.restored import MOST_PARTS

__all__ = ["ENTRIES", "HookEntry", "MakeCommand", "hook_groups", "is_outdated"]

MakeCommand = Callable[[str, Sequence[str]], str]
"""From an event and the further options of its entry to the command."""

_BOTH = ("claude", "codex")
_PLACES = ("--client=", "--home=", "--client-home=")


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One entry.

    Args:
        options: Further options of its command.
        matcher: Which calls of the event it is for, in the client's own form; empty for all.
        clients: The clients that have the event.
        timeout_s: How long the client waits for it at most.
    """

    event: str
    options: tuple[str, ...] = ()
    matcher: str = ""
    clients: tuple[str, ...] = _BOTH
    timeout_s: int = 20

    def shown(self, command: str) -> dict[str, Any]:
        """Return the entry as it stands in the list of its event."""
        hooks = [{"type": "command", "command": command, "timeout": self.timeout_s}]
        return {"matcher": self.matcher, "hooks": hooks} if self.matcher else {"hooks": hooks}


_GUARDED = "|".join(
    [tool.name for tool in PROFILES["claude"].tools if tool.kind in ("agent", "edit", "fetch", "read", "shell")]
    + ["mcp__.*"]
)
"""The calls that can contradict a rule: all but searches, plans and questions."""

_PARTS = (f"--parts={MOST_PARTS}",)
ENTRIES = (
    HookEntry("PreCompact", _PARTS),
    *(HookEntry("SessionStart", (f"--part={part}", *_PARTS), "compact") for part in range(1, MOST_PARTS + 1)),
    HookEntry("SessionStart", matcher="startup|resume|clear"),
    HookEntry("SubagentStart"),
    HookEntry("SubagentStop"),
    HookEntry("PreToolUse", matcher=_GUARDED, clients=("claude",), timeout_s=5),  # each of these calls waits for it
    HookEntry("PreToolUse", clients=("codex",), timeout_s=5),
    HookEntry("UserPromptSubmit", clients=("claude",), timeout_s=5),  # each message waits for it
)
"""Every entry; those of one event in the order in which the client runs them."""


def hook_groups(client: str, make: MakeCommand) -> Groups:
    """Return the entries of a client, by event.

    `client`: by the name that one types. `make`: see `HookedClient.groups`.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for one in ENTRIES:
        if client in one.clients:
            found.setdefault(one.event, []).append(one.shown(make(one.event, one.options)))
    return found


def is_outdated(client: str, commands: Sequence[Sequence[str]]) -> bool:
    """Tell whether our entries in a client's list are not those of this version.

    `commands`: the words of each.
    """
    wanted = {(one.event, one.options) for one in ENTRIES if client in one.clients}
    return {_asked(words) for words in commands} != wanted


def _asked(words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the event and the further options of a command."""
    if "hook" not in words[:-1]:
        return "", ()
    event, *options = words[list(words).index("hook") + 1 :]
    return event, tuple(one for one in options if not one.startswith(_PLACES))
