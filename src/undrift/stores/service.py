"""The gateway for every day of a home: its port, and the clients whose settings name it.

Law: the file is for its owner alone (0600), because the pieces of settings in it hold the token. It is replaced in one step.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from undrift.errors import StoreError
from undrift.stores import files

__all__ = ["DEFAULT_PORT", "PointedClient", "SERVICE_NAME", "Service", "load", "remove", "save"]

SERVICE_NAME = "service.json"
DEFAULT_PORT = 8787

_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class PointedClient:
    """A client whose settings name the gateway.

    Args:
        path: The settings file.
        upstreams: Provider -> the address that this client used before.
        kept: What was put into the file, in order, as JSON.
        made_file: The file was not there before.
        made_folders: How many folders above it were not there.
        mode: The file's former mode, if it was readable by others.
    """

    path: str
    upstreams: Mapping[str, str]
    kept: tuple[Mapping[str, Any], ...] = ()
    made_file: bool = False
    made_folders: int = 0
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The gateway for every day.

    Args:
        clients: By the name that one types.
        made_folders: How many folders were made for the files of the service manager.
        recall_reachable: Whether the agents of these clients find ``undrift recall`` on their PATH, and this home by it.
    """

    port: int = DEFAULT_PORT
    clients: Mapping[str, PointedClient] = field(default_factory=dict)
    recall_reachable: bool = False
    made_folders: int = 0

    @property
    def upstreams(self) -> dict[str, str]:
        """Provider -> the address to which the gateway sends its requests."""
        return {name: url for client in self.clients.values() for name, url in client.upstreams.items()}

    def with_client(self, name: str, client: PointedClient) -> Self:
        """Return the service with one more client."""
        return replace(self, clients={**self.clients, name: client})

    def without(self, name: str) -> Self:
        """Return the service without a client."""
        return replace(self, clients={known: one for known, one in self.clients.items() if known != name})


def load(home: Path) -> Service | None:
    """Return the service of a home. None means: there is none. Raises StoreError: its file is damaged or not ours."""
    path = home / SERVICE_NAME
    try:
        files.check_regular(path)
        with path.open("rb") as file:
            given = json.loads(file.read(_MOST_BYTES))
        clients = {name: _client(one) for name, one in given["clients"].items()}
        port = given["port"]
        if type(port) is not int or not 0 < port < 1 << 16:
            raise ValueError("its port is none")
        return Service(port, clients, given.get("recall_reachable") is True, int(given.get("made_folders", 0)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); remove it, and install the gateway again") from error


def _client(given: Mapping[str, Any]) -> PointedClient:
    upstreams = {str(name): str(url) for name, url in given["upstreams"].items()}
    kept = tuple(dict(one) for one in given["kept"])
    mode = given["mode"] if type(given["mode"]) is int else None
    folders = int(given["made_folders"] if "made_folders" in given else given["made_folder"])
    return PointedClient(str(given["path"]), upstreams, kept, bool(given["made_file"]), folders, mode)


def save(home: Path, service: Service) -> None:
    """Write the service of a home. Raises OSError: it cannot be written; the former file is as it was."""
    files.make_folder(home)
    files.replace_file(home / SERVICE_NAME, json.dumps(asdict(service), indent=1).encode("ascii"))


def remove(home: Path) -> None:
    """Delete the file of a service that has no clients left."""
    with suppress(FileNotFoundError):
        (home / SERVICE_NAME).unlink()
