"""A gateway in a process of its own, for faults that are real: ``python -m tests.proxy.served HOME URL MORE``.

MORE is a JSON object: ``settings`` and ``config``. It prints its address and serves until its stdin ends.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from undrift import Settings
from undrift.proxy import GatewayConfig, Server, upstream_of
from undrift.values.provider import PROVIDERS


@dataclass(frozen=True)
class Served:
    """Where it listens, its process, and its home as this process sees it."""

    url: str
    pid: int
    home: Path


@contextmanager
def served(
    home: Path, url: str, *, disk: str = "", descriptors: int = 0, config: dict[str, Any] | None = None, **settings: Any
) -> Iterator[Served]:
    """Start one.

    Args:
        home: Of its store.
        url: Of the upstream.
        disk: How large the disk is on which the home lies, as ``4m``; empty for the usual one. Nobody else sees that disk.
        descriptors: The most that it may have.
        config: Of `GatewayConfig`.
        settings: Of `Settings`.
    """
    home.mkdir(exist_ok=True)
    more = json.dumps({"settings": settings, "config": config or {}})
    command = [sys.executable, "-m", "tests.proxy.served", str(home), url, more]
    if disk:
        script = f'mount -t tmpfs -o size={disk},mode=700 tmpfs "$0" && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", script, str(home), *command]
    limits = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=limits, cwd=Path.cwd()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "it did not start"
            seen = Path("/proc", str(process.pid), "root", home.relative_to("/")) if disk else home
            yield Served(address, process.pid, seen)
        finally:
            process.stdin.close()
            process.wait(60)


def has_small_disks() -> bool:
    """Tell whether a disk of a given size can be had here without being its administrator."""
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


needs_small_disks = pytest.mark.skipif(not has_small_disks(), reason="no user namespaces here")


def main(home: str, url: str, more: str) -> None:
    """Serve."""
    given = json.loads(more)
    settings = Settings(**{"home": home, "token_counter": "characters/4", **given["settings"]})
    upstreams = {provider: upstream_of(url) for provider in PROVIDERS}
    with Server(GatewayConfig(settings=settings, upstreams=upstreams, **{"port": 0, **given["config"]})) as server:
        print(server.url, flush=True)
        os.read(0, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
