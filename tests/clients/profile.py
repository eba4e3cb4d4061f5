"""The profile of each client, recorded again: ``python -m tests.clients.profile [--write] [NAME]...`` (``make profiles``).

It starts the real program against the scripted provider, takes names out of its requests, and prints what is not as it was
at the last recording (`profiles.json`) or not as `undrift.profiles` says. Only names are kept: tools, arguments, headers,
item types; never a text. ``--write`` records what was seen. Exit code 1 when a tool or an argument is not what the
profile says. No request leaves this machine. Not part of ``make test``.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.clients.matrix import Ran, Room, enter, is_inside
from tests.clients.programs import PROGRAMS, Program
from undrift.profiles import PROFILES
from undrift.testing import Say, Seen, Turn, Use
from undrift.wire.offered import announced_tools

__all__ = ["RECORDED", "differences", "main", "named_tools", "recorded", "unknown"]

RECORDED = Path(__file__).with_name("profiles.json")
Json = dict[str, Any]

_PROFILES = {
    "claude": "claude",
    "codex": "codex",
    "codex-code": "codex",
    "gemini": "gemini",
    "opencode-anthropic": "opencode",
    "opencode-openai": "opencode",
    "aider": "aider",
    "mini": "mini",
}
"""Program -> profile."""

_COMPACTIONS: Mapping[str, tuple[str, str]] = {
    "claude": ("-p", "/compact"),
    "codex": ("-c", "model_auto_compact_token_limit=2000"),
}
"""The words that make a client compact: in place of the task for Claude Code, before it for Codex."""

_ARGUMENTS = ("path", "command", "pattern", "patch", "old", "new", "code")
_OF_EVERY_CLIENT = re.compile(r"accept|connection|content-|host|user-agent|x-stainless|anthropic-version|transfer-enc")
_INNER = re.compile(r"^### `(\w+)`", re.MULTILINE)
_GIVEN = re.compile(r"^ {2}(\w+)\??: ", re.MULTILINE)


def main(words: Sequence[str]) -> int:
    """Record the clients of these names, or all six; print the differences; return 1 if the profiles are not right."""
    if not is_inside():
        enter([sys.executable, "-m", "tests.clients.profile", *words])
    known: Json = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    names = [word for word in words if word in _PROFILES] or list(_PROFILES)
    is_wrong = False
    for name in names:
        program = PROGRAMS[name]
        if not program.is_there():
            print(f"SKIPPED {name}: not installed in {program.executable}")
            continue
        found = recorded(name, program)
        wrong = unknown(name, found)
        changed = [*differences(known.get(name, {}), found)]
        is_wrong = is_wrong or bool(wrong)
        print(f"{name} {found['version']}: {len(found['tools'])} tools, {len(changed)} changes, {len(wrong)} unknown")
        print(*(f"  {line}" for line in (*changed, *wrong)), sep="\n", end="\n" if changed or wrong else "")
        known[name] = found
    if "--write" in words:
        RECORDED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return int(is_wrong)


def recorded(name: str, program: Program) -> Json:
    """Run a client and return the names in its requests."""
    ran = _ran(program)
    if announced := sorted({tool for seen in ran.asked for text in _texts(seen) for tool in announced_tools(text)}):
        load: list[Turn] = [
            Use("ToolSearch", {"query": f"select:{','.join(announced)}", "max_results": 100}),
            Say("Done."),
        ]
        ran = Ran(ran.status, ran.said, (*ran.seen, *_ran(replace(program, script=lambda _: load)).seen))
    main = [seen for seen in ran.asked if seen.kind == "main"]
    tools: Json = {}
    for seen in main:
        for tool, given, how in named_tools(seen.body):
            tools[tool] = {"arguments": sorted(given), "how": how}
    for tool in announced:
        tools.setdefault(tool, {"arguments": [], "how": "announced"})
    agents = {str(seen.headers.get("user-agent", "")).split("/")[0] for seen in main}
    headers = {one for seen in main for one in seen.headers if not _OF_EVERY_CLIENT.match(one)}
    return {
        "version": program.says(Path(tempfile.gettempdir())),
        "agent": sorted(agents),
        "headers": sorted(headers),
        "tools": tools,
        "compaction": _compaction(name, program),
    }


def unknown(name: str, found: Json) -> list[str]:
    """Return the tools that the profile does not know, and the arguments that the client does not have."""
    profile = PROFILES[_PROFILES[name]]
    tools = {tool.name: tool for tool in profile.tools}
    wrong = []
    for full, seen in sorted(found["tools"].items()):
        tool = tools.get(full) or tools.get(full.rpartition("__")[2])
        if tool is None:
            wrong.append(f"unknown to the profile: {full} ({', '.join(seen['arguments'])})")
            continue
        wanted = {getattr(tool, field) for field in _ARGUMENTS} - {""}
        if seen["arguments"] and (missing := sorted(wanted - {*seen["arguments"]})):
            wrong.append(f"{full} has no argument {', '.join(missing)}; it has {', '.join(seen['arguments'])}")
    if profile.agents and not any(agent.startswith(profile.agents) for agent in found["agent"]):
        wrong.append(f"user agents {found['agent']} do not begin with {profile.agents}")
    if profile.version != found["version"]:
        wrong.append(f"the profile is of {profile.version}, the program is {found['version']}")
    return wrong


def differences(before: Json, after: Json) -> Iterator[str]:
    """Yield each difference from the last recording."""
    for field in ("version", "agent", "headers", "compaction"):
        if before.get(field) != after[field]:
            yield f"{field}: {before.get(field)} -> {after[field]}"
    had, has = before.get("tools", {}), after["tools"]
    for tool in sorted({*had, *has}):
        if tool not in has:
            yield f"tool gone: {tool}"
        elif tool not in had:
            yield f"new tool: {tool} ({', '.join(has[tool]['arguments'])}), {has[tool]['how']}"
        elif had[tool] != has[tool]:
            yield f"tool changed: {tool}: {had[tool]} -> {has[tool]}"


def _ran(program: Program, steps: int = 2) -> Ran:
    folder = Path(tempfile.mkdtemp(prefix="undrift-profile-"))
    try:
        return Room(folder / "room", program, steps).direct()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compaction(name: str, program: Program) -> Json | None:
    """Return the shape of a compaction's request; None for a client that cannot be made to compact by its words."""
    if name not in _COMPACTIONS:
        return None
    words = _COMPACTIONS[name]
    if name == "claude":
        changed = replace(program, arguments=lambda _: (*words, "--continue", "--output-format", "json"))
        return _shape(_continued(program, changed))
    changed = replace(program, arguments=lambda project: ("exec", *words, *program.arguments(project)[1:]))
    return _shape(_ran(changed, 3))


