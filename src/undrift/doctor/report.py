"""The findings as text that a person can publish: versions, states, sizes and counts.

Law: it says only what is known to be ours. A word stays if undrift's own source says it in its findings or errors, a number if nothing
foreign stands beside it. All else is replaced: paths, names, addresses, texts of logs and values of settings.
"""

import ast
import inspect
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

from undrift.doctor.finding import Finding
from undrift.errors import UndriftError
from undrift.settings import SETTINGS, Settings, sources
from undrift.stores.look import sqlite_version

__all__ = ["report"]

_SPEAKERS = (
    *(f"undrift.doctor.{name}" for name in ("examine", "gateway", "hooks", "server", "service", "store")),
    *(f"undrift.stores.{name}" for name in ("connection", "faults", "integrity", "migrations", "newest")),
)
"""The modules whose sentences a finding can hold."""
_FOREIGN_BEHIND_COLON = frozenset({"hooks' log", "settings", "variable"})
"""Findings that quote a text of others behind their first colon."""
_WORD = re.compile(r"[a-z][a-z0-9]*(?:['-][a-z0-9]+)*")
_NUMBER = re.compile(
    r"[0-9]{1,3}(?:[0-9]{0,6}|(?:,[0-9]{3}){0,4})(?:\.[0-9]{1,3})?%?|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9:]{8}"
)
_AROUND = ".,;:!?()[]\"'`“”"
_LEFT_OUT = "…"
_PATH = "PATH"
_STATES = ("wrong", "note", "ok")


def report(
    findings: Sequence[Finding], *, overrides: Mapping[str, object], environ: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a report, worst findings first.

    `overrides`, `environ`: as for `examine`, by which the findings were made.
    """
    yield f"undrift {_version('undrift')}, {platform.python_implementation()} {platform.python_version()}, {_system()}"
    yield f"installed: {_installation()}; SQLite {sqlite_version()}"
    yield "packages: " + ", ".join(f"{name} {_version(name)}" for name in _packages())
    yield from _settings(overrides, environ)
    for state in _STATES:
        yield from (f"{state:5}  {_line(finding)}" for finding in findings if finding.state == state)


def _line(finding: Finding) -> str:
    text, quoted = finding.text, ""
    if finding.name in _FOREIGN_BEHIND_COLON:
        text, colon, _ = text.partition(":")
        quoted = f" {_LEFT_OUT}" if colon else ""
    if finding.home:
        text = text.replace(finding.home, _PATH)
    more = f" [{len(finding.details)} details]" if finding.details and finding.state != "ok" else ""
    return f"{_only_ours(finding.name)}: {_only_ours(text)}{quoted}{more}"


def _only_ours(text: str) -> str:
    """Return a text with our words alone. Numbers stay if all other words are ours."""
    shown = [_shown(token) for token in text.split()]
    if _LEFT_OUT in shown:
        shown = [_LEFT_OUT if any(letter.isdecimal() for letter in token) else token for token in shown]
    return " ".join(token for at, token in enumerate(shown) if token != _LEFT_OUT or shown[at - 1 : at] != [_LEFT_OUT])


def _shown(token: str) -> str:
    bare = token.strip(_AROUND)
    is_ours = set(bare.lower().split(".")) <= _ours()  # a file of ours has a dot in its name
    if not bare or bare in (_LEFT_OUT, _PATH) or is_ours or _NUMBER.fullmatch(bare):
        return token
    return _PATH if "/" in bare or "\\" in bare else _LEFT_OUT


@cache
def _ours() -> frozenset[str]:
    """Return the words of our findings and errors, and those of the system's own messages."""
    texts = [os.strerror(number) for number in range(1, 134)]
    for name in _SPEAKERS:
        try:
            tree = ast.parse(inspect.getsource(import_module(name)))
        except (OSError, SyntaxError):  # no source is installed: then nothing is known to be ours
            continue
        texts += [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return frozenset(word for text in texts for word in _WORD.findall(text.lower()))


def _settings(overrides: Mapping[str, object], environ: Mapping[str, str] | None) -> Iterator[str]:
    """Say which settings differ from their default; of a value with words, only that it is set."""
    try:
        found = Settings.from_environment(environ, **overrides)
        come_from = sources(environ) | dict.fromkeys(overrides, "--option")
    except UndriftError:
        yield "settings: cannot be read"
        return
    changed = [
        f"{one.name} = {_value(getattr(found, one.name))} ({_kind(come_from[one.name])})"
        for one in SETTINGS
        if come_from[one.name] != "default"
    ]
    yield f"settings that differ: {', '.join(changed) or 'none'}"


def _value(value: object) -> str:
    return str(value) if value is None or isinstance(value, bool | int | float) else "set"


def _kind(source: str) -> str:
    if source == "--option":
        return "option"
    return "variable" if re.fullmatch("[A-Z_]+", source) else "file"


def _system() -> str:
    libc = " ".join(platform.libc_ver()) if sys.platform == "linux" else ""
    release = platform.mac_ver()[0] if sys.platform == "darwin" else ""
    known = [platform.system(), release, platform.machine(), libc]
    return " ".join(part for part in known if re.fullmatch(r"[A-Za-z0-9_. ]+", part))


def _installation() -> str:
    """Name the way in which undrift was installed, by the files that the tools leave."""
    place = Path(sys.prefix)
    tools = {"pipx": "pipx_metadata.json", "uv tool": "uv-receipt.toml"}
    found = [name for name, file in tools.items() if (place / file).is_file()]
    if place.parent.name.startswith(("archive-v", "environments-v")):
        found.append("uvx")
    kind = ", ".join(found) or ("virtual environment" if sys.prefix != sys.base_prefix else "system")
    is_inside = any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))
    return f"{kind} in a container" if is_inside else kind


def _packages() -> Iterable[str]:
    """Return the packages that undrift names as its own requirements, if they are installed."""
    try:
        lines = metadata.requires("undrift") or []
    except metadata.PackageNotFoundError:
        return ()
    names = {found[0].lower() for line in lines if (found := re.match(r"[A-Za-z0-9_.-]+", line))}
    return sorted(name for name in names - {"undrift"} if _version(name))


def _version(name: str) -> str:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
    return found if re.fullmatch(r"[A-Za-z0-9.+!-]+", found) else _LEFT_OUT
