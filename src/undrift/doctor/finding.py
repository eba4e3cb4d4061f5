"""One finding of the doctor. Pure."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "note", "ok", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `state`: ``ok``; ``note`` for what is worth knowing; ``wrong`` for what needs the remedy.
    """

    name: str
    state: Literal["ok", "note", "wrong"]
    text: str
    remedy: str = ""
    home: str = ""
    details: tuple[str, ...] = ()


def ok(name: str, text: str, *, home: str = "") -> Finding:
    """Return a finding with nothing wrong in it."""
    return Finding(name, "ok", text, home=home)


def note(name: str, text: str, *, home: str = "", details: tuple[str, ...] = ()) -> Finding:
    """Return a finding that is worth knowing."""
    return Finding(name, "note", text, home=home, details=details)


def wrong(name: str, text: str, remedy: str, *, home: str = "", details: tuple[str, ...] = ()) -> Finding:
    """Return a finding that needs its remedy."""
    return Finding(name, "wrong", text, remedy, home, details)
