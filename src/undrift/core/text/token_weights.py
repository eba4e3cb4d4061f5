"""The coefficients of the token estimate. Pure data, written by bench/fit_tokens.py.

Thousandths of a token. A run is counted as `bytes.count` does, without overlap. A minus stands at runs that a
vocabulary merges: their parts count as well.

Fitted to o200k on 12844 entries of 246 packages. On 6288 entries of 50 others the aggregate errors of 70 kinds and
languages are -11.5 to +12.0 %; docs/tokens.md has the table.
"""

__all__ = ["BLOCKS", "BYTE_RUNS", "CLASS_RUNS", "LEADS", "MARKED_RUNS"]

BLOCKS: tuple[tuple[tuple[bytes, ...], int], ...] = (
    ((b"\xc3\xa3", b"\xc3\xb5"), -1096),
    ((b"\xc3\xa0", b"\xc3\xa8", b"\xc3\xac", b"\xc3\xb2", b"\xc3\xb9"), -952),
    ((b"\xd1\x8b", b"\xd1\x8d"), -462),
    ((b"\xe0\xa4", b"\xe0\xa5"), -1873),
    ((b"\xe0\xa6", b"\xe0\xa7"), -1891),
    ((b"\xe0\xa8", b"\xe0\xa9", b"\xe0\xaa", b"\xe0\xab"), -610),
    ((b"\xe0\xae", b"\xe0\xaf"), -1932),
    ((b"\xe0\xb0", b"\xe0\xb1", b"\xe0\xb2", b"\xe0\xb3"), -1831),
    ((b"\xe0\xb4", b"\xe0\xb5"), -1984),
    ((b"\xe0\xb8", b"\xe0\xb9"), -1980),
    ((b"\xe1\x80", b"\xe1\x81"), 78),
    ((b"\xe1\x82", b"\xe1\x83"), -2283),
    ((b"\xe1\xba", b"\xe1\xbb"), -2696),
    ((b"\xe2\x80",), 1402),
    ((b"\xe3\x80", b"\xe3\x81", b"\xe3\x82", b"\xe3\x83"), -3279),
)
"""Characters by their first two bytes, and what these cost beyond their lead byte."""

BYTE_RUNS: tuple[tuple[bytes, int], ...] = (
    (b"k", 868),
    (b"ko", 2029),
    (b"j", 831),
    (b"z", 466),
    (b"ai", 2233),
    (b"eg", 1007),
    (b"\t", 379),
)
"""Bytes as they are: letters that tell languages from each other."""

CLASS_RUNS: tuple[tuple[bytes, int], ...] = (
    (b"", 140),
    (b"A", 64),
    (b"0", 1871),
    (b".", 182),
    (b"\n", 665),
    (b" ", 261),
    (b"00", -2253),
    (b"000", -1709),
    (b"AaA", 3879),
    (b"A..", 1843),
    (b".a", 418),
    (b".a.", 677),
    (b"........", -2430),
    (b"        ", -3157),
    (b"\n\n\n", -2191),
    (b"\nA", 937),
    (b"\x01", 1246),
)
"""Runs of classes: a lower-case letter, A upper, 0 digit, . punctuation, 1 control, line feed, space."""

LEADS: tuple[tuple[int, int, int], ...] = (
    (0xC2, 0xC2, 1722),
    (0xC3, 0xC3, 1013),
    (0xC4, 0xC6, 1007),
    (0xC7, 0xCB, 2939),
    (0xCC, 0xCD, 1166),
    (0xCE, 0xCF, 240),
    (0xD0, 0xD0, 1499),
    (0xD1, 0xD1, 1831),
    (0xD2, 0xD4, 2371),
    (0xD5, 0xD6, 282),
    (0xD7, 0xD7, 426),
    (0xD8, 0xD9, 308),
    (0xDA, 0xDB, 478),
    (0xDC, 0xDF, 3095),
    (0xE0, 0xE0, 2281),
    (0xE1, 0xE1, 2601),
    (0xE2, 0xE2, -49),
    (0xE3, 0xE3, 3801),
    (0xE4, 0xE9, 601),
    (0xEA, 0xED, 468),
    (0xEE, 0xEE, 2936),
    (0xEF, 0xEF, 2601),
    (0xF0, 0xF7, 3925),
)
"""Characters beyond ASCII, by the first and last lead byte of their UTF-8 form."""

MARKED_RUNS: tuple[tuple[bytes, int], ...] = (
    (b"\xd0\xd0\xd0", -4557),
    (b"\xd0\xd0\n", 1584),
    (b"\xe0 \xe0", -1138),
    (b"\xc3a\xc3", -2307),
    (b" \xd0", -1585),
    (b" \xd5", -862),
)
"""Runs of classes with a character beyond ASCII, as the classes are in `tokens`."""
