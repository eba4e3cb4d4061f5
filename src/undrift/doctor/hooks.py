"""The hooks that record into a home: whether they are still in the clients' settings, and what they have complained of.

Law: changes nothing.
"""

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from undrift.clients import CLIENTS, place
from undrift.clients.base import is_ours
from undrift.clients.events import is_outdated
from undrift.clients.hookfile import our_commands
from undrift.clients.plugin import PLUGIN_FILES, is_plugin_enabled
from undrift.clients.served import SERVED
from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.errors import InputError
from undrift.hooks import home as of_hooks

__all__ = ["are_installed", "failed_calls", "hooks", "without_hooks"]

_INSTALLED = "installed.json"
_LAST_LINES = 5
_RECENT_S = 7 * 86_400


def are_installed(home: Path) -> bool:
    """Return whether hooks were ever installed for a home, or a plugin's hook ran there."""
    return bool(_settings_files(home) or _plugin_notes(home))


def hooks(home: Path) -> Iterator[Finding]:
    """Yield the findings about the hooks of a home; none if no hook was ever installed there."""
    entries = [_entries(home, path) for path in _settings_files(home)]
    yield from entries
    if not any(entry.name == "hooks" and entry.state == "ok" for entry in entries):  # else those of a plugin rest
        yield from (_plugin(home, path) for path in _plugin_notes(home)[-1:])
    yield from _log(home)


def failed_calls(home: Path) -> Iterator[Finding]:
    """Yield a finding if calls of hooks failed in the last days; none if all is well."""
    _, fresh = _log_lines(home)
    if fresh:
        text = f"{len(fresh):,} line{'' if len(fresh) == 1 else 's'} of the last 7 days in {home / of_hooks.LOG}; the newest: {fresh[-1]}"
        yield wrong("hooks' log", text, "see what it names; `undrift doctor` shows more of it", home=str(home))


def without_hooks(homes: Sequence[Path], used: Mapping[str, Path], project: Path | None = None) -> Iterator[Finding]:
    """Yield a finding for each client that is used and has no hooks of undrift.

    Args:
        homes: The homes that hooks may record into.
        used: Client -> its own folder.
        project: Hooks in the settings of this folder count; None: those of any project do.
    """
    files = [path for home in homes for path in _settings_files(home)]
    for name, folder in used.items():
        client = CLIENTS[name]
        own = [path for path in files if path.is_relative_to(folder)]
        own += [path for path in files if Path(client.folder).name in path.parts and _is_below(path, project)]
        if not own and not _has_plugin(name, folder):
            text = f"{client.title} has no hooks of undrift, so nothing is given back after a compaction"
            yield wrong("hooks", text, f"`undrift install {name}`")


def _is_below(path: Path, project: Path | None) -> bool:
    return project is None or path.is_relative_to(project)


def _has_plugin(client: str, folder: Path) -> bool:
    try:
        return is_plugin_enabled(client, place.read(folder / PLUGIN_FILES[client]) or "")
    except (InputError, OSError):
        return False


def _settings_files(home: Path) -> list[Path]:
    try:
        value: Any = json.loads(of_hooks.read_small(home / _INSTALLED) or b"{}")
    except ValueError:
        return []
    return [Path(path) for path in value] if isinstance(value, dict) else []


def _entries(home: Path, path: Path) -> Finding:
    here = str(home)
    try:
        text = place.read(path) or ""
    except InputError as error:
        return wrong("hooks", str(error), "repair the file, then `undrift install CLIENT`", home=here)
    client = next((client for client in CLIENTS.values() if Path(client.folder).name in path.parts), None)
    again = f"`undrift install {client.name if client else 'CLIENT'} --home {home}`"
    serves = _serves(text, home)
    try:
        commands = our_commands(text, is_ours, comments=True) if text.strip() else ()
    except InputError as error:
        if serves:  # it is in another form than hooks have, as Codex' own settings are
            return ok("mcp", f"{path} starts undrift's MCP server", home=here)
        return wrong("hooks", f"{path}: {error}", "repair the file: the client cannot read it either", home=here)
    if not commands and serves:
        return ok("mcp", f"{path} starts undrift's MCP server", home=here)
    if not commands:
        return wrong("hooks", f"{path} does not call undrift any more, so nothing is recorded", again, home=here)
    read = []
    for command in commands:
        try:
            words = shlex.split(command)
        except ValueError as error:  # a quotation that does not end
            return wrong("hooks", f"{path}: {error}: {command}", again, home=here)
        if not Path(words[0]).exists():
            return wrong("hooks", f"{path} calls {words[0]}, which is not there", again, home=here)
        if f"--home={home}" not in words:
            return note("hooks", f"{path} records into another home", home=here, details=(command,))
        read.append(words)
    if client and is_outdated(client.name, read):
        text = f"{path} has the entries of another version of undrift: they work, but what is new since is missing; to replace them: {again}"
        return note("hooks", text, home=here)
    return ok("hooks", f"{path} calls undrift in {len(commands)} places", home=here)


def _plugin_notes(home: Path) -> list[Path]:
    """Return the notes of a plugin's script on the program that it starts, the one that changed last at the end.

    A note that there is none is written again at most an hour later: an old one is of a plugin that was removed.
    """
    try:
        notes = sorted(home.glob("plugin-*-hook"), key=lambda path: path.lstat().st_mtime_ns)
        recent = time.time() - _RECENT_S
        return [path for path in notes if path.lstat().st_mtime > recent or _program(path) != "none"]
    except OSError:  # gone in the meantime
        return []


def _program(path: Path) -> str:
    """Return the program that a note names."""
    return (of_hooks.read_small(path) or b"").decode("utf-8", "replace").strip()


def _plugin(home: Path, path: Path) -> Finding:
    here, version = str(home), path.name.removeprefix("plugin-").removesuffix("-hook")
    program = _program(path)
    if program == "none":
        text = f"the plugin found no program that starts undrift {version}, so its hooks give nothing back"
        return wrong(
            "plugin", text, f"install uv, or put undrift on the PATH: pipx install undrift=={version}", home=here
        )
    if program != "pipx" and not _is_there(program):
        return note("plugin", f"the plugin started {program}, which is not there; it looks again", home=here)
    return ok("plugin", f"the plugin starts undrift {version} by {program}", home=here)


def _is_there(program: str) -> bool:
    try:
        return program.startswith("/") and Path(program).exists()
    except OSError:  # too long for a name
        return False


def _serves(text: str, home: Path) -> bool:
    """Return whether a client's settings list our MCP server for this home: `install CLIENT --mcp` writes no hooks."""
    for client in SERVED.values():
        with suppress(InputError):  # a text in another client's form
            if client.home(text) == home:
                return True
    return False


def _log(home: Path) -> Iterator[Finding]:
    lines, fresh = _log_lines(home)
    if not lines:
        return
    text = f"{of_hooks.LOG} has {len(lines):,} line{'' if len(lines) == 1 else 's'}, {len(fresh):,} of them of the last 7 days; the newest:"
    yield note("hooks' log", text, home=str(home), details=tuple(lines[-_LAST_LINES:]))


def _log_lines(home: Path) -> tuple[list[str], list[str]]:
    """Return the lines of the hooks' log, and those of the last days."""
    content = of_hooks.read_small(home / of_hooks.LOG) or b""
    lines = content.decode("utf-8", "replace").splitlines()
    recent = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _RECENT_S))
    return lines, [line for line in lines if line[:20] >= recent]
