"""A machine without a network but its own loopback: a namespace of Linux. An empty home is the caller's to give.

Law: nothing is mounted. A folder that is removed afterwards must hold no mount: removing it would empty what is mounted.
The packages that an index would give lie in a folder, so that each start takes them from there.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

__all__ = ["enter", "impossible", "packages_into"]

_NEW_NETWORK = 0x4000_0000
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


def packages_into(folder: Path, wheel: Path, python: str) -> None:
    """Put everything that the wheel with all extras, its source archive, uv and pipx may need into a folder."""
    words = [python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    wanted = [f"{wheel}[all]", "hatchling", "pip", "setuptools", "wheel"]
    subprocess.run([*words, "--prefer-binary", f"--dest={folder}", *wanted], check=True, stderr=subprocess.DEVNULL)
    shutil.copy(wheel, folder)
