"""The ratings of searches, from the log. Law: reads only."""

from collections.abc import Iterable
from typing import Any

import apsw

from undrift.stores.operations import OPERATION_COLUMNS, operation_from

__all__ = ["ratings"]

_RATINGS = f"""SELECT {OPERATION_COLUMNS} FROM operations WHERE kind = 'rate_search'
    AND json_extract(payload, '$.returned') > 0 ORDER BY seq DESC LIMIT ?"""  # noqa: S608 - constants of ours


def ratings(connection: apsw.Connection, most: int) -> list[tuple[int, int]]:
    """Return the numbers of all results and of useful results, for each of the newest rated searches, newest first."""
    found: Iterable[Any] = connection.execute(_RATINGS, (most,))
    payloads = [operation_from(row).payload or {} for row in found]
    return [(one["returned"], one["useful"]) for one in payloads]
