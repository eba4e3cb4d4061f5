"""Text of a recording made fit for a page, and figures as people read them. Pure.

A recording is hostile until shown otherwise: every text between two tags of ours has gone through `text`.
"""

import html

__all__ = ["count", "minutes", "percent", "tag", "text", "thousands"]


def text(value: str) -> str:
    """Escape for HTML, in content and in quoted attributes; what is not plainly printable is shown as its escape."""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
    return html.escape(value, quote=True)


def tag(name: str, *content: str, **attributes: str | float) -> str:
    """Give an element.

    Args:
        content: Markup that is safe already: made by `tag` or `text`.
        attributes: Escaped here; ``class_`` is ``class``, other underscores are dashes.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value if isinstance(value, str) else f"{value:g}")}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{''.join(content)}</{name}>"


def count(number: int, one: str) -> str:
    """Give ``1 turn`` or ``1,234 turns``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def thousands(tokens: int) -> str:
    """Give ``168k`` or ``2.4 million``; exact below ten thousand."""
    if tokens >= 1_000_000:
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
