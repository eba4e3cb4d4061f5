"""The clients that our MCP server can be put into, and what an entry of ours looks like there. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from undrift.clients.base import EntryScope
from undrift.clients.hookfile import Edited
from undrift.clients.serverfile import JsonServers, Nested, ServerFile, TomlServers

__all__ = ["SERVED", "ServedClient"]


@dataclass(frozen=True, slots=True)
class ServedClient:
    """A client that starts MCP servers; it answers as `undrift.clients.HookedClient` does."""

    name: str
    title: str
    folder: str
    settings: Callable[[EntryScope], Path]
    file: ServerFile
    notes: tuple[str, ...] = ()
    lacking: str = ""

    def installed(self, text: str, words: Sequence[str]) -> Edited:
        """Return the text with our server, which it must not list yet."""
        return self.file.put(text, words)

    def without_ours(self, text: str, pieces: Sequence[str] = (), containers: Sequence[str] | None = None) -> str:
        """Return the text without our server."""
        return self.file.take(text, pieces, containers)

    def home(self, text: str) -> Path | None:
        """Return the home that our server in the text serves, or None if it is not listed."""
        words = self.file.words(text) or ()
        return next((Path(word.removeprefix("--home=")) for word in words if word.startswith("--home=")), None)

    def has(self, text: str, words: Sequence[str]) -> bool:
        """Tell whether our server is listed with exactly these words."""
        return self.file.words(text) == list(words)


def _claude(scope: EntryScope) -> Path:
    if scope.project is not None:
        return scope.project / ".mcp.json"
    return (scope.client_home if scope.is_own else scope.client_home.parent) / ".claude.json"


def _codex(scope: EntryScope) -> Path:
    return (scope.project / ".codex" if scope.project is not None else scope.client_home) / "config.toml"


def _gemini(scope: EntryScope) -> Path:
    return (scope.project / ".gemini" if scope.project is not None else scope.client_home) / "settings.json"


def _opencode(scope: EntryScope) -> Path:
    return (scope.project if scope.project is not None else scope.client_home) / "opencode.json"


def _split(words: Sequence[str]) -> Mapping[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> Mapping[str, Any]:
    return {"type": "stdio", **_split(words)}


def _local(words: Sequence[str]) -> Mapping[str, Any]:
    return {"type": "local", "command": list(words), "enabled": True}


def _connected(words: Sequence[str]) -> Mapping[str, Any]:
    return {"type": "local", "command": list(words)}


def _joined(entry: Any) -> list[str] | None:
    """The words of an entry, whose program and arguments stand in one list or in two members."""
    if not isinstance(entry, dict):
        return None
    program, arguments = entry.get("command"), entry.get("args", [])
    return [*(program if isinstance(program, list) else [program]), *(arguments if isinstance(arguments, list) else [])]


SERVED: Mapping[str, ServedClient] = {
    "claude": ServedClient(
        "claude",
        "Claude Code",
        ".claude",
        _claude,
        JsonServers("mcpServers", _typed, _joined),
        notes=("Restart Claude Code; /mcp lists its servers. It asks before it uses one that a project brings along.",),
    ),
    "codex": ServedClient("codex", "Codex", ".codex", _codex, TomlServers("mcp_servers")),
    "gemini": ServedClient(
        "gemini", "Gemini CLI", ".gemini", _gemini, JsonServers("mcpServers", _split, _joined, comments=True)
    ),
    "opencode": ServedClient(
        "opencode",
        "opencode",
        ".config/opencode",
        _opencode,
        JsonServers("mcp", _local, _joined, comments=True, nested=Nested("servers", _connected)),
    ),
}
"""Every client that can be given the server, by the name that one types."""
