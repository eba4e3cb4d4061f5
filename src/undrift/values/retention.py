"""The limits of a home for what left the windows, and the sizes of its sessions. Frozen."""

import re
from dataclasses import dataclass

from undrift.errors import InputError

__all__ = ["OFF", "Retention", "SessionSize"]

_AGE = re.compile(r"(\d{1,6})\s*(?:d|days?)", re.ASCII)
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(kb|mb|gb|tb)", re.ASCII)
_BYTES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_RULE = 'must be "off", an age such as "365 days", a size such as "10 GB", or both with a comma'


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits of a home; None: no such limit.

    Args:
        days: Originals of a session that was not used for so many days go.
        size_bytes: While the originals use more, those of the sessions that were not used for longest go.
    """

    days: int | None = None
    size_bytes: int | None = None

    @property
    def is_off(self) -> bool:
        """True if nothing is ever swept."""
        return self.days is None and self.size_bytes is None

    @classmethod
    def of(cls, text: str) -> "Retention":
        """Read the limits from a text such as ``365 days, 10 GB``. Raises InputError: it is none."""
        days = size_bytes = None
        parts = [part.strip().casefold() for part in text.split(",")]
        if parts == ["off"]:
            return OFF
        for part in parts:
            if days is None and (age := _AGE.fullmatch(part)):
                days = int(age[1])
            elif size_bytes is None and (size := _SIZE.fullmatch(part)):
                size_bytes = int(float(size[1]) * _BYTES[size[2]])
            else:
                raise InputError(f"{text[:60]!r} {_RULE}")
        return cls(days, size_bytes)


OFF = Retention()
"""Nothing is swept."""


@dataclass(frozen=True, slots=True)
class SessionSize:
    """The originals of one session that a sweep can remove.

    Args:
        last_at_ms: The time of its last operation, sweeps and purges aside, in Unix milliseconds.
        originals: Their number; pins are not among them.
        size_bytes: What they use in the store, without the index.
    """

    session_id: str
    last_at_ms: int
    originals: int
    size_bytes: int
