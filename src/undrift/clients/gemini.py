"""Gemini CLI: nothing to install yet, and why. Pure."""

from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient

__all__ = ["CLIENT"]


def _settings(scope: EntryScope) -> Path:
    folder = scope.project / ".gemini" if scope.project is not None else scope.client_home
    return folder / "settings.json"


CLIENT = HookedClient(
    "gemini",
    "Gemini CLI",
    ".gemini",
    "",
    _settings,
    lambda _: {},
    comments=True,
    lacking="its PreCompress hook may not add to the window, and no hook follows a compression. undrift autopsy, restore "
    "and replay read its recorded sessions, undrift wrap gemini manages its window, and --mcp installs the MCP server",
)
