"""The headline of an autopsy as one picture to post: an SVG of 1,200 by 630 pixels. Pure.

Law: it is made from figures alone, so no recorded text can stand in it. No script, no font and no address is named in it.
"""

import textwrap
from collections.abc import Sequence

from undrift.core.guard import money
from undrift.recordings.autopsy import Postmortem, totals
from undrift.recordings.headline import as_share
from undrift.report.cover import Cover
from undrift.report.headline import Headline, headline_of
from undrift.report.markup import count, tag, text, thousands

__all__ = ["PICTURE_OPENING", "picture"]

PICTURE_OPENING = "<!-- a picture of undrift autopsy -->"
"""The beginning of every picture of ours; a file without it belongs to another program, and is never replaced."""
_WIDTH, _HEIGHT, _EDGE = 1_200, 630, 72
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,'DejaVu Sans',sans-serif"
_GROUND, _INK, _SOFT, _TRACK = "#0e1720", "#f2f6fa", "#a9b8c6", "#24323f"
_BAD, _GOOD, _FILL = "#ff9152", "#55d68b", "#67a9e6"
_LINE_CHARACTERS = 36
"""As many bold letters of 46 pixels fit between the edges, in a wide font."""
_BAR_LEFT = 500
_BAR_WIDTH = _WIDTH - _EDGE - _BAR_LEFT - 120


def picture(found: Sequence[Postmortem], cover: Cover) -> str:
    """Give the picture."""
    headline = headline_of(found, totals(found))
    sentences = " ".join(headline.sentences(yours=False))
    lines = textwrap.wrap(sentences, _LINE_CHARACTERS)
    height = 56
    parts = [
        tag("title", text(sentences)),
        tag("rect", width=_WIDTH, height=_HEIGHT, fill=_GROUND),
        tag("rect", width=_WIDTH, height=8, fill=_BAD),
        *(_text(line, (_EDGE, 112 + height * n), 46, weight=700) for n, line in enumerate(lines)),
    ]
    top = 112 + height * len(lines)
    for number, (figure, label, color) in enumerate(_figures(headline)):
        x = _EDGE + 360 * number
        parts += [_text(figure, (x, top + 46), 52, color=color, weight=700)]
        parts += [
            _text(line, (x, top + 84 + 30 * n), 23, color=_SOFT) for n, line in enumerate(textwrap.wrap(label, 24))
        ]
    parts += _bars(headline, _HEIGHT - 164)
    parts.append(_text("undrift", (_EDGE, _HEIGHT - 36), 34, weight=700))
    about = f"autopsy of {count(headline.sessions, 'session')} · {cover.signature}"
    parts.append(_text(about, (_WIDTH - _EDGE, _HEIGHT - 36), 23, color=_SOFT, anchor="end"))
    drawn = tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        role="img",
        aria_label=sentences,
        font_family=_FONT,
    )
    return f"{PICTURE_OPENING}\n{drawn}\n"


def _figures(headline: Headline) -> tuple[tuple[str, str, str], ...]:
    """Give three figures: what was removed, what was read again, what the compactions cost. None without a compaction."""
    sums = headline.sums
    if not sums.compactions:
        return ()
    removed = (thousands(sums.dropped_tokens), f"tokens removed by {count(sums.compactions, 'compaction')}", _INK)
    again = (thousands(sums.fetched_tokens), "tokens read again in the next 30 calls", _FILL)
    if headline.cost_usd is None:
        third = (f"{sum(sums.needed):,}", "names and lines used again", _BAD)
    else:
        third = (money(headline.cost_usd), "for the compactions themselves", _BAD)
    return (removed, again, third)


def _bars(headline: Headline, top: int) -> list[str]:
    """Draw what was found again of what the agent used: without undrift and with it; nothing if it is not known."""
    if headline.lost is None or headline.lost_with_undrift is None:
        return []
    rows = (
        ("held by the summaries", headline.lost, _FILL),
        ("with undrift beside them", headline.lost_with_undrift, _GOOD),
    )
    drawn: list[str] = []
    for number, (label, lost, color) in enumerate(rows):
        y = top + 46 * number
        held = 1 - lost
        drawn.append(_text(label, (_EDGE, y + 22), 25))
        drawn.append(tag("rect", x=_BAR_LEFT, y=y, width=_BAR_WIDTH, height=28, rx=14, fill=_TRACK))
        if held:
            width = max(28, round(_BAR_WIDTH * held))
            drawn.append(tag("rect", x=_BAR_LEFT, y=y, width=width, height=28, rx=14, fill=color))
        drawn.append(_text(as_share(held), (_WIDTH - _EDGE, y + 23), 27, anchor="end", weight=700))
    return drawn


def _text(
    shown: str,
    at: tuple[float, float],
    size: int,
    *,
    color: str = _INK,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    x, y = at
    return tag("text", text(shown), x=x, y=y, font_size=size, fill=color, font_weight=weight, text_anchor=anchor)
