"""What hostile text costs the mark: ``python -m bench.marker`` prints CPU time of 5 million characters of each kind."""

import sys
from collections.abc import Callable, Iterator

from bench.figures import cpu_ms
from undrift.core.text.marker import StreamStripper, mark, marker_of, neutralise, strip_markers

__all__ = ["TEXTS", "main"]

CHARACTERS = 5_000_000
LIMIT_MS = 200.0
TEXTS = (
    "<!--", "<", "<!-- ", "<!-- <!-- --> ", "<!-- sigma-task: x -->", "<!-- sigma-task: ", "sigma-tas", "s", " ", "\n", "&", "&amp;",
    "&#115;", "\\u0073", "%73", "s;", "-->",
)  # fmt: skip
WIDE = ("\u200b", "s\u200b", "\u0455", "\u0455igma-tas")
"""Of these as many as 5 million bytes hold."""


def main() -> int:
    """Print a line for each text; 1 where parsing one took longer than the limit."""
    slow = 0
    print(f"{'text':24} {'marker_of':>10} {'neutralise':>10} {'strip':>10} {'stream':>10}   ms of CPU, best of 3")
    for name, text in _texts():
        figures = [_best_ms(act, text) for act in (marker_of, neutralise, strip_markers, _stream)]
        slow += any(figure > LIMIT_MS for figure in figures)
        print(f"{name:24} " + " ".join(f"{figure:10.1f}" for figure in figures))
    print(f"{slow} of {len(TEXTS) + len(WIDE) + 1} texts took longer than {LIMIT_MS:.0f} ms in some act")
    return 1 if slow else 0


def _texts() -> Iterator[tuple[str, str]]:
    for unit in TEXTS:
        yield ascii(unit), unit * (CHARACTERS // len(unit))
    for unit in WIDE:
        yield ascii(unit), unit * (CHARACTERS // len(unit.encode()))
    yield "a marked text", mark("x" * CHARACTERS, "7")


def _stream(text: str) -> object:
    stripper = StreamStripper()
    return [stripper.feed(text[start : start + 4_096]) for start in range(0, len(text), 4_096)], stripper.close()


def _best_ms(act: Callable[[str], object], text: str) -> float:
    return min(cpu_ms(lambda: act(text)) for _ in range(3))


if __name__ == "__main__":
    sys.exit(main())
