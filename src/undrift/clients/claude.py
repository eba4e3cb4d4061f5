"""Claude Code: ``settings.json`` in ``~/.claude`` (or CLAUDE_CONFIG_DIR), ``.claude/settings.local.json`` of a project. Pure.

A hook may put about 10,000 characters into a new context and two hooks both land (seen with 2.1.330), so the text comes
in two parts; a ``PreCompact`` hook must print nothing, as that would reach the summariser's prompt.
"""

from collections.abc import Callable
from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient, hook
from undrift.clients.hookfile import Groups

__all__ = ["CLIENT"]

_TIMEOUT_S = 20


def _settings(scope: EntryScope) -> Path:
    if scope.project is not None:
        return scope.project / ".claude" / "settings.local.json"
    return scope.client_home / "settings.json"


def _groups(make: Callable[[str, int], str]) -> Groups:
    def group(event: str, part: int, **matcher: str) -> dict[str, object]:
        return {**matcher, "hooks": [hook(make(event, part), timeout=_TIMEOUT_S)]}

    return {
        "PreCompact": [group("PreCompact", 0)],
        "SessionStart": [
            group("SessionStart", 1, matcher="compact"),
            group("SessionStart", 2, matcher="compact"),
            group("SessionStart", 0, matcher="startup|resume"),
        ],
    }


CLIENT = HookedClient("claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", _settings, _groups)
