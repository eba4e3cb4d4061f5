"""Recall by the agent: whether the agent can recall originals, and which ones it has recalled. Pure.

Law: a command is named only if the agent can run it. Recalled texts stay for a while, or they would leave again before
the agent has used them.
"""

import re
from collections.abc import Collection, Hashable, Sequence

from undrift.core.agent_rules import TASK_TOOL_NAME
from undrift.core.window.thinking import key_of
from undrift.values.window import ContextEntry

__all__ = ["STAYS_ANSWERS", "called_back", "calls_back", "offers_recall", "way_back"]

STAYS_ANSWERS = 8
"""A recalled text stays for so many answers of the model: longer than the last N results by default."""

_TOOL = re.compile(r"(?:.{0,64}undrift.{0,64}?[_.:/-])?recall", re.IGNORECASE | re.DOTALL)
_SERVER = re.compile(r"mcp_{1,2}undrift", re.IGNORECASE)
"""The name of our server where a client announces the group instead of its tools."""
_COMMAND = re.compile(r"undrift recall |undrift[_.]{1,2}recall\(")
"""In a shell, and in code that calls tools."""
_PLAIN = re.compile(r"[\w.:/-]{1,200}", re.ASCII)
_LOOKED_AT_CHARACTERS = 4_000


def offers_recall(names: Collection[str]) -> bool:
    """Return whether a request offers our recall tool.

    Clients put the server's name in front, as in ``mcp__undrift__recall``. Without that prefix, our second tool must be
    offered too.
    """
    return bool(_recall_tools(names))


def way_back(names: Collection[str], *, has_command: bool) -> str:
    """Return the words that tell the agent how to get a text back; empty if it cannot.

    `names`: the tools of the request. `has_command`: whether the agent has a shell that can run ``undrift recall``.
    """
    if has_command:
        return '"undrift recall ID" prints one, "undrift recall --find WORDS" finds others'
    tools = _recall_tools(names)
    if not tools:
        return ""
    tool = max(tools, key=lambda name: (_SERVER.fullmatch(name) is None, name))
    if _SERVER.fullmatch(tool):
        return f"The tool recall of {tool} gives one back by its ref"
    search = f"{tool[: -len('recall')]}search"
    others = f", {search} finds others" if search in names else ""
    return f"The tool {tool} gives one back by its ref{others}"


def _recall_tools(names: Collection[str]) -> list[str]:
    """Return the tools that recall, and our server if it is announced as a group; a name that is not plain is none."""
    has_second = TASK_TOOL_NAME in names
    plain = [name for name in names if _PLAIN.fullmatch(name)]
    return [
        name
        for name in plain
        if _SERVER.fullmatch(name) or (_TOOL.fullmatch(name) and (has_second or len(name) > len("recall")))
    ]


def called_back(entries: Sequence[ContextEntry]) -> set[Hashable]:
    """Return the keys (`core.thinking.key_of`) of texts that the agent recalled in its last `STAYS_ANSWERS` answers.

    `entries`: the whole history, in order; a window lacks answers, and recalled texts would stay in it for ever.
    """
    found: set[Hashable] = set()
    answers, was_answer = 0, False
    for entry in reversed(entries):
        meta = entry.metadata or {}
        is_answer = meta.get("role") == "assistant"
        answers += is_answer and not was_answer  # an answer may stand in several messages
        was_answer = is_answer
        if answers > STAYS_ANSWERS:
            break
        if is_answer and meta.get("kind") == "call" and calls_back(meta.get("tool_name") or "", entry.content):
            found.add(key_of(entry))
    return found


def calls_back(tool_name: str, arguments: str) -> bool:
    """Return whether a call recalls a text: our tool, or the command in a shell."""
    is_command = _COMMAND.search(arguments[:_LOOKED_AT_CHARACTERS]) is not None
    return is_command or _TOOL.fullmatch(tool_name) is not None
