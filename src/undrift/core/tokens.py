"""How many tokens a text costs, without a tokenizer, a download or a dependency. Pure.

The estimate is a linear form over counts of character classes and of a few runs. A byte is first mapped to its class
(lower, upper, digit, space, other white space, punctuation, and one class for each group of UTF-8 lead bytes), then
`bytes.count` does the work: about a dozen passes at 0.5 to 3 GB/s each.
"""

from collections.abc import Callable

from undrift.errors import InputError

__all__ = ["characters_per_4", "counter", "estimate", "token_count"]

# Thousandths of a token, fitted to o200k on 15 kinds of text (prose, code, JSON, listings, hashes, base64): aggregate
# error -7 to +7 % of each kind. The terms with a minus sign are runs that a vocabulary merges; each is smaller than
# what the classes of that run add up to, so that no text can count below nothing.
_ASCII_WEIGHTS: tuple[tuple[bytes, int], ...] = (
    (b"a", 410),  # a lower-case letter; four in a row cost 0.53 together
    (b"aaaa", -1115),
    (b"A", 434),
    (b"0", 978),  # a digit; two in a row cost 0.67 together
    (b"00", -1286),
    (b" 0", 1963),
    (b"a0", 661),
    (b"0A", 2097),
    (b".", 489),  # punctuation and control characters
    (b"\n", 477),  # line feed, carriage return, tab
    (b"  ", 968),  # one space between words is part of the word; four of an indentation cost 0.3
    (b"    ", -1641),
)

# The rest of the alphabet, by the lead byte of its UTF-8 form; fitted on 23 languages: -14 (Polish) to +20 %
# (Vietnamese).
_LEAD_WEIGHTS: tuple[tuple[int, int, int], ...] = (
    (0xC2, 0xC9, 1130),  # Latin letters with marks: they break a word in pieces
    (0xCA, 0xDF, 430),  # Greek, Cyrillic, Hebrew, Arabic
    (0xE0, 0xE1, 480),  # Indic scripts, Thai, Georgian
    (0xE2, 0xE2, 730),  # dashes, quotes, arrows, box drawing
    (0xE3, 0xE9, 780),  # kana and Han
    (0xEA, 0xED, 785),  # Hangul; also lone surrogates
    (0xEE, 0xEF, 900),  # private use, full-width forms
    (0xF0, 0xF7, 2500),  # emoji and rare Han
)

_CONTINUATION = bytes(range(0x80, 0xC0))
_NOT_LEAD = bytes(range(0xC0))


def _class_of(byte: int) -> int:
    """Give the byte that stands for the class of `byte`."""
    if byte >= 0x80:
        return next((low for low, high, _ in _LEAD_WEIGHTS if low <= byte <= high), byte)
    character = chr(byte)
    if character.isalnum():
        return ord("0" if character.isdigit() else "A" if character.isupper() else "a")
    if character == " ":
        return byte
    return ord("\n" if character in "\n\r\t" else ".")


_CLASSES = bytes(map(_class_of, range(256)))


def estimate(text: str) -> int:
    """Estimate the tokens of a text under a modern byte-pair vocabulary.

    Deterministic, integer arithmetic, linear in the length; a lone surrogate counts like a Hangul syllable.
    The estimate of a concatenation differs from the sum of the estimates by at most 4.

    Args:
        text: Any string.

    Returns:
        At least 1, but 0 for the empty string.

    Source: R2-17, R2-18, PERFORMANCE section 2.
    """
    if not text:
        return 0
    if text.isascii():
        classes = text.encode("ascii").translate(_CLASSES)
        thousandths = 0
    else:
        # Without the continuation bytes one byte stands for one character, whatever its script.
        encoded = text.encode("utf-8", "surrogatepass")
        classes = encoded.translate(_CLASSES, _CONTINUATION)
        leads = encoded.translate(_CLASSES, _NOT_LEAD)  # few as a rule: an arrow or a dash among ASCII
        thousandths = sum(weight * leads.count(low) for low, _, weight in _LEAD_WEIGHTS)
    count = classes.count
    thousandths += sum(weight * count(run) for run, weight in _ASCII_WEIGHTS)
    return max(1, (thousandths + 999) // 1000)


def characters_per_4(text: str) -> int:
    """Count four characters as one token, rounded up: the unit of outside measures.

    Args:
        text: Any string.

    Returns:
        At least 1, but 0 for the empty string.

    Source: CONTRACT (``token_counter="characters/4"``).
    """
    return (len(text) + 3) // 4


def token_count(text: str) -> int:
    """Count the tokens of a text with the project's own estimate.

    Args:
        text: Any string, the empty one and every Unicode included.

    Returns:
        As `estimate`.

    Source: R2-17, R2-18.
    """
    return estimate(text)


def counter(name: str) -> Callable[[str], int]:
    """Give the counting function of a name.

    Args:
        name: ``estimate``, ``characters/4`` or ``tiktoken:ENCODING`` (for example ``tiktoken:o200k_base``). The last
            is exact and the only one that needs a package; that package fetches a vocabulary which it does not have.

    Returns:
        A function from a text to its tokens, at least 0.

    Raises:
        InputError: The name is unknown, the extra is not installed, or the encoding is not to be had.

    Source: CONTRACT (``token_counter``).
    """
    if name == "estimate":
        return estimate
    if name == "characters/4":
        return characters_per_4
    kind, _, encoding = name.partition(":")
    if kind == "tiktoken" and encoding:
        return _tiktoken(encoding)
    raise InputError(f"token counter must be 'estimate', 'characters/4' or 'tiktoken:ENCODING', not {name!r}")


def _tiktoken(encoding: str) -> Callable[[str], int]:
    """Load an exact counter; the optional package is imported here and nowhere else."""
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise InputError(
            f"token counter 'tiktoken:{encoding}' needs the package tiktoken: install undrift[exact]"
        ) from error
    try:
        encode = tiktoken.get_encoding(encoding).encode_ordinary
    except Exception as error:  # an unknown name is a ValueError, a vocabulary out of reach any error of the network
        raise InputError(f"token counter 'tiktoken:{encoding}': the encoding cannot be loaded: {error}") from error

    def count(text: str) -> int:
        return len(encode(text))

    return count
