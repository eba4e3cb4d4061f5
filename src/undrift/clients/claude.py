"""Claude Code: ``settings.json`` in ``~/.claude`` (or CLAUDE_CONFIG_DIR), ``.claude/settings.local.json`` of a project. Pure.

A hook may put about 10,000 characters into a new context and two hooks both land (seen with 2.1.330), so the text comes
in two parts; a ``PreCompact`` hook must print nothing, as that would reach the summariser's prompt. A ``systemMessage`` of a
``UserPromptSubmit`` hook is shown before the request is sent, and is no part of it.
"""

from collections.abc import Callable
from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient, hook, hook_groups
from undrift.clients.hookfile import Groups

__all__ = ["CLIENT"]

_MESSAGE_TIMEOUT_S = 5


def _settings(scope: EntryScope) -> Path:
    if scope.project is not None:
        return scope.project / ".claude" / "settings.local.json"
    return scope.client_home / "settings.json"


def _groups(make: Callable[[str, int], str]) -> Groups:
    """Return the entries; each message waits for the last one, so that it has less time."""
    said = hook(make("UserPromptSubmit", 0), timeout=_MESSAGE_TIMEOUT_S)
    return {**hook_groups(make), "UserPromptSubmit": [{"hooks": [said]}]}


CLIENT = HookedClient("claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", _settings, _groups)
