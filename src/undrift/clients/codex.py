"""Codex: ``hooks.json`` in ``~/.codex`` (or CODEX_HOME), ``.codex/hooks.json`` of a project. Pure."""

from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient
from undrift.clients.events import hook_groups

__all__ = ["CLIENT"]


def _settings(scope: EntryScope) -> Path:
    return (scope.project / ".codex" if scope.project is not None else scope.client_home) / "hooks.json"


CLIENT = HookedClient(
    "codex",
    "Codex",
    ".codex",
    "CODEX_HOME",
    _settings,
    lambda make: hook_groups("codex", make),
    notes=("Codex runs a new hook only after you have looked at it: start codex, type /hooks and trust the new ones.",),
)
