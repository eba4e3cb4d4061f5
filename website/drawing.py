"""Parts of a drawing as SVG: words, bars, lines. Pure.

Law: a drawing is 440 units wide, so that its letters can be read on a phone. It brings its own light ground, and names no font,
script or address of another place.
"""

from collections.abc import Sequence

from undrift.report.markup import tag, text

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "INK",
    "ORANGE",
    "SOFT",
    "WIDTH",
    "arrow",
    "box",
    "drawing",
    "line",
    "rect",
    "words",
]

WIDTH = 440
INK, SOFT, GREY = "#14202b", "#4d5c69", "#c9d2da"
BLUE, GREEN, ORANGE = "#3d7fc4", "#1f8a4c", "#c2571a"
_GROUND = "#fbfcfd"
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,'DejaVu Sans',sans-serif"


def drawing(height: int, title: str, *parts: str) -> str:
    """Return a whole drawing. `title`: the sentence that a screen reader says in its place."""
    return tag(
        "svg",
        tag("title", text(title)),
        rect(0.5, 0.5, WIDTH - 1, height - 1, _GROUND, stroke=GREY, rx=8),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        role="img",
        font_family=_FONT,
    )


def words(
    sentence: str, x: float, y: float, size: int = 13, *, color: str = INK, weight: int = 400, anchor: str = ""
) -> str:
    """Return a line of words. `y`: its base line."""
    return tag(
        "text",
        text(sentence),
        x=x,
        y=y,
        font_size=size,
        fill=color,
        font_weight=weight if weight != 400 else "",
        text_anchor=anchor,
    )


def rect(x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "", rx: float = 0) -> str:
    """Return a filled box."""
    return tag(
        "rect",
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
        fill=fill,
        stroke=stroke,
        rx=rx or "",
    )


def box(x: float, y: float, width: float, lines: Sequence[str], *, color: str = BLUE) -> str:
    """Return a box with lines of words, the first in bold."""
    height = 14 + 17 * len(lines)
    return "".join(
        [
            rect(x, y, width, height, "#ffffff", stroke=color, rx=6),
            *(
                words(
                    sentence, x + width / 2, y + 20 + 17 * number, weight=600 if number == 0 else 400, anchor="middle"
                )
                for number, sentence in enumerate(lines)
            ),
        ]
    )


def line(points: Sequence[tuple[float, float]], color: str, *, dash: str = "", width: float = 2) -> str:
    """Return a line through points."""
    shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return tag("polyline", points=shown, fill="none", stroke=color, stroke_width=width, stroke_dasharray=dash)


def arrow(x: float, y: float, to_x: float, to_y: float, color: str = SOFT) -> str:
    """Return an arrow that is level or upright."""
    step = 6
    if x == to_x:
        tip = [
            (to_x - 5, to_y - step if to_y > y else to_y + step),
            (to_x, to_y),
            (to_x + 5, to_y - step if to_y > y else to_y + step),
        ]
    else:
        tip = [
            (to_x - step if to_x > x else to_x + step, to_y - 5),
            (to_x, to_y),
            (to_x - step if to_x > x else to_x + step, to_y + 5),
        ]
    return line([(x, y), (to_x, to_y)], color) + line(tip, color)
