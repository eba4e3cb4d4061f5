"""The gateway as a service of its user: its files written, started and removed. Law: the one place that calls systemd and launchd."""

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from undrift.clients import place
from undrift.errors import SettingsError
from undrift.proxy.units import LABEL, SOCKET, UNIT, launchd_files, quoted, systemd_files
from undrift.settings import environment

__all__ = ["Manager", "check_port", "is_listened_on", "manager"]

_ASK_S = 60


@dataclass(frozen=True, slots=True)
class Manager:
    """The service manager: systemd or launchd. `folder`: where it looks for files."""

    name: str
    folder: Path

    def files(self, words: Sequence[str], port: int) -> Mapping[Path, str]:
        """Return the files of the service."""
        made = systemd_files(words, port) if self.name == "systemd" else launchd_files(words, port)
        return {self.folder / name: text for name, text in made.items()}

    def install(self, words: Sequence[str], port: int) -> None:
        """Write the files, and let the port be listened on, now and after each login.

        Raises SettingsError: the service manager refuses; what was there before is there again.
        """
        files = self.files(words, port)
        former = {path: text for path in files if (text := place.read(path)) is not None}
        if former and self.name == "launchd":  # it keeps what it has loaded, and takes no second one of the name
            _call("launchctl", "bootout", f"{_domain()}/{LABEL}", must=False)
        try:
            self._put(files)
        except SettingsError:
            self.remove()
            if former:
                self._put(former, must=False)
            raise

    def _put(self, files: Mapping[Path, str], *, must: bool = True) -> None:
        for path, text in files.items():
            place.write(path, text)
        if self.name == "systemd":
            _call("systemctl", "--user", "daemon-reload", must=must)
            _call("systemctl", "--user", "enable", "--now", SOCKET, must=must)
        else:
            _call("launchctl", "bootstrap", _domain(), str(self.folder / f"{LABEL}.plist"), must=must)

    def start(self) -> None:
        """Let the port of an installed service be listened on, if it is not."""
        if self.name == "systemd":
            _call("systemctl", "--user", "start", SOCKET, must=False)

    def is_installed(self, words: Sequence[str], port: int) -> bool:
        """Tell whether exactly these files are there."""
        return all(place.read(path) == text for path, text in self.files(words, port).items())

    def check_home(self, home: Path) -> None:
        """Raise SettingsError if the service that is there serves another home."""
        word = f"--home={home}"
        ours = (quoted(word), f"<string>{escape(word)}</string>")
        for path in self.files((), 1):
            text = place.read(path) or ""
            if "--home=" in text and not any(one in text for one in ours):
                raise SettingsError(f"{path}: is the gateway of another home; uninstall its clients first")

    def restart(self) -> None:
        """Restart the gateway if it runs, so that it reads its upstreams again."""
        if self.name == "systemd":
            _call("systemctl", "--user", "--no-block", "try-restart", UNIT, must=False)
        else:
            _call("launchctl", "kickstart", "-k", f"{_domain()}/{LABEL}", must=False)

    @property
    def restart_line(self) -> str:
        """The command line that restarts the gateway by hand."""
        if self.name == "systemd":
            return f"systemctl --user restart {UNIT}"
        return f"launchctl kickstart -k {_domain()}/{LABEL}"

    def remove(self, *, made_folders: int = 0) -> None:
        """Stop the service, and remove its files. `made_folders`: as many folders go too, from the inner one outwards, if they are empty."""
        if self.name == "systemd":
            _call("systemctl", "--user", "disable", "--now", SOCKET, must=False)
            _call("systemctl", "--user", "--no-block", "stop", UNIT, must=False)
        else:
            _call("launchctl", "bootout", f"{_domain()}/{LABEL}", must=False)
        for path in self.files((), 1):
            place.remove(path, folders=made_folders)
        if self.name == "systemd":
            _call("systemctl", "--user", "daemon-reload", must=False)


def _domain() -> str:
    """Return the name by which launchd knows this user's services; Windows has none."""
    if sys.platform == "win32":
        return ""
    return f"gui/{os.getuid()}"


def manager() -> Manager | None:
    """Return the service manager of this user. None means: neither systemd nor launchd serves this user."""
    if sys.platform == "darwin":
        return Manager("launchd", Path.home() / "Library" / "LaunchAgents") if shutil.which("launchctl") else None
    if shutil.which("systemctl") is None or not _answers("systemctl", "--user", "show-environment"):
        return None
    given = environment().get("XDG_CONFIG_HOME", "")
    base = Path(given) if given and Path(given).is_absolute() else Path.home() / ".config"
    return Manager("systemd", base / "systemd" / "user")


def is_listened_on(port: int) -> bool:
    """Tell whether a program listens on a port already; it is not connected to."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def check_port(port: int) -> None:
    """Raise SettingsError if a program listens on a port already: the clients' keys would go to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            raise SettingsError(
                f"127.0.0.1:{port} cannot be had ({error.strerror}): end the program that listens there, "
                "or choose another port with --port N"
            ) from error


def _answers(*words: str) -> bool:
    try:
        return _run(words).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _call(*words: str, must: bool = True) -> None:
    """Run a command of the service manager. Raises SettingsError: it must succeed, and fails."""
    try:
        done = _run(words)
        wrong = (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        wrong = str(error)
    if wrong and must:
        raise SettingsError(f"{' '.join(words)}: {wrong[:300]}; nothing was changed")


def _run(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - a fixed command of the system
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_S, check=False, errors="replace"
    )
