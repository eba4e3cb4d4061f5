"""The form of the token estimate: what is counted in a text, and the module that holds what each count costs. Pure."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from undrift.core.text import tokens

__all__ = ["SHAPE", "Shape", "features", "module_text"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is counted; a coefficient each, in this order."""

    class_runs: tuple[bytes, ...]
    byte_runs: tuple[bytes, ...]
    leads: tuple[tuple[int, int], ...]
    blocks: tuple[tuple[bytes, ...], ...]
    marked_runs: tuple[bytes, ...]

    def sizes(self) -> tuple[int, ...]:
        return len(self.class_runs), len(self.byte_runs), len(self.leads), len(self.blocks), len(self.marked_runs)


def _block(lead: int, *seconds: int) -> tuple[bytes, ...]:
    return tuple(bytes((lead, second)) for second in seconds)


# Most were chosen from 1,200 runs of classes and bytes, one after the other: each time the one that made the errors on
# the fitted half smallest for what counting it takes. Then by hand: runs whose minus would let a text cost less than
# nothing went out, and a few others were tried in their place, with the held-out errors in sight.
SHAPE = Shape(
    class_runs=(
        b"", b"A", b"0", b".", b"\n", b" ", b"00", b"000", b"AaA", b"A..", b".a", b".a.", b"........", b"        ",
        b"\n\n\n", b"\nA", b"\x01",
    ),
    byte_runs=(b"k", b"ko", b"j", b"z", b"ai", b"eg", b"\t"),
    leads=(
        (0xC2, 0xC2), (0xC3, 0xC3), (0xC4, 0xC6), (0xC7, 0xCB), (0xCC, 0xCD), (0xCE, 0xCF), (0xD0, 0xD0), (0xD1, 0xD1),
        (0xD2, 0xD4), (0xD5, 0xD6), (0xD7, 0xD7), (0xD8, 0xD9), (0xDA, 0xDB), (0xDC, 0xDF), (0xE0, 0xE0), (0xE1, 0xE1),
        (0xE2, 0xE2), (0xE3, 0xE3), (0xE4, 0xE9), (0xEA, 0xED), (0xEE, 0xEE), (0xEF, 0xEF), (0xF0, 0xF7),
    ),
    blocks=(
        _block(0xC3, 0xA3, 0xB5), _block(0xC3, 0xA0, 0xA8, 0xAC, 0xB2, 0xB9), _block(0xD1, 0x8B, 0x8D), _block(0xE0, 0xA4, 0xA5), _block(0xE0, 0xA6, 0xA7), _block(0xE0, 0xA8, 0xA9, 0xAA, 0xAB),
        _block(0xE0, 0xAE, 0xAF), _block(0xE0, 0xB0, 0xB1, 0xB2, 0xB3), _block(0xE0, 0xB4, 0xB5),
        _block(0xE0, 0xB8, 0xB9), _block(0xE1, 0x80, 0x81), _block(0xE1, 0x82, 0x83), _block(0xE1, 0xBA, 0xBB),
        _block(0xE2, 0x80), _block(0xE3, 0x80, 0x81, 0x82, 0x83),
    ),
    marked_runs=(b"\xd0\xd0\xd0", b"\xd0\xd0\n", b"\xe0 \xe0", b"\xc3a\xc3", b" \xd0", b" \xd5"),
)  # fmt: skip
"""What the estimate counts; the empty run is found at every character, so that the count of the letters need not be taken."""


def features(text: str, shape: Shape = SHAPE) -> list[int]:
    """Count what the estimate counts, in the order of the shape."""
    encoded = text.encode("utf-8", "surrogatepass")
    classes = encoded.translate(tokens._CLASSES, bytes(range(0x80, 0xC0)))
    return [
        *map(classes.count, shape.class_runs),
        *map(encoded.count, shape.byte_runs),
        *(sum(map(encoded.count, range(low, high + 1))) for low, high in shape.leads),
        *(sum(map(encoded.count, block)) for block in shape.blocks),
        *map(classes.count, shape.marked_runs),
    ]


def module_text(numbers: Sequence[int], about: str, shape: Shape = SHAPE) -> str:
    """Write the module `undrift.core.text.token_weights` with these coefficients."""
    starts = [0, *accumulate(shape.sizes())]
    parts = [numbers[start:end] for start, end in pairwise(starts)]
    intro = (
        "Thousandths of a token. A run is counted as `bytes.count` does, without overlap. A minus stands at runs that a "
        "vocabulary merges: their parts count as well."
    )
    runs = "tuple[tuple[bytes, int], ...]"
    return (
        "\n".join(
            [
                '"""The coefficients of the token estimate. Pure data, written by bench/fit_tokens.py.',
                "",
                textwrap.fill(intro, 118),
                "",
                textwrap.fill(about, 118),
                '"""',
                "",
                '__all__ = ["BLOCKS", "BYTE_RUNS", "CLASS_RUNS", "LEADS", "MARKED_RUNS"]',
                "",
                "BLOCKS: tuple[tuple[tuple[bytes, ...], int], ...] = (",
                *(f"    ({block!r}, {number})," for block, number in zip(shape.blocks, parts[3], strict=True)),
                ")",
                '"""Characters by their first two bytes, and what these cost beyond their lead byte."""',
                "",
                f"BYTE_RUNS: {runs} = (",
                *(f"    ({run!r}, {number})," for run, number in zip(shape.byte_runs, parts[1], strict=True)),
                ")",
                '"""Bytes as they are: letters that tell languages from each other."""',
                "",
                f"CLASS_RUNS: {runs} = (",
                *(f"    ({run!r}, {number})," for run, number in zip(shape.class_runs, parts[0], strict=True)),
                ")",
                '"""Runs of classes: a lower-case letter, A upper, 0 digit, . punctuation, 1 control, line feed, space."""',
                "",
                "LEADS: tuple[tuple[int, int, int], ...] = (",
                *(
                    f"    (0x{low:02X}, 0x{high:02X}, {number}),"
                    for (low, high), number in zip(shape.leads, parts[2], strict=True)
                ),
                ")",
                '"""Characters beyond ASCII, by the first and last lead byte of their UTF-8 form."""',
                "",
                f"MARKED_RUNS: {runs} = (",
                *(f"    ({run!r}, {number})," for run, number in zip(shape.marked_runs, parts[4], strict=True)),
                ")",
                '"""Runs of classes with a character beyond ASCII, as the classes are in `tokens`."""',
                "",
            ]
        )
        .replace("b'", 'b"')
        .replace("',", '",')
        .replace("')", '")')
    )
