"""Places for services without an image: network and mount namespaces of Linux, or plain loopback."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Protocol

from deploy.composed import Service

__all__ = ["Loopback", "Namespaces", "Place", "why_no_namespaces"]

_HERE = Path(__file__).parent
_NOBODY = (65_534, 65_534)
_OWN = re.compile(r"(?<![\d.])(?:0\.0\.0\.0|127\.0\.0\.1)(?![\d./])")  # no network, such as 127.0.0.0/8


class Place(Protocol):
    """Starts services; each has the ports and files that the compose file gives it.

    `shares_ports`: whether a service that listens on all addresses has the ports of this machine.
    """

    shares_ports: ClassVar[bool]

    def address(self, service: Service) -> str:
        """Return the address at which this machine reaches a service."""

    def fitted(self, service: Service) -> Service:
        """Return a service with the paths and addresses that it has in this place; its files are there."""

    def start(
        self, service: Service, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start the process of a service that was fitted."""

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
    shares_ports: ClassVar[bool] = False
    number: int = field(default_factory=lambda: _free_number())

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

    def fitted(self, service: Service) -> Service:
        return service

    def start(
        self, service: Service, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        root = self.work / f"root-{service.name}"
        root.mkdir(exist_ok=True)
        given = {
            "root": str(root),
            "seen": [str(one) for one in self.seen],
            "mounts": {target: str(source.resolve()) for target, source in service.mounts.items()},
            "volumes": {
                target: str(_volume(self.work, name, (service.uid, service.gid)))
                for target, name in service.volumes.items()
            },
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
    shares_ports: ClassVar[bool] = True

    def address(self, service: Service) -> str:
        places = [one.name for one in self.services]
        # macOS has 127.0.0.1 alone; there two gateways cannot have the same port.
        return f"127.83.0.{10 + places.index(service.name)}"

    def fitted(self, service: Service) -> Service:
        paths = self._paths(service)
        mounts = {str(paths[target]): source for target, source in service.mounts.items()}
        for copy, source in mounts.items():
            self._copy(service, source, Path(copy), paths)
        return replace(
            service,
            command=tuple(self._here(service, one, paths) for one in service.command),
            environment={name: self._here(service, value, paths) for name, value in service.environment.items()},
            healthcheck=tuple(self._here(service, one, paths) for one in service.healthcheck),
            mounts=mounts,
            tmpfs=tuple(str(paths[one]) for one in service.tmpfs),
        )

    def _copy(self, service: Service, source: Path, copy: Path, paths: Mapping[str, Path]) -> None:
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)
        copy.touch(mode=0o600)  # it may be a secret
        copy.write_text(self._here(service, source.read_text(encoding="utf-8"), paths), encoding="utf-8")
        _give(copy, _user(service))

    def _paths(self, service: Service) -> dict[str, Path]:
        """Return what the service's paths are here."""
        owner = _user(service)
        found = {target: self.work / service.name / target.strip("/") for target in service.mounts}
        found |= {target: _volume(self.work, name, owner) for target, name in service.volumes.items()}
        for target in service.tmpfs:
            found[target] = _volume(self.work, f"{service.name}{target.replace('/', '-')}", owner)
        return found

    def _here(self, service: Service, text: str, paths: Mapping[str, Path]) -> str:
        known = "|".join(re.escape(one) for one in sorted(paths, key=len, reverse=True)) or "(?!)"
        text = re.sub(rf"(?<![\w./-])(?:{known})(?![\w-])", lambda found: str(paths[found[0]]), text)
        for one in self.services:
            text = re.sub(rf"(?<![\w.-]){re.escape(one.name)}(?=:\d)", self.address(one), text)
        return _OWN.sub(self.address(service), text)

    def start(
        self, service: Service, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        drop: list[str] = []
        if os.getuid() == 0:
            uid, gid = _user(service)
            drop = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--"]
        return subprocess.Popen([*drop, *command], env=environment, start_new_session=True)

    def passes(self, service: Service, check: Sequence[str]) -> bool:  # noqa: ARG002 - all share this network
        return _succeeds(check)

    def close(self) -> None:
        pass


def _free_number() -> int:
    """Return a number below 250 that no other script uses, nor the remains of one that was killed."""
    start = os.getpid()
    numbers = (number % 250 for number in range(start, start + 250))
    return next(number for number in numbers if not Path(f"/sys/class/net/undrift{number}").exists())


def _user(service: Service) -> tuple[int, int]:
    """Return the user and the group of a service here. initdb wants a user with a name, so 65534 replaces an unknown one."""
    try:
        pwd.getpwuid(service.uid)
    except KeyError:
        return _NOBODY
    return service.uid, service.gid


def _volume(work: Path, name: str, owner: tuple[int, int]) -> Path:
    folder = work / f"volume-{name}"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        _give(folder, owner)
    return folder


def _give(path: Path, owner: tuple[int, int]) -> None:
    if os.getuid() == 0:
        os.chown(path, *owner)


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)
