"""Fail where a build's list of parts is not what the lock installs: ``python -m tests.house.built_parts FILE``."""

import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["main", "problems"]

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r'^([a-z0-9._-]+)==([^\s;]+)(?: ; python_version < "([0-9.]+)")?', re.MULTILINE)


def problems(parts: dict[str, Any], lock: str) -> list[str]:
    """Return the differences between a list of parts (CycloneDX) and a lock file."""
    listed = {_normal(one["name"]): one.get("version", "") for one in parts.get("components", [])}
    listed.pop("undrift", None)
    version = sys.version_info[:2]
    wanted = {
        _normal(name): pinned
        for name, pinned, below in _PIN.findall(lock)
        if not below or version < tuple(map(int, below.split(".")))
    }
    wrong = [f"{name} {wanted[name]}: is not listed" for name in sorted(wanted.keys() - listed.keys())]
    wrong += [
        f"{name} {listed[name]}: is listed, and is not in the lock" for name in sorted(listed.keys() - wanted.keys())
    ]
    return wrong + [
        f"{name}: {listed[name]} is listed, and {wanted[name]} is locked"
        for name in sorted(wanted.keys() & listed.keys())
        if wanted[name] != listed[name]
    ]


def _normal(name: str) -> str:
    """Return a package's name in the one form that its spellings share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: list[str]) -> int:
    """Compare the list of parts that the arguments name with the lock of an installation; return the exit code."""
    parts = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    found = problems(parts, (ROOT / "requirements" / "base.txt").read_text(encoding="utf-8"))
    print(*(found or [f"{arguments[0]}: {len(parts['components'])} parts, each as locked"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
