"""Recall by the agent: whether the agent can recall originals, and which ones it has recalled. Pure.

Law: a command is named only if the agent can run it. Recalled texts stay for a while, or they would leave again before
the agent has used them.
"""

import re
from collections.abc import Collection, Hashable, Sequence

from undrift.core.agent_rules import TASK_TOOL_NAME
from undrift.core.window.thinking import key_of
from undrift.values.window import ContextEntry

__all__ = ["STAYS_ANSWERS", "called_back", "offers_recall"]

STAYS_ANSWERS = 8
"""A recalled text stays for so many answers of the model: longer than the last N results by default."""

_TOOL = re.compile(r"(?:.{0,64}undrift.{0,64}?[_.:/-])?recall", re.IGNORECASE | re.DOTALL)
_SERVER = re.compile(r"mcp_{1,2}undrift", re.IGNORECASE)
"""The name of our server where a client announces the group instead of its tools."""
_COMMAND = re.compile(r"undrift recall |undrift[_.]{1,2}recall\(")
"""In a shell, and in code that calls tools."""
_LOOKED_AT_CHARACTERS = 4_000


def offers_recall(names: Collection[str]) -> bool:
    """Return whether a request offers our recall tool.

    Clients put the server's name in front, as in ``mcp__undrift__recall``. Without that prefix, our second tool must be
    offered too.
    """
    has_second = TASK_TOOL_NAME in names
    return any(
        _SERVER.fullmatch(name) or (_TOOL.fullmatch(name) and (has_second or len(name) > len("recall")))
        for name in names
    )


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
        if is_answer and meta.get("kind") == "call" and _calls_back(meta.get("tool_name") or "", entry.content):
            found.add(key_of(entry))
    return found


def _calls_back(tool_name: str, arguments: str) -> bool:
    is_command = _COMMAND.search(arguments[:_LOOKED_AT_CHARACTERS]) is not None
    return is_command or _TOOL.fullmatch(tool_name) is not None
