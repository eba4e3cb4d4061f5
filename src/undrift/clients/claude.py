"""Claude Code: ``settings.json`` in ``~/.claude`` (or CLAUDE_CONFIG_DIR), ``.claude/settings.local.json`` of a project. Pure.

A hook may put about 10,000 characters into a new context and four hooks all land (seen with 2.1.330), so the text comes
in parts; a ``PreCompact`` hook must print nothing, as that would reach the summariser's prompt. A ``systemMessage`` of a
``UserPromptSubmit`` hook is shown before the request is sent, and is no part of it.
"""

from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient
from undrift.clients.events import hook_groups

__all__ = ["CLIENT"]


def _settings(scope: EntryScope) -> Path:
    if scope.project is not None:
        return scope.project / ".claude" / "settings.local.json"
    return scope.client_home / "settings.json"


CLIENT = HookedClient(
    "claude", "Claude Code", ".claude", "CLAUDE_CONFIG_DIR", _settings, lambda make: hook_groups("claude", make)
)
