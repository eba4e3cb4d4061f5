"""One service behind a file system of its own: ``python inside.py SPECIFICATION`` in a new mount namespace, as root.

The specification is a JSON object: ``root``, an empty folder; ``seen``, folders of this machine; ``mounts``, ``volumes``
and ``tmpfs`` of the service, ``hosts``, ``uid``, ``gid``, ``command`` and ``environment``. Everything but the volumes and
the folders in memory is read only. The process has no right of root's and no way to get one.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

_PROGRAMS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "opt")
_OF_ETC = (
    "passwd",
    "group",
    "nsswitch.conf",
    "resolv.conf",
    "localtime",
    "ld.so.cache",
    "ld.so.conf",
    "ssl/certs",
    "ssl/openssl.cnf",
)
_DEVICES = ("null", "zero", "full", "random", "urandom")


def main(specification: str) -> None:
    """Make the file system and become the service's process."""
    given = json.loads(specification)
    root = Path(given["root"])
    _fill(root, given)
    os.chroot(root)
    os.chdir("/")
    drop = [f"--reuid={given['uid']}", f"--regid={given['gid']}", "--clear-groups", "--no-new-privs"]
    drop += ["--inh-caps=-all", "--bounding-set=-all"]
    os.execve("/usr/bin/setpriv", ["setpriv", *drop, "--", *given["command"]], given["environment"])  # noqa: S606


def _fill(root: Path, given: dict[str, Any]) -> None:
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root)
    for name in ("proc", "dev/shm", "etc", "run", "tmp", "var"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for folder in given["tmpfs"]:
        _mount("-t", "tmpfs", "-o", "mode=1777,size=64m", "tmpfs", _folder(root, folder))
    for name in _PROGRAMS:
        source = Path("/", name)
        if source.is_symlink():
            (root / name).symlink_to(source.readlink())
        elif source.is_dir():
            _bind(source, _folder(root, source))
    for folder in sorted(given["seen"]):
        target = root / folder.lstrip("/")
        if not target.exists():
            _bind(Path(folder), _folder(root, folder))
    _mount("--rbind", "/proc", root / "proc")
    _mount("-t", "tmpfs", "-o", "mode=1777,size=256m", "tmpfs", root / "dev/shm")
    for name in _DEVICES:
        _bind(Path("/dev", name), _file(root, f"dev/{name}"), "bind")
    _copy_etc(root)
    with (root / "etc/passwd").open("a", encoding="utf-8") as users:
        users.write(f"service:x:{given['uid']}:{given['gid']}::/tmp:/sbin/nologin\n")
    _bind(Path(given["hosts"]), _file(root, "etc/hosts"))
    for target, source in given["mounts"].items():
        _bind(Path(source), _file(root, target))
    for target, source in given["volumes"].items():
        _bind(Path(source), _folder(root, target), "bind")
    _mount("-o", "remount,ro,mode=755", root)


def _copy_etc(root: Path) -> None:
    for name in _OF_ETC:
        source, target = Path("/etc", name), root / "etc" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.exists():
            shutil.copy(source, target)


def _folder(root: Path, path: str | Path) -> Path:
    target = root / str(path).lstrip("/")
    target.mkdir(parents=True, exist_ok=True)
    return target


def _file(root: Path, path: str) -> Path:
    target = _folder(root, Path(path).parent) / Path(path).name
    target.touch()
    return target


def _bind(source: Path, target: Path, options: str = "bind,ro") -> None:
    _mount("-o", options, source, target)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["/usr/bin/mount", *arguments], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
