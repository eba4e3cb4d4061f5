"""The views of the page, in one table: the last part of an address, and what answers it.

Law: a view only reads. It takes the source and the query, and returns what can be written as JSON.
"""

from collections.abc import Callable, Mapping
from typing import Any

from undrift.web.bill import bill
from undrift.web.bringing import purge_look
from undrift.web.causes import causes
from undrift.web.compaction import compaction
from undrift.web.compactions import compactions
from undrift.web.dispatches import dispatch
from undrift.web.find import find
from undrift.web.left import left
from undrift.web.memory import memory, memory_text
from undrift.web.now import now
from undrift.web.original import original
from undrift.web.prompt import prompt
from undrift.web.share import share
from undrift.web.source import PageSource
from undrift.web.tasks import tasks
from undrift.web.timeline import session
from undrift.web.whereabouts import whereabouts

__all__ = ["VIEWS", "View"]

View = Callable[[PageSource, Mapping[str, str]], dict[str, Any]]

VIEWS: Mapping[str, View] = {
    "now": now,
    "session": session,
    "prompt": prompt,
    "left": left,
    "purge-look": purge_look,
    "whereabouts": whereabouts,
    "memory": memory,
    "memory-text": memory_text,
    "compactions": compactions,
    "compaction": compaction,
    "bill": bill,
    "causes": causes,
    "tasks": tasks,
    "dispatch": dispatch,
    "find": find,
    "original": original,
    "share": share,
}
