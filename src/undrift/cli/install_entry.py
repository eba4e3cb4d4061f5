"""Our hooks or our MCP server in one settings file: put in with a question, and taken out again to the byte.

Law: the note that takes an entry out again is written before the entry.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from undrift.cli.change import ChangeReport, Given, SettingsChange, check_lasts, program
from undrift.cli.install_gateway import gateway_stays, keep_for_gateway, shared_with_gateway
from undrift.clients import CLIENTS, SERVED, HookedClient, ServedClient, place
from undrift.clients.addressed import ADDRESSED
from undrift.clients.base import EntryScope, command
from undrift.clients.hookfile import Edited
from undrift.clients.place import Memory
from undrift.clients.plugin import PLUGIN_FILES, is_plugin_enabled, note_on_plugin
from undrift.clients.valuefile import JsonValues, ValueNote, noted
from undrift.errors import InputError
from undrift.profiles import PROFILES
from undrift.values.extras import command_for

__all__ = ["EntryChange", "has_plugin", "install_entry", "is_allowed", "is_newest", "is_there", "uninstall_entry"]

_UNSPEAKABLE = frozenset("*\\\n\r")
"""Characters that mean something else in a rule of Claude Code."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """The hooks or the server of a client, and the file that lists them."""

    client: HookedClient | ServedClient
    change: SettingsChange
    client_home: Path

    @classmethod
    def of(cls, name: str, given: Given, report: ChangeReport, *, is_served: bool) -> "EntryChange":
        """Find the client and its file, which is read. Raises InputError: there is no such entry, or no such file."""
        known: Mapping[str, HookedClient | ServedClient] = SERVED if is_served else CLIENTS
        if name not in known:
            title = ADDRESSED[name].title
            raise InputError(f"{title}: there is nothing to install but the gateway: undrift install {name} --gateway")
        client, client_home = known[name], given.client_home(name, known[name].folder)
        project = Path.cwd() if given.project else None
        path = client.settings(EntryScope(client_home, project, is_own=given.own(name) is not None))
        return cls(
            client, SettingsChange(client, path, place.read(path), given.data_home(), given.yes, report), client_home
        )

    def wanted(self, start: list[str]) -> Any:
        """Return the words that start the server, or the function that makes a hook's command."""
        if isinstance(self.client, ServedClient):
            if find_spec("mcp") is None:
                raise InputError(f"the MCP server needs the package mcp; first: {command_for('mcp')}")
            return [*start, "mcp", f"--home={self.change.home}"]
        return command(start, self.client.name, self.change.home, self.client_home)

    @property
    def rule_key(self) -> tuple[str, ...]:
        """The key of the list of what the client's agent may run without a question; empty if there is none."""
        return ADDRESSED[self.client.name].allowed if isinstance(self.client, HookedClient) else ()

    def rules(self) -> tuple[str, ...]:
        """Return the rules that allow the recall command. Raises InputError: the client has none, or cannot name it."""
        words = shlex.join([*program(), "recall"])
        if not self.rule_key:
            raise InputError(f"{self.client.title} has no rule for this; leave out --allow-recall")
        if _UNSPEAKABLE & set(words):
            raise InputError(f"{words}: no rule can name this path; install undrift elsewhere for --allow-recall")
        return PROFILES[self.client.name].recall.rules(words)


def is_there(entry: EntryChange) -> bool:
    """Tell whether the file has exactly the entry that would be put in. Raises InputError: the file is malformed."""
    return bool(entry.change.read(entry.client.has, entry.change.before or "", entry.wanted(program())))


def is_allowed(entry: EntryChange) -> bool:
    """Tell whether the client's agent may run the recall command without a question. Raises InputError as `rules` does."""
    found = entry.change.read(JsonValues().value, entry.change.before or "", entry.rule_key)
    return isinstance(found, list) and all(rule in found for rule in entry.rules())


