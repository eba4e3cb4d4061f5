"""The services of a compose file, as far as deploy/run.py starts them.

Law: what this reader does not know is an error. A part that it passed over would run differently without an image.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ComposeError", "Service", "read"]

_IMAGE_ALONE = frozenset(
    {
        "build",
        "cap_add",
        "cap_drop",
        "cpus",
        "image",
        "logging",
        "mem_limit",
        "networks",
        "pids_limit",
        "restart",
        "shm_size",
    }
)
"""Keys that bind a container alone. The namespaces drop every right, so `cap_add` has no effect there."""

_KNOWN = frozenset(
    {
        "command", "depends_on", "environment", "expose", "healthcheck", "ports", "read_only", "secrets", "security_opt",
        "stop_grace_period", "tmpfs", "user", "volumes",
    }
)  # fmt: skip
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class ComposeError(ValueError):
    """The compose file has a part that this reader does not know, or names a file that is absent."""


@dataclass(frozen=True, slots=True)
class Service:
    """One service.

    Args:
        ports: What it listens on.
        published: Address and port of this machine, and the service's port.
        mounts: Path in the service -> file of this machine, read only.
        volumes: Path in the service -> name of the volume.
        tmpfs: Folders in memory.
        healthcheck: A command that succeeds when the service is ready; empty: ready once it listens.
        interval_s: Between two checks.
        after: Services that must be ready first.
        grace_s: For so long it may take to end.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    uid: int
    gid: int
    ports: tuple[int, ...]
    published: tuple[tuple[str, int, int], ...]
    mounts: Mapping[str, Path]
    volumes: Mapping[str, str]
    tmpfs: tuple[str, ...]
    healthcheck: tuple[str, ...]
    interval_s: float
    after: tuple[str, ...]
    grace_s: float


def read(path: Path, variables: Mapping[str, str] = os.environ) -> tuple[Service, ...]:
    """Return the services of a compose file, each behind those that it waits for.

    `variables`: replace ``${NAME:-default}``.
    """
    text = _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2] or "", path.read_text(encoding="utf-8"))
    data = yaml.safe_load(text)
    services = {name: _service(name, given, data, path.parent) for name, given in data["services"].items()}
    ordered: list[Service] = []
    while services:
        free = [one for one in services.values() if not set(one.after) & set(services)]
        if not free:
            raise ComposeError(f"these services wait for each other: {', '.join(services)}")
        ordered += free
        for one in free:
            del services[one.name]
    return tuple(ordered)


def _service(name: str, given: Mapping[str, Any], data: Mapping[str, Any], folder: Path) -> Service:
    if unknown := set(given) - _KNOWN - _IMAGE_ALONE:
        raise ComposeError(f"{name}: no rule for {', '.join(sorted(unknown))} without an image")
    if not given.get("read_only") or "no-new-privileges:true" not in given.get("security_opt", ()):
        raise ComposeError(f"{name}: every service has a read-only file system and no-new-privileges")
    uid, gid = (int(part) for part in str(given["user"]).split(":"))
    mounts = {f"/run/secrets/{one}": folder / data["secrets"][one]["file"] for one in given.get("secrets", ())}
    volumes = {}
    for one in given.get("volumes", ()):
        source, target, *mode = one.split(":")
        if source in data.get("volumes", {}):
            volumes[target] = source
        elif mode == ["ro"]:
            mounts[target] = folder / source
        else:
            raise ComposeError(f"{name}: {one}: a file is mounted read only")
    published = tuple(_published(one) for one in given.get("ports", ()))
    check = given.get("healthcheck", {})
    return Service(
        name,
        tuple(map(str, given["command"])),
        {key: str(value) for key, value in given.get("environment", {}).items()},
        uid,
        gid,
        tuple(map(int, given.get("expose", ()))) + tuple(port for _, _, port in published),
        published,
        mounts,
        volumes,
        tuple(one.split(":")[0] for one in given.get("tmpfs", ())),
        tuple(check.get("test", ("CMD",))[1:]),
        _seconds(check.get("interval", "1s")),
        tuple(given.get("depends_on", ())),
        _seconds(given.get("stop_grace_period", "10s")),
    )


def _published(given: str) -> tuple[str, int, int]:
    """Return address, port of this machine and port of the service of ``127.0.0.1:8080:8080`` or ``8080:8080``."""
    *address, outside, inside = given.rsplit(":", 2)
    return (address[0] if address else "0.0.0.0", int(outside), int(inside))  # noqa: S104 - as compose reads it


def _seconds(given: str) -> float:
    if (found := re.fullmatch(r"(\d+)s", given)) is None:
        raise ComposeError(f"{given!r}: a time is written in seconds, such as 30s")
    return float(found[1])
