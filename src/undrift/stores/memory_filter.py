"""The filter of a memory search as one value, and its two forms: SQLite's SQL and LanceDB's SQL. Pure.

Law: names of columns are written here, never taken from a caller. SQLite gets values as bindings. LanceDB has no bindings:
it gets quoted text with nothing but printable ASCII.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from undrift.errors import InputError
from undrift.stores.rows import key, raw

__all__ = ["ALL", "Filter", "in_lance", "in_sqlite", "plain"]

_SETS = ("scopes", "sources", "types")


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a memory must all fulfil. None means: no condition; an empty set matches nothing.

    Args:
        scopes: It belongs to one of these sessions, agents or projects.
        until_seq: It was recorded by this operation or before it; at least 0.
        least_tier: Its tier of trust is at least this: 1 leaves out the output of tools, 3 all but users and specifications.
        is_active: True: no rewind has closed it.

    Raises:
        InputError: A value has another type. A text alone would be taken for the set of its characters.
    """

    scopes: Collection[str] | None = None
    sources: Collection[str] | None = None
    types: Collection[str] | None = None
    until_seq: int | None = None
    least_tier: int = 0
    is_active: bool = False

    def __post_init__(self) -> None:
        for name in _SETS:
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, Collection) or isinstance(value, str | bytes) or not _all_texts(value):
                raise InputError(f"filter: {name} must be a set of texts or None, not {value!r:.80}")
            object.__setattr__(self, name, tuple(sorted(set(value))))
        seq = self.until_seq
        if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool) or seq < 0):
            raise InputError(f"filter: until_seq must be a whole number of at least 0 or None, not {seq!r:.80}")

    @property
    def parts(self) -> Iterable[tuple[str, Collection[str]]]:
        """The columns that have a condition, each with its allowed values."""
        return [(name[:-1], value) for name in _SETS if (value := getattr(self, name)) is not None]


ALL = Filter()


def in_sqlite(only: Filter, table: str) -> tuple[str, list[str | bytes | int]]:
    """Return the condition for SQLite, empty if there is none, and its bound values."""
    conditions: list[str] = []
    bindings: list[str | bytes | int] = []
    for column, values in only.parts:
        conditions.append(f"{table}.{column} IN ({', '.join('?' * len(values))})")
        bindings += map(key, values)
    if only.until_seq is not None:
        conditions.append(f"{table}.seq <= ?")
        bindings.append(min(only.until_seq, 2**63 - 1))
    if only.least_tier:
        conditions.append(f"{table}.tier >= ?")
        bindings.append(only.least_tier)
    if only.is_active:
        conditions.append(f"{table}.is_there = 1")
    return " AND ".join(conditions), bindings


def in_lance(only: Filter) -> str:
    """Return the condition for LanceDB, empty if there is none."""
    conditions = []
    for column, values in only.parts:
        quoted = ", ".join("'" + plain(value).replace("'", "''") + "'" for value in values)
        conditions.append(f"{column} IN ({quoted})" if values else "false")
    if only.until_seq is not None:
        conditions.append(f"seq <= {min(only.until_seq, 2**63 - 1)}")
    return " AND ".join(conditions)


def plain(text: str) -> str:
    """Return a text in LanceDB's form: printable ASCII, different for each text.

    Arrow takes no lone surrogates, and a text that cannot end its quotes cannot be misread.
    """
    if text.isascii() and text.isprintable() and "%" not in text:
        return text
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 37 else f"%{byte:02x}" for byte in raw(text))


def _all_texts(values: Collection[object]) -> bool:
    return all(isinstance(value, str) for value in values)
