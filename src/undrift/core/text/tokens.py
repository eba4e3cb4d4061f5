"""Estimates the tokens of a text, without a tokenizer, a download or a dependency. Pure.

The estimate is a linear form over counts of character classes and of a few runs. A byte is first mapped to its class
(lower, upper, digit, space, other white space, punctuation, control, and one class for each group of UTF-8 lead
bytes), then `bytes.count` does the work: some 20 passes at 0.5 to 3 GB/s each. The coefficients are in `token_weights`.
"""

from collections.abc import Callable

from undrift.core.text.token_weights import BLOCKS, BYTE_RUNS, CLASS_RUNS, LEADS, MARKED_RUNS
from undrift.errors import InputError

__all__ = ["characters_per_4", "counter", "estimate", "token_count"]

_CONTINUATION = bytes(range(0x80, 0xC0))
_NOT_LEAD = bytes(range(0xC0))
_FIRST_LEADS = (0xC2, 0xC3, 0xCA, 0xD0, 0xD5, 0xE0, 0xE2, 0xE3, 0xEA, 0xEE, 0xF0)
"""The class of a character beyond ASCII is the highest of these that its lead byte reaches."""


def _class_of(byte: int) -> int:
    """Give the byte that represents the class of `byte`."""
    if byte >= 0x80:
        return max((first for first in _FIRST_LEADS if first <= byte), default=byte)
    character = chr(byte)
    if character.isalnum():
        return ord("0" if character.isdigit() else "A" if character.isupper() else "a")
    if character == " ":
        return byte
    if character in "\n\r\t":
        return ord("\n")
    return ord("." if character.isprintable() else "\x01")


_CLASSES = bytes(map(_class_of, range(256)))


def estimate(text: str) -> int:
    """Estimate the tokens of a text under a modern byte-pair vocabulary.

    Deterministic, integer arithmetic, linear in the length; a lone surrogate counts like a Hangul syllable.
    The estimate of a concatenation differs from the sum of the estimates by at most 16: only runs that lie across the
    seam count again.

    Returns at least 1, but 0 for the empty string; at least a token for every 128 bytes, however much the text repeats.
    """
    if not text:
        return 0
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) == len(text):
        classes = encoded.translate(_CLASSES)
        thousandths = 0
    else:
        # Without the continuation bytes one byte represents one character, in any script.
        classes = encoded.translate(_CLASSES, _CONTINUATION)
        thousandths = _beyond_ascii(encoded, classes)
    count = classes.count
    thousandths += sum(weight * count(run) for run, weight in CLASS_RUNS)
    count = encoded.count
    thousandths += sum(weight * count(run) for run, weight in BYTE_RUNS)
    return max(1, len(encoded) >> 7, (thousandths + 999) // 1000)


def _beyond_ascii(encoded: bytes, classes: bytes) -> int:
    """Add up what the characters beyond ASCII cost, in thousandths of a token."""
    leads = encoded.translate(None, _NOT_LEAD)  # few as a rule: an arrow or a dash among ASCII
    thousandths = 0
    for low, high, weight in LEADS:
        for lead in range(low, high + 1):
            thousandths += weight * leads.count(lead)
    for prefixes, weight in BLOCKS:
        if prefixes[0][0] in leads:
            for prefix in prefixes:
                thousandths += weight * encoded.count(prefix)
    for run, weight in MARKED_RUNS:
        if max(run) in classes:  # of the class of its script: this test is faster than to count the run
            thousandths += weight * classes.count(run)
    return thousandths


def characters_per_4(text: str) -> int:
    """Return the characters divided by four, rounded up: the token unit of outside benchmarks.

    Returns at least 1, but 0 for the empty string.
    """
    return (len(text) + 3) // 4


def token_count(text: str) -> int:
    """Count the tokens of a text with the project's own estimate.

    >>> token_count("hello world")
    2

    Args:
        text: Any string, the empty one and every Unicode included.

    Returns:
        As `estimate`.

    Raises:
        InputError: It is no text.
    """
    if not isinstance(text, str):
        raise InputError(f"token_count takes a text, not {type(text).__name__}: give its `.text`")
    return estimate(text)


def counter(name: str, install: Callable[[str], str] = "the extra undrift[{}]".format) -> Callable[[str], int]:
    """Return the function with this name that counts a text's tokens, at least 0.

    `name`: ``estimate``, ``characters/4`` or ``tiktoken:ENCODING`` (for example ``tiktoken:o200k_base``). The last is
    exact and the only one that needs a package; that package fetches a vocabulary which it does not have. Raises
    InputError: the name is unknown, the extra is not installed, or the encoding is not available.
    """
    if name == "estimate":
        return estimate
    if name == "characters/4":
        return characters_per_4
    kind, _, encoding = name.partition(":")
    if kind == "tiktoken" and encoding:
        return _tiktoken(encoding, install)
    raise InputError(f"token counter must be 'estimate', 'characters/4' or 'tiktoken:ENCODING', not {name!r}")


def _tiktoken(encoding: str, install: Callable[[str], str]) -> Callable[[str], int]:
    """Load an exact counter; the optional package is imported here and nowhere else."""
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise InputError(
            f"token counter 'tiktoken:{encoding}' needs the package tiktoken: {install('exact')}"
        ) from error
    try:
        encode = tiktoken.get_encoding(encoding).encode_ordinary
    except Exception as error:  # an unknown name is a ValueError, a vocabulary out of reach any error of the network
        raise InputError(f"token counter 'tiktoken:{encoding}': the encoding cannot be loaded: {error}") from error

    def count(text: str) -> int:
        return len(encode(text))

    return count
