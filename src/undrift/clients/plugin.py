"""The plugin of undrift in a client's settings: whether it is enabled beside the entries of ``undrift install``. Pure."""

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["PLUGIN_FILES", "PLUGIN_UNINSTALL", "is_plugin_enabled", "note_on_plugin"]

PLUGIN_FILES: Mapping[str, str] = {"claude": "settings.json", "codex": "config.toml"}
"""The file in the client's own folder that lists its plugins, by the name of the client."""

_OURS = "undrift@"
_READERS: Mapping[str, Callable[[str], Any]] = {"settings.json": json.loads, "config.toml": tomllib.loads}

PLUGIN_UNINSTALL: Mapping[str, str] = {
    "claude": "claude plugin uninstall undrift@undrift",
    "codex": "codex plugin remove undrift@undrift",
}
"""The command that removes the plugin, by the name of the client."""


def is_plugin_enabled(client: str, text: str) -> bool:
    """Tell whether a client's settings enable our plugin. A text that cannot be read enables none."""
    try:
        found = _READERS[PLUGIN_FILES[client]](text.removeprefix("\ufeff"))
    except (KeyError, ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    listed = found.get("enabledPlugins" if client == "claude" else "plugins")
    plugins = listed.items() if isinstance(listed, dict) else ()
    return any(str(name).startswith(_OURS) and _is_on(entry) for name, entry in plugins)


def note_on_plugin(client: str, *, is_served: bool) -> str:
    """Return the line for a person who installs what the plugin brings too."""
    twice = "Its server is now listed twice" if is_served else "Its hooks rest while these are installed"
    return f"The undrift plugin is enabled too. {twice}. To remove it: {PLUGIN_UNINSTALL[client]}"


def _is_on(entry: Any) -> bool:
    """Tell whether an entry of the list is on: a plain value, or a table with `enabled`."""
    return (entry.get("enabled", True) if isinstance(entry, dict) else entry) is True
