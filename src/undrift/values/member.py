"""A person of a team at work on a project, and what a server keeps about people. Pure.

Law: a key is never kept, only its SHA-256. A store can keep keys and counters: it implements the two protocols.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

from undrift.values.scope import LOCAL, Scope

__all__ = ["Credentials", "DayCounts", "Member", "hash_of", "is_member_name"]

_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class Member:
    """A person at work on a project of an organisation.

    `key_id`: names the key or the token that proved it, for people; no part of it proves anything.
    """

    person: str
    project: str
    organisation: str = LOCAL
    key_id: str = ""

    @property
    def scope(self) -> Scope:
        """The owner of the member's records."""
        return Scope(project=self.project, person=self.person, organisation=self.organisation)


class Credentials(Protocol):
    """The keys of a team's members."""

    def member(self, key: str) -> Member | None:
        """Return the member whose key this is. None means: no member has it.

        Raises StoreError: it cannot be known now.
        """
        ...


class DayCounts(Protocol):
    """Counters that start again each day, shared by all gateways that share a store."""

    def add(self, key: str, day: str, amount: int) -> int:
        """Add to a counter, and return its total; 0 only reads it.

        `key`: names the counter. `day`: in UTC, as in ``2026-11-30``. `amount`: tokens, or millionths of a US dollar; at
        least 0. Raises StoreError: nothing was added.
        """
        ...


def hash_of(key: str) -> str:
    """Return the SHA-256 of a key, in 64 hexadecimal digits."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def is_member_name(name: object) -> bool:
    """Tell whether a text can name a person, a project or an organisation: 1 to 128 characters, none of them a control."""
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()
