"""Network namespaces for the proofs on a server: processes with addresses of their own, one link to the server each.

Law: nothing is mounted, and nothing stays: a namespace lives as long as the process that holds it.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.postgres_server import PostgresServer

__all__ = ["Network", "networks", "server_on"]

_NET = "10.231.{number}"
_PROGRAMS = ("ip", "nsenter", "unshare")
_TRUST = "host all all 10.231.0.0/16 trust\n"


@dataclass(frozen=True, slots=True)
class Network:
    """A place for processes.

    Args:
        host: The server's address there.
        enter: The words before a command that is to run there; empty: this process's own network.
    """

    host: str
    enter: Sequence[str] = ()


@contextmanager
def networks(count: int) -> Iterator[tuple[list[Network], str]]:
    """Yield namespaces, each with a link to this one; or loopback and the reason why there are none."""
    reason = _missing()
    holders: list[subprocess.Popen[bytes]] = []
    try:
        made = [] if reason else [_made(number, holders) for number in range(count)]
    except (OSError, subprocess.CalledProcessError) as error:
        made, reason = [], f"a namespace cannot be made: {error}"
    try:
        yield made or [Network("127.0.0.1")], reason
    finally:
        for number, one in enumerate(holders):
            subprocess.run(["ip", "link", "delete", _link(number)], check=False, capture_output=True)
            one.kill()
            one.wait()


def server_on(places: Sequence[Network], binaries: object = None) -> PostgresServer:
    """Start a server that waits for the disk and listens in all of these networks."""
    server = PostgresServer.start(binaries, is_fast=False, hosts=[one.host for one in places])  # type: ignore[arg-type]
    with (server.data / "pg_hba.conf").open("a") as rules:
        rules.write(_TRUST)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
    return server


def _missing() -> str:
    if not hasattr(os, "getuid") or os.getuid():
        return "namespaces need root"
    absent = [one for one in _PROGRAMS if shutil.which(one) is None]
    return f"namespaces need the programs {', '.join(absent)}" if absent else ""


def _made(number: int, holders: list[subprocess.Popen[bytes]]) -> Network:
    holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    holders.append(holder)
    net, link = _NET.format(number=number), _link(number)
    own = Path("/proc/self/ns/net").readlink()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
        if holder.poll() is not None or time.monotonic() > deadline:
            raise OSError("unshare --net is refused")
        time.sleep(0.01)
    enter = ["nsenter", "--target", str(holder.pid), "--net"]
    for words in (
        ["ip", "link", "add", link, "type", "veth", "peer", "name", "server", "netns", str(holder.pid)],
        ["ip", "address", "add", f"{net}.1/30", "dev", link],
        ["ip", "link", "set", link, "up"],
        [*enter, "ip", "address", "add", f"{net}.2/30", "dev", "server"],
        [*enter, "ip", "link", "set", "server", "up"],
        [*enter, "ip", "link", "set", "lo", "up"],
    ):
        subprocess.run(words, check=True, capture_output=True)
    return Network(f"{net}.1", enter)


def _link(number: int) -> str:
    return f"undr{os.getpid() % 100_000}n{number}"
