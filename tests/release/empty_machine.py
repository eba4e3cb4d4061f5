"""A machine without a network but its own loopback: a namespace of Linux. An empty home is the caller's to give.

Law: nothing is mounted. A folder that is removed must lie in a scratch folder of ours and hold no mount and no link out of it:
removing it would empty what is mounted.
The packages that an index would give lie in a folder, so that each start takes them from there.
"""

import ctypes
import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["discard", "enter", "impossible", "packages_into"]

_NEW_NETWORK = 0x4000_0000
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How a space in the name of a mounted folder is listed."""
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def impossible() -> str:
    """Return why there can be no such machine here; empty if there can."""
    if sys.platform != "linux":
        return "needs the namespaces of Linux"
    return "" if os.geteuid() == 0 else "needs root, for the namespaces"


def enter() -> None:
    """Move this process, for good, to where the only network is its own loopback. Raises OSError: the system refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        (flags,) = struct.unpack_from("H", fcntl.ioctl(asked, _GET_FLAGS, struct.pack("16sH14x", b"lo", 0)), 16)
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def discard(folder: Path, scratch: Path) -> None:
    """Remove a folder of a scratch folder that `tempfile` made.

    Raises RuntimeError: it lies elsewhere, is a link, or something is mounted in it; then nothing is removed.
    """
    above = Path(tempfile.gettempdir()).resolve()
    real = folder.resolve()
    if folder.is_symlink() or not real.is_relative_to(scratch.resolve()) or above not in scratch.resolve().parents:
        raise RuntimeError(f"{folder}: not in a scratch folder of ours, it stays")
    for place, _, _ in os.walk(real):  # links are not followed
        if os.path.ismount(place) or Path(place).stat().st_dev != real.parent.stat().st_dev:
            raise RuntimeError(f"{place}: something is mounted there, {folder} stays")
    mounts = Path("/proc/self/mountinfo")
    listed = mounts.read_text(encoding="utf-8", errors="replace").splitlines() if mounts.exists() else []
    places = [_OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split()[4]) for line in listed]
    if any(Path(place).is_relative_to(real) for place in places):  # a folder of the same disk, bound
        raise RuntimeError(f"{folder}: something is mounted in it, it stays")
    shutil.rmtree(real)


def packages_into(folder: Path, wheel: Path, python: str) -> None:
    """Put everything that the wheel with all extras, its source archive, uv and pipx may need into a folder."""
    words = [python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    wanted = [f"{wheel}[all]", "hatchling", "pip", "setuptools", "wheel"]
    subprocess.run([*words, "--prefer-binary", f"--dest={folder}", *wanted], check=True, stderr=subprocess.DEVNULL)
    shutil.copy(wheel, folder)
