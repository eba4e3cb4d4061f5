"""The actions of the page, in one table: the last part of an address, and what carries it out.

Law: an action does what a command also does, by the same call. It takes the source and a JSON object, returns what can be
written as JSON, and returns only when the change is on disk.
"""

from collections.abc import Callable, Mapping
from typing import Any

from undrift.web.bringing import bring_back, bring_undo, pin, purge
from undrift.web.remembering import memory_again, memory_edit, memory_forget, memory_restore, memory_settle
from undrift.web.source import PageSource

__all__ = ["ACTIONS", "Action"]

Action = Callable[[PageSource, Mapping[str, Any]], dict[str, Any]]

ACTIONS: Mapping[str, Action] = {
    "bring-back": bring_back,
    "bring-undo": bring_undo,
    "pin": pin,
    "purge": purge,
    "memory-again": memory_again,
    "memory-edit": memory_edit,
    "memory-forget": memory_forget,
    "memory-restore": memory_restore,
    "memory-settle": memory_settle,
}
