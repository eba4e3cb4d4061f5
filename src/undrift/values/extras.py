"""The command that adds an optional package to this installation. Pure except for a look at the installation."""

import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

__all__ = ["command_for", "install_command", "lasting_command", "upgrade_command"]

_BEFORE = re.compile(r"python_version < '(\d+)\.(\d+)'")
_PIPX, _UV_TOOL = "pipx_metadata.json", "uv-receipt.toml"
"""The file that each installer keeps in an environment of its own."""
_UV_CACHE = ("archive-v", "environments-v")
_PIPX_LASTING = "venvs"


def command_for(extra: str) -> str:
    """Return the command that installs an extra where this interpreter finds it; quoted, because shells read brackets.

    `extra`: as in pyproject.toml: ``proxy``, ``mcp``, ``vectors``, ``lancedb``, ``exact``.
    """
    if (lasting := lasting_command(extra)) is not None:
        return lasting
    packages = _packages(extra)
    return install_command(*packages) if packages and _is_tool() else _install(f"undrift[{extra}]")


def lasting_command(extra: str = "all") -> str | None:
    """Return the command that installs undrift for good. None means: this environment stays already.

    uvx and ``pipx run`` start a program in an environment that they delete some day, and each hook with it.
    `extra`: as for `command_for`; ``all`` is what every command needs.
    """
    place = Path(sys.prefix)
    if place.parent.name.startswith(_UV_CACHE):
        words = ["uv", "tool", "install"]
    elif (place / _PIPX).is_file() and place.parent.name != _PIPX_LASTING:
        words = ["pipx", "install"]
    else:
        return None
    return shlex.join([*words, f"undrift[{extra}]{_source()}"])


def install_command(*packages: str) -> str:
    """Return the command that adds packages where this interpreter finds them."""
    place = Path(sys.prefix)
    if (place / _PIPX).is_file():
        return shlex.join(["pipx", "inject", "undrift", *packages])
    if (place / _UV_TOOL).is_file():
        added = dict.fromkeys([*_added_before(place / _UV_TOOL), *packages])
        return shlex.join(["uv", "tool", "install", *(word for one in added for word in ("--with", one)), "undrift"])
    return _install(*packages)


def upgrade_command(package: str) -> str:
    """Return the command that upgrades a package where this interpreter finds it."""
    if (Path(sys.prefix) / _PIPX).is_file():
        return shlex.join(["pipx", "runpip", "undrift", "install", "--upgrade", package])
    return _install("--upgrade", package)


def _is_tool() -> bool:
    return (Path(sys.prefix) / _PIPX).is_file() or (Path(sys.prefix) / _UV_TOOL).is_file()


def _install(*words: str) -> str:
    if not sys.executable:
        return shlex.join(["pip", "install", *words])
    if find_spec("pip") is None:  # an environment that uv has made
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, *words])
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _source() -> str:
    """The place that this undrift was installed from, in a requirement; empty if it came from an index."""
    try:
        found = json.loads(Distribution.from_name("undrift").read_text("direct_url.json") or "{}")
        url, repository = str(found.get("url", "")), found.get("vcs_info")
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}" if url and repository else url
    except (PackageNotFoundError, ValueError, AttributeError, KeyError, TypeError):
        return ""
    return f" @ {url}" if url else ""


def _packages(extra: str) -> list[str]:
    """The requirements of an extra, as the installation itself records them; empty if it has no record."""
    try:
        found = requires("undrift") or []
    except PackageNotFoundError:
        return []
    marked = (line.replace('"', "'").partition(";") for line in found)
    return [package.strip() for package, _, mark in marked if f"extra == '{extra}'" in mark and _fits(mark)]


def _fits(mark: str) -> bool:
    """Tell whether this Python needs a package; the only bound in use is the first version that has no need."""
    bound = _BEFORE.search(mark)
    return bound is None or sys.version_info[:2] < (int(bound[1]), int(bound[2]))


def _added_before(receipt: Path) -> list[str]:
    """The packages that were added to a tool before: another installation of it names them again, or loses them."""
    try:
        rows = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        return [f"{row['name']}{row.get('specifier', '')}" for row in rows if row["name"] != "undrift"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