def _continued(first: Program, second: Program) -> Ran:
    """Run a client twice in one home."""
    folder = Path(tempfile.mkdtemp(prefix="undrift-profile-"))
    try:
        room = Room(folder / "room", first, 2)
        room.direct()
        room.program = second
        return room.direct()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shape(ran: Ran) -> Json | None:
    found = next((seen for seen in ran.asked if seen.kind == "summary" or "compact" in json.dumps(_types(seen))), None)
    if found is None:
        return None
    return {"path": found.path.partition("?")[0], "tools": bool(found.body.get("tools")), "last": _types(found)[-1:]}


def _types(seen: Seen) -> list[str]:
    """The type and role of each item of a request."""
    items = seen.body.get("input") or seen.body.get("messages") or []
    return [f"{item.get('type', 'message')} {item.get('role', '')}".strip() for item in items if isinstance(item, dict)]


def _texts(seen: Seen) -> Iterator[str]:
    items = seen.body.get("messages") or seen.body.get("input") or []
    for item in items if isinstance(items, list) else []:
        content = item.get("content") if item.get("role") in ("user", "system", "developer") else None
        parts = [{"text": content}] if isinstance(content, str) else content or []
        yield from (part["text"] for part in parts if isinstance(part.get("text"), str))


def named_tools(body: Json) -> Iterator[tuple[str, Sequence[str], str]]:
    """Yield each tool of a request: its name, its arguments, and how the model sees it."""
    yield from _named(body.get("tools") or [], "", "listed")
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output"):
            yield from _named(item.get("tools") or [], "", "added by an item")


def _named(tools: Sequence[Json], group: str, how: str) -> Iterator[tuple[str, Sequence[str], str]]:
    for tool in tools:
        inside = tool.get("tools") or tool.get("functionDeclarations")
        if inside:
            yield from _named(inside, tool.get("name", ""), how)
            continue
        given = tool.get("function", tool)
        name = given.get("name") or given.get("type", "")
        schema = given.get("input_schema") or given.get("parametersJsonSchema") or given.get("parameters") or {}
        arguments = list(schema.get("properties", {})) or (["input"] if given.get("type") == "custom" else [])
        is_deferred = given.get("defer_loading") is True
        if not (is_deferred and name.endswith("Placeholder")):
            yield f"{group}__{name}" if group else name, arguments, "deferred" if is_deferred else how
        if given.get("type") == "custom":
            yield from _inner(given.get("description", ""))


def _inner(description: str) -> Iterator[tuple[str, Sequence[str], str]]:
    """Yield the tools inside a tool that runs code: each has a heading, and a declaration of its arguments."""
    parts = _INNER.split(description)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        declared = text.partition("(args: {")[2].partition("\n})")[0]
        yield name, sorted({*_GIVEN.findall(declared)}) or (["input"] if "(input: " in text else []), "inside code"


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main(sys.argv[1:]))
