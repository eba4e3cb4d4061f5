"""The views of the page, in one table: the last part of an address, and what answers it.

Law: a view only reads. It takes the source and the query, and returns what can be written as JSON.
"""

from collections.abc import Callable, Mapping
from typing import Any

from undrift.web.bill import bill
from undrift.web.compactions import compactions
from undrift.web.left import left
from undrift.web.now import now
from undrift.web.source import PageSource
from undrift.web.timeline import session

__all__ = ["VIEWS", "View"]

View = Callable[[PageSource, Mapping[str, str]], dict[str, Any]]

VIEWS: Mapping[str, View] = {
    "now": now,
    "session": session,
    "left": left,
    "compactions": compactions,
    "bill": bill,
}
