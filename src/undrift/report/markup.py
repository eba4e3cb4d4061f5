"""Text of a recording made fit for a page, and figures as people read them. Pure.

A recording is hostile until shown otherwise: every text between two tags of ours has gone through `text`.
"""

import html
from datetime import UTC, datetime

from undrift.core.text.secrets import mask

__all__ = ["count", "day", "excerpt", "minutes", "moment", "percent", "tag", "text", "thousands"]

_LAST_MS = 253_402_300_799_000
"""The last second of the year 9999, in Unix milliseconds: a recording may claim any time."""


def text(value: str) -> str:
    """Escape for HTML, in content and in quoted attributes; what is not plainly printable is shown as its escape."""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
    return html.escape(value, quote=True)


def tag(name: str, *content: str, **attributes: str | float) -> str:
    """Give an element.

    Args:
        content: Markup that is safe already: made by `tag` or `text`.
        attributes: Escaped here; ``class_`` is ``class``, other underscores are dashes; an empty one is
            left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value if isinstance(value, str) else f"{value:g}")}"'
        for key, value in attributes.items()
        if value != ""
    )
    return f"<{name}{given}>{''.join(content)}</{name}>"


def excerpt(value: str, limit_characters: int) -> str:
    """Return the words of a recorded text in one line, without secrets, cut to a limit; it is not escaped yet."""
    shown = " ".join(mask(value[: 4 * limit_characters]).text.split())
    return shown if len(shown) <= limit_characters else f"{shown[: limit_characters - 1].rstrip()}…"


def count(number: int, one: str) -> str:
    """Give ``1 turn`` or ``1,234 turns``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def thousands(tokens: int) -> str:
    """Give ``168k`` or ``2.4 million``; exact below ten thousand."""
    if tokens >= 999_500:
        return f"{tokens / 1_000_000:,.1f} million"
    return f"{tokens / 1_000:,.0f}k" if tokens >= 10_000 else f"{tokens:,}"


def percent(part: int, whole: int) -> str:
    """Give a share, or a dash of nothing."""
    return f"{part / whole:.0%}" if whole else "–"  # noqa: RUF001 - a dash, no minus


def minutes(milliseconds: int) -> str:
    """Give a span as ``5 min``, ``3 h`` or ``4 days``."""
    span = milliseconds / 60_000
    if span < 1:
        return "under 1 min"
    if span < 120:
        return f"{span:.0f} min"
    return f"{span / 60:.0f} h" if span < 2_880 else f"{span / 1_440:.0f} days"


def day(at_ms: int) -> str:
    """Give a time as its day in UTC, ``3 Mar 2026``."""
    at = _at(at_ms)
    return f"{at.day} {at:%b} {at.year}"


def moment(at_ms: int) -> str:
    """Give a time as day and minute in UTC, without the year: ``3 Mar 14:05``."""
    at = _at(at_ms)
    return f"{at.day} {at:%b %H:%M}"


def _at(at_ms: int) -> datetime:
    return datetime.fromtimestamp(min(max(0, at_ms), _LAST_MS) / 1_000, UTC)
