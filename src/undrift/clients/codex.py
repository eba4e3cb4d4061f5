"""Codex: ``hooks.json`` in ``~/.codex`` (or CODEX_HOME), ``.codex/hooks.json`` of a project. Pure."""

from collections.abc import Callable
from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient, hook
from undrift.clients.hookfile import Groups

__all__ = ["CLIENT"]

_TIMEOUT_S = 20


def _settings(scope: EntryScope) -> Path:
    return (scope.project / ".codex" if scope.project is not None else scope.client_home) / "hooks.json"


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


CLIENT = HookedClient(
    "codex",
    "Codex",
    ".codex",
    "CODEX_HOME",
    _settings,
    _groups,
    notes=("Codex runs a new hook only after you have looked at it: start codex, type /hooks and trust the new ones.",),
)
