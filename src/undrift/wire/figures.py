"""Numbers in a provider's answer. Pure; never raises."""

from collections.abc import Mapping
from typing import Any

__all__ = ["count_at"]


def count_at(usage: Any, name: str) -> int | None:
    """Return a count of tokens from an object of figures; None if there is none that could be one."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and 0 <= value < 2**53 else None
