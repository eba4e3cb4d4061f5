"""The gateway for every day: whether the clients still lead to it, whether others can read its token, and whether it listens.

Law: changes nothing, and starts no gateway: the port is tried, and not connected to.
"""

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from undrift.clients import place
from undrift.clients.addressed import ADDRESSED
from undrift.clients.clouds import PAST_THE_GATEWAY, cloud_with
from undrift.clients.valuefile import JsonValues
from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.errors import InputError, StoreError
from undrift.settings import environment
from undrift.stores.secret import TOKEN_NAME
from undrift.stores.service import SERVICE_NAME, PointedClient, Service, load

__all__ = ["service"]


def service(home: Path) -> Iterator[Finding]:
    """Yield what is found about the service of a home; nothing if no client uses one."""
    here = str(home)
    try:
        found = load(home)
    except StoreError as error:
        remedy = f"remove {home / SERVICE_NAME}, then `undrift install CLIENT --gateway` for each client"
        yield wrong("service", str(error), remedy, home=here)
        return
    if found is None:
        return
    for name, client in found.clients.items():
        yield _client(home, name, client, found.port)
    yield _port(home, found)


def _client(home: Path, name: str, client: PointedClient, port: int) -> Finding:
    here, path = str(home), Path(client.path)
    title = ADDRESSED[name].title if name in ADDRESSED else name
    again = f"`undrift install {name} --gateway --home {home}`"
    try:
        text, mode = place.read(path) or "", place.mode_of(path)
        token = (home / TOKEN_NAME).read_text(encoding="ascii").strip()
        cloud = cloud_with(JsonValues().value(text, ("env",)), environment()) if name == "claude" else None
    except (InputError, OSError, ValueError) as error:
        return wrong("service", f"{title}: {error}", f"correct what is named, then {again}", home=here)
    if f"http://127.0.0.1:{port}/{token}/via/" not in text:
        old = f"http://127.0.0.1:{port}/" in text
        state = "has an old token, so that it is refused" if old else "does not lead to the gateway any more"
        return wrong("service", f"{title}: {path} {state}", again, home=here)
    if mode is not None and mode & 0o077 and os.name != "nt":
        return wrong(
            "service", f"{title}: others can read the token in {path} ({mode:04o})", f"chmod 600 {path}", home=here
        )
    if cloud is not None:
        return note("service", f"{title} uses {cloud.title}, and {PAST_THE_GATEWAY}: {path}", home=here)
    return ok("service", f"{title} uses the gateway: {path}", home=here)


def _port(home: Path, found: Service) -> Finding:
    """Say whether a program listens on the port: if none does, a socket can be bound to it."""
    place_ = f"127.0.0.1:{found.port}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", found.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return ok("service", f"{place_} is listened on", home=str(home))
            return wrong("service", f"{place_}: {error.strerror}", "choose another port: --port N", home=str(home))
    names = ", ".join(found.clients)
    first = next(iter(found.clients), "CLIENT")
    remedy = f"`undrift install {first} --gateway --home {home}` starts it again; by hand: undrift proxy --service --home={home}"
    return wrong("service", f"nothing listens on {place_}, where {names} send their requests", remedy, home=str(home))
