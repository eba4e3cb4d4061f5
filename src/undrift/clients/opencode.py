"""opencode: nothing to install yet, and why. Pure."""

from pathlib import Path

from undrift.clients.base import EntryScope, HookedClient

__all__ = ["CLIENT"]


def _settings(scope: EntryScope) -> Path:
    folder = scope.project / ".opencode" if scope.project is not None else scope.client_home
    return folder / "opencode.json"


CLIENT = HookedClient(
    "opencode",
    "opencode",
    ".config/opencode",
    "",
    _settings,
    lambda _: {},
    comments=True,
    lacking="it has no hooks that call a program, and a plugin may add to the prompt of its own summary only. undrift "
    "autopsy, restore and replay read what opencode export prints, undrift wrap opencode manages its window, and --mcp "
    "installs the MCP server",
)