def install_entry(entry: EntryChange, *, allow: bool = False) -> None:
    """Put the entry in, and with `allow` the rules for the recall command. Existing entries stay as they are."""
    change, client = entry.change, entry.client
    text = change.before or ""
    if client.lacking:
        raise InputError(f"{client.title}: there is nothing to install: {client.lacking}")
    make = entry.wanted(program())
    is_same = change.read(client.has, text, make)
    old_home = change.read(client.home, text)
    memory = place.recall(old_home or change.home, change.path) or Memory()
    if not old_home:
        memory = Memory(values=memory.values)  # the rest is of a file that is no more
    edited, values = Edited(text, memory.pieces, memory.containers), memory.values
    if not is_same:
        base = change.read(_without_values, text, values)
        known = memory.containers if memory.pieces else None
        edited = change.read(client.installed, change.read(client.without_ours, base, memory.pieces, known), make)
        allow, values = allow or bool(values), ()
    after, added = change.read(_with_rules, entry, edited.text) if allow else (edited.text, ())
    if after == text:
        change.nothing("is installed already")
        return
    check_lasts()
    if change.agreed(after, "Install?"):
        is_new = change.before is None
        folders = place.missing_folders(change.path) if is_new else 0
        made = (is_new or memory.made_file, folders or memory.made_folders)
        place.remember(change.home, change.path, Memory(edited.pieces, edited.containers, *made, (*values, *added)))
        place.write(change.path, after)
        if old_home not in (None, change.home):
            place.forget(old_home, change.path)
        change.done(after, "installed", (*client.notes, *_beside_plugin(entry)))


def uninstall_entry(entry: EntryChange) -> None:
    """Take the entry out, with the rules that came with it."""
    change, client = entry.change, entry.client
    text = change.before or ""
    home = change.read(client.home, text) or change.home  # the note on the entries is in their own home
    memory = place.recall(home, change.path)
    found = memory or Memory(values=change.read(_unremembered, entry, text))
    ours, shared = shared_with_gateway(change, found.values)
    after = change.read(_without_values, text, ours)
    after = change.read(client.without_ours, after, found.pieces, found.containers if memory else None)
    if after == text:
        _tidy(home, change.path, memory)
        change.nothing("is not installed", gateway_stays(change))
        return
    gone = found.made_file and after.strip() in ("", "{}")
    if change.agreed(None if gone else after, "Uninstall?"):
        if gone:
            place.remove(change.path, folders=found.made_folders)
        else:
            place.write(change.path, after)
            keep_for_gateway(change, found, shared)
        _tidy(home, change.path, None)
        change.done(None if gone else after, "uninstalled", ())


def has_plugin(entry: EntryChange) -> bool:
    """Tell whether the client has our plugin, which brings hooks and server as well."""
    name = entry.client.name
    try:
        text = place.read(entry.client_home / PLUGIN_FILES[name]) if name in PLUGIN_FILES else None
    except InputError:  # a file that is not ours to repair
        return False
    return is_plugin_enabled(name, text or "")


def _beside_plugin(entry: EntryChange) -> tuple[str, ...]:
    """Return the line for a person who has our plugin as well."""
    return (
        (note_on_plugin(entry.client.name, is_served=isinstance(entry.client, ServedClient)),)
        if has_plugin(entry)
        else ()
    )


def is_newest(entry: EntryChange) -> bool:
    """Tell whether the entry is still in one piece, as the newest one in a file is: it has to go before the others."""
    text = entry.change.before or ""
    home = entry.change.read(entry.client.home, text) or entry.change.home
    memory = place.recall(home, entry.change.path)
    if memory is None or not memory.pieces:
        return False
    text = entry.change.read(_without_values, text, memory.values)
    return all(text.count(piece) == 1 for piece in memory.pieces)


def _with_rules(entry: EntryChange, text: str) -> tuple[str, tuple[dict[str, Any], ...]]:
    """Return the text with the rules that it has not, and a note on each."""
    found = JsonValues().value(text, entry.rule_key)
    notes = []
    for rule in entry.rules():
        if rule not in (found if isinstance(found, list) else ()):
            text, one = JsonValues().add(text, entry.rule_key, rule)
            notes.append(asdict(one))
    return text, tuple(notes)


def _without_values(text: str, values: Sequence[Mapping[str, Any]]) -> str:
    for one in reversed(values):
        text = JsonValues().drop(text, noted(one))
    return text


def _unremembered(entry: EntryChange, text: str) -> tuple[dict[str, Any], ...]:
    """Return notes on the rules that can only be ours, for a file of which nothing is remembered."""
    found = JsonValues().value(text, entry.rule_key) if entry.rule_key else None
    if not isinstance(found, list):
        return ()
    ours = [rule for rule in entry.rules() if rule not in PROFILES[entry.client.name].recall.allowing]
    return tuple(asdict(ValueNote(entry.rule_key, item=rule)) for rule in ours if rule in found)


def _tidy(home: Path, path: Path, memory: Memory | None) -> None:
    """Drop what is remembered of a file, and what a killed process left. `memory`: of a file that was never written."""
    place.sweep(path)
    if memory is not None and memory.made_file and not path.exists():
        place.remove(path, folders=memory.made_folders)
    place.sweep(home / "installed.json")
    place.forget(home, path)
