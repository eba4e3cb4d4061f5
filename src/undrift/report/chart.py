"""Timelines and bars as SVG, drawn here and not in the browser. Pure.

A chart is as wide as its box, but its letters and marks keep their size on every screen: places are percentages, and
only the curve, in a drawing of its own, is stretched.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from undrift.core.autopsy.findings import Autopsy, Compaction, Fetch, Point
from undrift.report.markup import count, day, excerpt, minutes, moment, tag, text, thousands

__all__ = ["bar", "timeline"]

_TOP, _BASE, _LANE, _DATES = 22, 152, 172, 200
"""Heights in pixels: the curve's top and its base, the marks for results that were read again, the dates."""
_WIDTH = 1_000
"""The curve's own units from left to right; those from top to base are pixels."""
_MOST_POINTS = 160
_MOST_MARKS = 60
_LEAST_GAP_PERCENT = 6.0
"""Two compactions that are nearer than this have one number above them."""
_STEPS = (1, 2, 2.5, 5, 10)
_Scale = Callable[[float], float]


def timeline(found: Autopsy, *, redacted: bool = False) -> str:
    """Draw how full the window was over the calls, its compactions, and what was read again.

    `redacted`: no name stands in it, and its dates are days and spans.
    """
    calls = max(1, found.calls)
    highest = max([1, *(point.tokens for point in found.timeline), *(c.tokens_before for c in found.compactions)])
    step = _step(highest)
    top = step * -(-highest // step)

    def x(call: float) -> float:
        return round(min(100.0, 100 * call / calls), 2)

    def y(tokens: float) -> float:
        return round(_BASE - (_BASE - _TOP) * tokens / top)

    fetches = [(fetch, compaction) for compaction in found.compactions for fetch in compaction.fetches]
    largest = sorted(fetches, key=lambda mark: -mark[0].known_tokens)[:_MOST_MARKS]
    label = f"Tokens in the window over {count(found.calls, 'call')} with {count(len(found.compactions), 'compaction')}"
    return tag(
        "svg",
        *(tag("line", x2="100%", y1=y(level), y2=y(level), class_="grid") for level in _levels(step, top)),
        _curve(_thinned(found.timeline, found.compactions), calls, y),
        *(tag("text", thousands(round(level)), y=y(level) - 4) for level in _levels(step, top)[1:]),
        *_cuts(found.compactions, x),
        *(_mark(fetch, compaction, x, redacted=redacted) for fetch, compaction in largest),
        *_dates(found, x, redacted=redacted),
        class_="time",
        role="img",
        aria_label=label,
    )


def bar(share: float, kind: str) -> str:
    """Draw a share, from 0 to 1, as a bar. `kind`: its class. The figure itself stands beside it, as text."""
    filled = [tag("rect", width=f"{max(0.6, 100 * min(1.0, share)):.1f}%", class_=kind)] if share > 0 else []
    return tag("svg", tag("rect", width="100%", class_="track"), *filled, class_="bar", aria_hidden="true")


def _levels(step: float, top: float) -> list[float]:
    return [step * number for number in range(round(top / step) + 1)]


def _curve(points: Sequence[Point], calls: int, y: _Scale) -> str:
    """Draw the curve, and the area below it, in moves from point to point."""
    places = [(round(_WIDTH * min(1.0, point.call / calls)), round(y(point.tokens)) - _TOP) for point in points]
    if not places:
        return ""
    base = _BASE - _TOP
    (first, height), (last, _) = places[0], places[-1]
    moves = "".join(f"{b[0] - a[0]:d} {b[1] - a[1]:d} " for a, b in pairwise(places)).rstrip()
    return tag(
        "svg",
        tag("path", d=f"M{first} {base}V{height}l{moves or '0 0'}L{last} {base}z", class_="area"),
        tag("path", d=f"M{first} {height}l{moves or '0 0'}", class_="line"),
        y=_TOP,
        height=base,
        viewBox=f"0 0 {_WIDTH} {base}",
        preserveAspectRatio="none",
    )


def _cuts(compactions: Sequence[Compaction], x: _Scale) -> list[str]:
    drawn: list[str] = []
    labelled = -_LEAST_GAP_PERCENT
    for compaction in compactions:
        at = x(compaction.calls_before)
        after = "?" if compaction.tokens_after is None else thousands(compaction.tokens_after)
        title = f"Compaction {compaction.number}: {thousands(compaction.tokens_before)} to {after} tokens"
        parts = [tag("title", text(title)), tag("line", x1=f"{at}%", x2=f"{at}%", y1=_TOP - 6, y2=_LANE + 8)]
        if at - labelled >= _LEAST_GAP_PERCENT:
            labelled = at
            parts.append(tag("text", f"{compaction.number}", x=f"{at}%", y=_TOP - 10, class_=_anchor(at)))
        drawn.append(tag("g", *parts, class_="cut"))
    return drawn


def _mark(fetch: Fetch, compaction: Compaction, x: _Scale, *, redacted: bool) -> str:
    what = "" if redacted else f"{excerpt(fetch.tool, 40)} {excerpt(fetch.what, 80)}: "
    when = "" if fetch.after_ms is None else f", {minutes(fetch.after_ms)}"
    title = f"{what}{fetch.known_tokens:,} known tokens, call +{fetch.call}{when} after compaction {compaction.number}"
    radius = min(9.0, max(2.5, round((fetch.known_tokens / 40) ** 0.5, 1)))
    place = f"{x(fetch.session_call)}%"
    return tag("circle", tag("title", text(title)), cx=place, cy=_LANE, r=radius, class_="again")


def _dates(found: Autopsy, x: _Scale, *, redacted: bool) -> list[str]:
    """Draw the axis: the date at five calls, of which a narrow screen shows the first, the middle and the last."""
    dated = [point for point in found.timeline if point.at_ms]
    if not dated:
        places = [round(found.calls * quarter / 4) for quarter in range(5)]
        return [_tick(number, x(call), f"call {call:,}") for number, call in enumerate(places)]
    wanted = [found.calls * quarter / 4 for quarter in range(5)]
    points = [min(dated, key=lambda point: abs(point.call - call)) for call in wanted]
    first_ms = points[0].at_ms or 0
    drawn: list[str] = []
    for number, point in enumerate(points):
        at_ms = point.at_ms or first_ms
        after = f"+{minutes(max(0, at_ms - first_ms))}" if number else day(first_ms)
        drawn.append(_tick(number, 25.0 * number, after if redacted else moment(at_ms)))
    return drawn


def _tick(number: int, at: float, shown: str) -> str:
    hidden = " wide" if number % 2 else ""
    return tag("text", text(shown), x=f"{at:g}%", y=_DATES, class_=_anchor(at) + hidden)


def _anchor(at: float) -> str:
    """Return the class of a text that stands at this percentage, so that it stays inside the chart."""
    return "from" if at < 10 else "to" if at > 90 else "mid"


def _thinned(points: Sequence[Point], compactions: Sequence[Compaction]) -> list[Point]:
    """Keep the curve's shape with fewer points: of each stretch the highest, and all next to a compaction."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    size = -(-len(points) // _MOST_POINTS)
    near = {compaction.calls_before + offset for compaction in compactions for offset in (-1, 0, 1)}
    kept: list[Point] = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        highest = max(stretch, key=lambda point: point.tokens)
        kept += [point for point in stretch if point is highest or point.call in near]
    return kept


def _step(highest: float) -> float:
    """Give a round step that makes three or four parts."""
    rough = highest / 4
    power = 10.0 ** (len(str(int(rough))) - 1) if rough >= 1 else 1.0
    return max(1.0, next(power * factor for factor in _STEPS if power * factor >= rough))
