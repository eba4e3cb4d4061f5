"""Timelines and bars as SVG, drawn here and not in the browser. Pure."""

from collections.abc import Callable, Sequence

from undrift.core.autopsy.findings import Autopsy, Compaction, Fetch, Point
from undrift.report.markup import minutes, tag, text, thousands

__all__ = ["bars", "timeline"]

_WIDTH, _HEIGHT = 1_000, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 26, 62
_LANE = 228
"""The height of the marks for results that were read again, below the curve."""
_MOST_POINTS = 600
_MOST_MARKS = 400
_Scale = Callable[[float], float]
_STEPS = (1, 2, 2.5, 5, 10)


def timeline(found: Autopsy) -> str:
    """Draw how full the window was over the calls, its compactions, and what was read again."""
    calls = max(1, found.calls)
    highest = max([1, *(point.tokens for point in found.timeline), *(c.tokens_before for c in found.compactions)])
    step = _step(highest)
    top = step * -(-highest // step)

    def x(call: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * call / calls, 1)

    def y(tokens: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * tokens / top, 1)

    parts = [_grid(step, top, y, x, calls)]
    points = [(x(point.call), y(point.tokens)) for point in _thinned(found.timeline, found.compactions)]
    if points:
        path = "L".join(f"{a:g} {b:g}" for a, b in points)
        base = y(0)
        parts.append(tag("path", d=f"M{points[0][0]:g} {base:g}L{path}L{points[-1][0]:g} {base:g}Z", class_="area"))
        parts.append(tag("path", d=f"M{path}", class_="line"))
    parts += [_cut(compaction, x(compaction.calls_before)) for compaction in found.compactions]
    marks = [(fetch, compaction) for compaction in found.compactions for fetch in compaction.fetches]
    largest = sorted(marks, key=lambda mark: -mark[0].known_tokens)[:_MOST_MARKS]
    parts += [_mark(fetch, compaction, x(fetch.session_call)) for fetch, compaction in largest]
    label = f"Window fill over {found.calls} calls with {len(found.compactions)} compactions"
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label)


def bars(rows: Sequence[tuple[str, str, float, str]]) -> str:
    """Draw shares as bars."""
    parts: list[str] = []
    width, left = 590, 270
    for number, (label, kind, share, figure) in enumerate(rows):
        at = 30 * number
        parts.append(tag("text", text(label), x=0, y=at + 17))
        parts.append(tag("rect", x=left, y=at + 4, width=width, height=18, rx=4, class_="track"))
        if share > 0:
            parts.append(
                tag("rect", x=left, y=at + 4, width=max(3.0, round(width * share, 1)), height=18, rx=4, class_=kind)
            )
        parts.append(tag("text", text(figure), x=left + width + 12, y=at + 17, class_="strong"))
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {30 * len(rows)}", role="img", aria_label="Shares held")


def _grid(step: float, top: float, y: _Scale, x: _Scale, calls: int) -> str:
    parts: list[str] = []
    level = 0.0
    while level <= top:
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y(level), y2=y(level), class_="grid"))
        parts.append(tag("text", thousands(round(level)), x=_LEFT - 8, y=y(level) + 4, text_anchor="end"))
        level += step
    spacing = max(1, round(_step(calls)))
    for call in range(0, calls + 1, spacing):
        anchor = "start" if call == 0 else "middle"
        parts.append(tag("text", f"{call:,}", x=min(x(call), _WIDTH - _RIGHT - 8), y=_HEIGHT - 6, text_anchor=anchor))
    parts.append(tag("text", "tokens", x=_LEFT - 8, y=12, text_anchor="end"))
    parts.append(tag("text", "calls", x=_LEFT - 8, y=_HEIGHT - 6, text_anchor="end"))
    parts.append(tag("text", "again", x=_LEFT - 8, y=_LANE + 4, text_anchor="end"))
    return "".join(parts)


def _cut(compaction: Compaction, at: float) -> str:
    after = "?" if compaction.tokens_after is None else thousands(compaction.tokens_after)
    title = f"Compaction {compaction.number}: {thousands(compaction.tokens_before)} to {after} tokens"
    near_edge = at > _WIDTH - 140
    label = tag(
        "text",
        f"compaction {compaction.number}",
        x=at - 6 if near_edge else at + 6,
        y=_TOP - 10,
        class_="cutlabel",
        text_anchor="end" if near_edge else "start",
    )
    line = tag("line", x1=at, x2=at, y1=_TOP - 20, y2=_LANE + 10, class_="cut")
    return tag("g", tag("title", text(title)), line, label)


def _mark(fetch: Fetch, compaction: Compaction, at: float) -> str:
    when = "" if fetch.after_ms is None else f", {minutes(fetch.after_ms)}"
    title = (
        f"{fetch.tool} {fetch.what}: {fetch.known_tokens:,} known tokens read again, "
        f"call +{fetch.call}{when} after compaction {compaction.number}"
    )
    radius = min(9.0, max(2.5, round((fetch.known_tokens / 40) ** 0.5, 1)))
    return tag("circle", tag("title", text(title)), cx=at, cy=_LANE, r=radius, class_="again")


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
    """Give a round step that makes four to eight parts."""
    rough = highest / 5
    power = 10.0 ** (len(str(int(rough))) - 1) if rough >= 1 else 1.0
    return max(1.0, next(power * factor for factor in _STEPS if power * factor >= rough))
