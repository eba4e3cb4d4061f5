"""Where services run without an image: network and mount namespaces of Linux, or plain loopback."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from deploy.composed import Service

__all__ = ["Loopback", "Namespaces", "Place", "why_no_namespaces"]

_HERE = Path(__file__).parent
_NOBODY = (65_534, 65_534)
_ANY, _SELF = "0.0.0.0", "127.0.0.1"  # noqa: S104


class Place(Protocol):
    """Starts services; each has the ports and files that the compose file gives it."""

    def address(self, service: Service) -> str:
        """Return the address at which this machine reaches a service."""

    def start(self, service: Service, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a service's process."""

    def passes(self, service: Service, check: Sequence[str]) -> bool:
        """Return whether a service's health check succeeds."""

    def close(self) -> None:
        """Remove everything but the volumes."""


def why_no_namespaces() -> str:
    """Return why services cannot have namespaces here; empty: they can."""
    if not sys.platform.startswith("linux"):
        return "namespaces are Linux's"
    if os.getuid():
        return "namespaces with several users need root"
    if missing := [name for name in ("ip", "unshare", "mount", "setpriv") if shutil.which(name) is None]:
        return f"namespaces need the programs {', '.join(missing)}"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


@dataclass
class Namespaces:
    """One network namespace for each service, on one bridge; a mount namespace with a read-only root.

    There is no way out to the internet: a gateway reaches this machine alone.

    Args:
        work: A folder for roots and volumes.
        services: All of them; the order gives the addresses.
        seen: Folders of this machine that hold the programs.
    """

    work: Path
    services: Sequence[Service]
    seen: Sequence[Path]
    number: int = field(default_factory=lambda: os.getpid() % 250)

    def __post_init__(self) -> None:
        self._bridge = f"undrift{self.number}"
        self._names = {one.name: f"{self._bridge}-{one.name}" for one in self.services}
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{self._address(1)}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        lines = ["127.0.0.1 localhost"]
        for place, service in enumerate(self.services):
            outer, name, address = f"ud{self.number}p{place}", self._names[service.name], self.address(service)
            _ip("netns", "add", name)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", outer, "master", self._bridge, "up")
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
            _ip("-n", name, "route", "add", "default", "via", self._address(1))
            lines.append(f"{address} {service.name}")
        self._hosts = self.work / "hosts"
        self._hosts.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _address(self, last: int) -> str:
        return f"10.83.{self.number}.{last}"

    def address(self, service: Service) -> str:
        return self._address(10 + [one.name for one in self.services].index(service.name))

    def start(self, service: Service, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        root = self.work / f"root-{service.name}"
        root.mkdir(exist_ok=True)
        given = {
            "root": str(root),
            "seen": [str(one) for one in self.seen],
            "mounts": {target: str(source.resolve()) for target, source in service.mounts.items()},
            "volumes": {target: str(_volume(self.work, name, (service.uid, service.gid))) for target, name in service.volumes.items()},
            "tmpfs": service.tmpfs,
            "hosts": str(self._hosts),
            "uid": service.uid,
            "gid": service.gid,
            "command": list(command),
            "environment": dict(environment),
        }
        inside = ["unshare", "--mount", sys.executable, str(_HERE / "inside.py"), json.dumps(given)]
        return subprocess.Popen(["ip", "netns", "exec", self._names[service.name], *inside], start_new_session=True)

    def passes(self, service: Service, check: Sequence[str]) -> bool:
        return _succeeds(["ip", "netns", "exec", self._names[service.name], *check])

    def close(self) -> None:
        for name in self._names.values():
            _ip("netns", "del", name, check=False)
        _ip("link", "del", self._bridge, check=False)


@dataclass
class Loopback:
    """One address of the loopback network for each service, which keeps its ports. Its files are copies with that address.

    Args:
        work: A folder for copies and volumes.
        services: All of them; the order gives the addresses.
    """

    work: Path
    services: Sequence[Service]

    def address(self, service: Service) -> str:
        places = [one.name for one in self.services]
        # macOS has 127.0.0.1 alone; there two gateways cannot have the same port.
        return f"127.83.0.{10 + places.index(service.name)}"

    def start(self, service: Service, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        paths = self._paths(service)
        for target, copy in paths.items():
            if (source := service.mounts.get(target)) is not None:
                copy.write_text(self._here(service, source.read_text(encoding="utf-8"), paths), encoding="utf-8")
        command = [self._here(service, one, paths) for one in command]
        environment = {name: self._here(service, value, paths) for name, value in environment.items()}
        uid, gid = _user(service)
        drop = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--"]
        return subprocess.Popen(
            [*(["setpriv", *drop] if os.getuid() == 0 else []), *command], env=environment, start_new_session=True
        )

    def _paths(self, service: Service) -> dict[str, Path]:
        """Return what the service's paths are here."""
        folder = self.work / service.name
        folder.mkdir(exist_ok=True)
        found = {target: folder / target.strip("/").replace("/", "-") for target in service.mounts}
        owner = _user(service)
        found |= {target: _volume(self.work, name, owner) for target, name in service.volumes.items()}
        for target in service.tmpfs:
            found[target] = _volume(self.work, f"{service.name}{target.replace('/', '-')}", owner)
        return found

    def _here(self, service: Service, text: str, paths: Mapping[str, Path]) -> str:
        for target in sorted(paths, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-]){re.escape(target)}(?![\w-])", str(paths[target]), text)
        for one in self.services:
            text = re.sub(rf"(?<![\w.-]){re.escape(one.name)}(?=:\d)", self.address(one), text)
        own = self.address(service)
        return re.sub(r"(?<!\S):(?=\d)", f"{own}:", text.replace(_ANY, own).replace(_SELF, own))

    def passes(self, service: Service, check: Sequence[str]) -> bool:
        return _succeeds([self._here(service, one, {}) for one in check])

    def close(self) -> None:
        pass


def _user(service: Service) -> tuple[int, int]:
    """Return the user and the group of a service here; nobody's if the machine has no such user, as initdb wants a name."""
    try:
        pwd.getpwuid(service.uid)
    except KeyError:
        return _NOBODY
    return service.uid, service.gid


def _volume(work: Path, name: str, owner: tuple[int, int]) -> Path:
    folder = work / f"volume-{name}"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        if os.getuid() == 0:
            os.chown(folder, *owner)
    return folder


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)
