"""The texts of originals, by their numbers.

Law: runs on a connection that the caller holds; changes nothing.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import apsw

__all__ = ["texts"]

_TEXTS = "SELECT number, content FROM originals WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"


def texts(connection: apsw.Connection, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the text of originals, in UTF-8 with lone surrogates, in the order of the numbers.

    A number that no original has is left out. The text is as the disk has it: nothing compares it with a hash.
    """
    found: Iterable[Any] = connection.execute(_TEXTS, (json.dumps(list(numbers)),))
    yield from found
