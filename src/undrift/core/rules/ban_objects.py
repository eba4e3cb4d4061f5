"""Reads what a rule's sentence names: files, commands, options, branches, tools, servers, well-known things. Pure, bounded."""

import re
from dataclasses import replace

from undrift.core.rules.ban_branches import branch_at
from undrift.core.rules.ban_commands import bare_command, command_target, commands_in, flags_at, statement_at, words_at
from undrift.core.rules.ban_concepts import CONCEPTS
from undrift.core.rules.ban_places import FOLDERS, path_at, place_at, project_at
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_words import SERVICES, STOPS, verb_of, words_in
from undrift.core.rules.targets import CommandTarget, PathTarget, ToolTarget, WordTarget
from undrift.profiles import tools_named

__all__ = ["named_at"]

_HOST = re.compile(r"(?:[a-z0-9]+[.-])+[a-z0-9]+|\d{1,3}(?:\.\d{1,3}){3}|localhost|prod|production|staging", re.ASCII)
_SURE_HOST = re.compile(
    r"\A[\d.]+\Z|\.(?:internal|local|com|org|net|io)\Z|\Aprod(?:uction)?(?:-\w+)?\Z|-prod\Z", re.ASCII
)
_HOSTED = words_in("connect run change touch fetch deploy read")
_HOST_NOUNS = frozenset({"db", "database", "server", "host", "cluster", "servers"})
_BEFORE_TOOL = words_in("never not use or and with via using no avoid than of")
_RESTARTS = (
    "systemctl restart {}", "systemctl stop {}", "service {} restart", "service {} stop", "docker restart {}", "docker stop {}",
    "docker compose restart {}", "pm2 restart {}", "pkill {}", "killall {}",
)  # fmt: skip


def named_at(spot: Spot) -> NamedThing | None:
    """Return the thing that is named at a place, if one is."""
    if spot.token.kind == "code":
        return _code(spot)
    if spot.token.kind != "word":
        return None
    if spot.follower in ("mcp", "mcps") and (found := _tool(spot)):
        return found
    return (
        flags_at(spot)
        or statement_at(spot)
        or words_at(spot)
        or branch_at(spot)
        or bare_command(spot)
        or project_at(spot)
        or place_at(spot)
        or _host(spot)
        or path_at(spot)
        or _concept(spot.ahead)
        or _tool(spot)
        or _service(spot)
    )


def _code(spot: Spot) -> NamedThing | None:
    text = spot.raw
    if len(text.split()) == 1 and (found := _code_word(spot)):
        return found
    if found := _concept(text.lower() + " "):
        return replace(found, length=1)
    targets = commands_in(text)
    return NamedThing("command", targets, 1) if targets else None


def _code_word(spot: Spot) -> NamedThing | None:
    """Read a single word of code."""
    text = spot.raw
    if found := flags_at(spot) or branch_at(spot):
        return found
    is_script = spot.verb in ("run", "") and (text.endswith((".sh", ".bash")) or text.startswith("./"))
    if not is_script and (found := path_at(spot) or place_at(Spot((spot.token,), 0, spot.verb))):
        return found
    if found := _host(spot) or _tool(spot):
        return found
    is_name = spot.verb == "touch" and re.fullmatch(r"[\w-]+", text)
    return NamedThing("path", (PathTarget(text),), 1) if spot.follower in FOLDERS or is_name else None


def _host(spot: Spot) -> NamedThing | None:
    text = spot.text.rstrip("/")
    if spot.verb not in _HOSTED or len(text) > 100 or not _HOST.fullmatch(text) or text in STOPS:
        return None
    is_common = text in ("prod", "production", "staging", "localhost")
    if is_common and spot.verb not in ("connect", "run", "touch", "deploy"):
        return None
    if spot.verb != "connect" and not _SURE_HOST.search(text):
        return None
    names = ("prod", "production") if text in ("prod", "production") else (text,)
    return NamedThing("host", tuple(WordTarget(name) for name in names), 1 + (spot.follower in _HOST_NOUNS))


def _concept(ahead: str) -> NamedThing | None:
    for words, kind, commands in CONCEPTS:
        if (found := words.match(ahead)) and (text := found[0].strip()):
            targets = tuple(command_target(command.split()) for command in commands)
            return NamedThing(kind, targets, text.count(" ") + 1)
    return None


def _service(spot: Spot) -> NamedThing | None:
    return NamedThing("service", (ToolTarget(spot.text, is_server=True),), 1) if spot.text in SERVICES else None


def _tool(spot: Spot) -> NamedThing | None:
    """Read the name of a tool, of any client, or of a server behind ``mcp``; and what is restarted."""
    raw, text = spot.raw, spot.raw.lower()
    is_tool = spot.follower in ("tool", "tools")
    if raw.startswith("mcp__"):
        return NamedThing("tool", (ToolTarget(text),), 1)
    if (is_tool or re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", raw)) and tools_named(raw):
        return NamedThing("tool", (ToolTarget(text),), 1 + is_tool)
    is_meant = spot.verb in ("", "run") and spot.before in _BEFORE_TOOL
    if is_meant and re.fullmatch(r"[A-Z][a-z]{2,}", raw) and any(tool.name == raw for tool in tools_named(raw)):
        return NamedThing("tool", (ToolTarget(text),), 1)
    if spot.verb == "kill" and verb_of(spot.before) == "kill" and re.fullmatch(r"[a-z][\w.-]{2,40}", raw):
        commands = tuple(CommandTarget(tuple(one.format(raw).split())) for one in _RESTARTS)
        return NamedThing("process", commands, 1) if raw not in STOPS else None
    is_server = spot.follower in ("mcp", "mcps") or spot.before == "mcp" or (is_tool and raw[:1].isupper())
    is_name = (
        re.fullmatch(r"[a-z][\w-]{1,40}", text) and text not in STOPS and text not in ("server", "servers", "tools")
    )
    return NamedThing("tool", (ToolTarget(text),), 2) if is_server and is_name else None
