"""The clients that a person has, and the parts of undrift that each can get. Law: reads only."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from undrift.cli.change import ChangeReport, Given, user_folder
from undrift.cli.install_entry import EntryChange, has_plugin, is_allowed, is_there
from undrift.clients import CLIENTS, SERVED
from undrift.clients.addressed import ADDRESSED
from undrift.clients.base import EntryScope
from undrift.clients.wrapped import WRAPPED
from undrift.errors import UndriftError
from undrift.stores.service import load
from undrift.values.extras import command_for

__all__ = [
    "FoundClient",
    "Offer",
    "PARTS",
    "Part",
    "calls_undrift",
    "entry_of",
    "find_clients",
    "home_of",
    "looked_for",
    "offers",
]

Part = Literal["hooks", "recall", "mcp", "gateway"]

PARTS: Mapping[Part, tuple[str, str]] = {
    "hooks": ("hooks", "give the agent back what a compaction removes"),
    "recall": ("recall", "lets the agent look up originals without asking you; it only reads"),
    "mcp": ("MCP server", "gives the agent tools: recall, search, memory, tasks"),
    "gateway": ("gateway", "makes room before the client has to compact; off by default"),
}
"""Each part: its name, and its use in one line."""

_PACKAGES = {"mcp": ("mcp",), "gateway": ("aiohttp", "httptools", "uvicorn")}
_EXTRAS = {"mcp": "mcp", "gateway": "proxy"}


@dataclass(frozen=True, slots=True)
class FoundClient:
    """A client that this person has. `folder`: the folder or file of its settings, if it is there."""

    name: str
    title: str
    folder: Path | None
    program: str | None


@dataclass(frozen=True, slots=True)
class Offer:
    """One part for one client.

    Args:
        state: ``set`` if it is there already, ``plugin`` if our plugin brings it, ``missing`` if it can be added, ``blocked``
            if it cannot.
        why: The obstacle and its remedy, if it is blocked.
        is_fault: Whether the obstacle is a fault, and not only a package that is not installed.
    """

    client: FoundClient
    part: Part
    state: Literal["set", "plugin", "missing", "blocked"]
    why: str = ""
    is_fault: bool = False


def find_clients(given: Given) -> tuple[FoundClient, ...]:
    """Return the clients whose settings or program are there. Raises InputError: the user's home folder is not known."""
    user_folder()
    found = (_found(name, given) for name in ADDRESSED)
    return tuple(one for one in found if one.folder or one.program)


def looked_for(given: Given) -> Iterator[str]:
    """Yield each client with the folder or file, and the program, that would have been found."""
    for name, client in ADDRESSED.items():
        yield f"{client.title} ({_folder(name, given)}, {WRAPPED[name].program})"


def offers(clients: tuple[FoundClient, ...], given: Given) -> tuple[Offer, ...]:
    """Return what each client can get, in the order in which it is added."""
    parts: Mapping[Part, Callable[[str, Given], bool]] = {
        "hooks": _has_hooks, "recall": _has_rule, "mcp": _has_server, "gateway": _has_gateway,
    }  # fmt: skip
    found = (
        _offer(client, part, given, has) for client in clients for part, has in parts.items() if _fits(client, part)
    )
    return tuple(one for one in found if one.part != "recall" or one.state != "plugin")


def calls_undrift(home: Path, client_homes: Mapping[str, Path | None]) -> bool:
    """Tell whether a client calls undrift already.

    `home`: the one whose gateway is looked for; entries of every home count. `client_homes`: --claude-home, --codex-home.
    """
    given = Given(None, False, False, client_homes.get("claude_home"), client_homes.get("codex_home"))
    try:
        found = offers(find_clients(given), given)
        return any(one.state in ("set", "plugin") for one in found) or load(home) is not None
    except (UndriftError, OSError):  # a home or a user's folder that cannot be read: others say so
        return False


def entry_of(name: str, part: Part, given: Given, report: ChangeReport) -> EntryChange:
    """Return the entry of a part. Entries that serve another home keep it, unless a home was named."""
    entry = EntryChange.of(name, given, report, is_served=part == "mcp")
    home = entry.change.read(entry.client.home, entry.change.before or "") if given.home is None else None
    return entry if home is None else replace(entry, change=replace(entry.change, home=home))


def home_of(path: Path) -> str:
    """Return a path as a person writes it, below ``~`` if it is there."""
    home = user_folder()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)


def _found(name: str, given: Given) -> FoundClient:
    folder = _folder(name, given)
    return FoundClient(
        name, ADDRESSED[name].title, folder if folder.exists() else None, shutil.which(WRAPPED[name].program)
    )


def _folder(name: str, given: Given) -> Path:
    """Return the folder of a client; its settings file, if that is in the user's home folder itself."""
    client = ADDRESSED[name]
    folder = given.client_home(name, client.folder)
    return folder if client.folder else client.paths(EntryScope(folder))[0]


def _fits(client: FoundClient, part: Part) -> bool:
    """Tell whether a client has a place for a part at all."""
    has_hooks = client.name in CLIENTS and not CLIENTS[client.name].lacking
    if part == "hooks":
        return has_hooks
    if part == "recall":
        return has_hooks and bool(ADDRESSED[client.name].allowed)
    return part == "gateway" or client.name in SERVED


def _offer(client: FoundClient, part: Part, given: Given, has: Callable[[str, Given], bool]) -> Offer:
    if not all(map(find_spec, _PACKAGES.get(part, ()))):
        packages = " and ".join(_PACKAGES[part])
        return Offer(client, part, "blocked", f"it needs {packages}; first: {command_for(_EXTRAS[part])}")
    try:
        if has(client.name, given):
            return Offer(client, part, "set")
        is_there_too = part != "gateway" and has_plugin(entry_of(client.name, part, given, ChangeReport(as_json=True)))
        return Offer(client, part, "plugin" if is_there_too else "missing")
    except (UndriftError, OSError) as error:
        return Offer(client, part, "blocked", str(error), is_fault=True)


def _has_hooks(name: str, given: Given) -> bool:
    return is_there(entry_of(name, "hooks", given, ChangeReport(as_json=True)))


def _has_rule(name: str, given: Given) -> bool:
    return is_allowed(entry_of(name, "recall", given, ChangeReport(as_json=True)))


def _has_server(name: str, given: Given) -> bool:
    return is_there(entry_of(name, "mcp", given, ChangeReport(as_json=True)))


def _has_gateway(name: str, given: Given) -> bool:
    service = load(given.data_home())
    return service is not None and name in service.clients
