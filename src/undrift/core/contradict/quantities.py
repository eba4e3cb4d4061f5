"""Numbers with units, versions, dates and times of day, in their normal form: 30 minutes are 30 min. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.text.words import stem, stems_of

__all__ = ["MONTHS", "Quantity", "is_same_date", "quantity_at"]

_MILLISECONDS = {
    "ms": 1.0, "millisecond": 1.0, "msec": 1.0, "s": 1e3,
    "sec": 1e3, "second": 1e3, "m": 6e4, "min": 6e4, "minute": 6e4,
    "h": 3.6e6, "hr": 3.6e6, "hour": 3.6e6, "d": 8.64e7,
    "day": 8.64e7, "week": 6.048e8, "month": 2.592e9, "year": 3.1536e10,
    "us": 1e-3, "microsecond": 1e-3, "ns": 1e-6, "sprint": 1.2096e9,
}  # fmt: skip
_BYTES = {
    "byte": 1.0, "b": 1.0, "kb": 1024.0, "kib": 1024.0, "ki": 1024.0, "k": 1024.0, "mb": 1024.0**2, "mib": 1024.0**2,
    "mi": 1024.0**2, "megabyte": 1024.0**2, "gb": 1024.0**3, "gib": 1024.0**3, "gi": 1024.0**3, "gigabyte": 1024.0**3,
    "g": 1024.0**3, "tb": 1024.0**4, "tib": 1024.0**4, "ti": 1024.0**4, "terabyte": 1024.0**4, "kilobyte": 1024.0,
}  # fmt: skip
_MONEY = {
    "dollar": "$",
    "usd": "$",
    "$": "$",
    "euro": "€",
    "eur": "€",
    "€": "€",
    "pound": "£",
    "gbp": "£",
    "£": "£",
    "cent": "c",
}
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "dozen": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "hundred": 100, "once": 1, "twice": 2, "thrice": 3, "single": 1,
}  # fmt: skip
MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
_NAMED_NUMBERS = frozenset({
    "task", "issue", "pr", "ticket", "line", "step", "chapter", "section", "page", "commit", "run", "figure", "table",
    "case", "bug", "story", "epic", "phase", "iteration", "attempt", "message", "item", "example", "rule", "level",
    "test", "request", "build", "option", "part", "round", "question",
})  # fmt: skip
"""A number behind one of these is a name, not an amount: task 3 is another task than task 4."""

_NUMBER = re.compile(r"([$€£]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?([a-z%]{0,9})")
_VERSION = re.compile(r"v?\d+(?:\.\d+){1,3}(?:[-.]?(?:rc|beta|alpha|lts|dev)\.?\d*)?|v\d+|\d+\.x")
_CLOCK = re.compile(r"([01]?\d|2[0-3])[:.]([0-5]\d)(am|pm)?|(1[0-2]|[1-9])(am|pm)")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_HOST_PORT = re.compile(r"(?:[a-z0-9.-]+)?:(\d{2,5})")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value that begins at one word and takes `words` of them."""

    relation: str
    value: str
    words: int


def quantity_at(words: Sequence[str], at: int, *, in_port: bool) -> Quantity | None:
    """Return the quantity that begins at a word, or None.

    `in_port`: whether the statement is about a port, so that a bare number is one.
    """
    word = words[at]
    if word in _WEEKDAYS or (word.endswith("s") and word[:-1] in _WEEKDAYS):
        return Quantity("weekday", word.removesuffix("s") if word[:-1] in _WEEKDAYS else word, 1)
    if word == "every" and (found := _with_unit(1.0, _follows(words, at), 2)):
        return found
    if word in MONTHS and (found := _date(words, at)):
        return found
    if word in _NUMBERS:
        return _counted(float(_NUMBERS[word]), words, at) if _follows(words, at) not in ("of", "") else None
    if not any(character.isdecimal() for character in word[:24]) or len(word) > 40:
        return None
    return _of_digits(words, at, in_port)


def _of_digits(words: Sequence[str], at: int, in_port: bool) -> Quantity | None:
    word = words[at]
    before = words[at - 1] if at else ""
    if stem(before) in stems_of(_NAMED_NUMBERS) and word.isdecimal():
        return Quantity("entity", f"{stem(before)}#{word}", 1)
    if _ISO_DATE.fullmatch(word):
        return Quantity("date", word, 1)
    if (match := _CLOCK.fullmatch(word)) and (":" in word or match[3] or match[5]):
        following = _follows(words, at)
        if following in ("am", "pm") and not (match[3] or match[5]):
            return Quantity("clock", _clock_of(int(match[1]), match[2], following), 2)
        return Quantity("clock", _clock(match), 1)
    if match := _HOST_PORT.fullmatch(word):
        return Quantity("port", match[1], 1)
    if _follows(words, at) in ("am", "pm") and word.isdecimal():
        return Quantity("clock", f"{int(word) % 12 + (12 if words[at + 1] == 'pm' else 0):02d}:00", 2)
    if (found := _date(words, at)) is not None:
        return found
    match = _NUMBER.fullmatch(word)
    if match and match[1]:
        return Quantity("money", f"{match[1]}{_plain(float((match[2] + (match[3] or '')).replace(',', '')))}", 1)
    if match and (found := _measured(match, words, at, in_port)):
        return found
    if _VERSION.fullmatch(word):
        return Quantity("version", word.removeprefix("v"), 1)
    return None


def _measured(match: re.Match[str], words: Sequence[str], at: int, in_port: bool) -> Quantity | None:
    """Return what a number with an attached or following unit is."""
    number, unit = float((match[2] + (match[3] or "")).replace(",", "")), match[4]
    if unit:
        return _with_unit(number, unit, 1)
    following = _follows(words, at)
    if following and (found := _with_unit(number, following, 2)):
        return found
    if in_port and number == int(number) and 20 <= number < 65536:
        return Quantity("port", _plain(number), 1)
    if match[3] and following not in ("time", "times"):
        return Quantity("version", match[2] + match[3], 1)
    return _counted(number, words, at)


def _with_unit(number: float, unit: str, word_count: int) -> Quantity | None:
    if len(unit) > 2:
        unit = unit.removesuffix("s")
    if unit in ("%", "percent", "pct"):
        return Quantity("share", _plain(number), word_count)
    if unit in _MILLISECONDS:
        return Quantity("duration", _plain(number * _MILLISECONDS[unit]), word_count)
    if unit in _BYTES:
        return Quantity("size", _plain(number * _BYTES[unit]), word_count)
    if unit in _MONEY:
        return Quantity("money", f"{_MONEY[unit]}{_plain(number)}", word_count)
    return None


def _counted(number: float, words: Sequence[str], at: int) -> Quantity:
    """Return a number of things, or a rate of them; the things' name is part of the relation."""
    following = _follows(words, at)
    if found := _with_unit(number, following, 2):
        return found
    noun = stem(following) if following and following[0].isalpha() and following not in _PARTICLES else ""
    if not noun:
        return Quantity("number", _plain(number), 1)
    return Quantity(f"count:{noun}", _plain(number), 2)


_PARTICLES = frozenset({
    "is", "are", "was", "were", "to", "for", "and", "or", "in", "on", "at", "of", "with", "by", "from", "per", "the",
    "a", "an", "it", "now", "minimum", "maximum",
})  # fmt: skip


def is_same_date(one: str, other: str) -> bool:
    """Tell whether two dates can be the same day; only one of them may say its year."""
    return one == other or one.endswith(f"-{other}") or other.endswith(f"-{one}")


def _date(words: Sequence[str], at: int) -> Quantity | None:
    """Return "March 3", "3 March" or "August 15th 2026" as one date; a month alone only behind a preposition."""
    following = _follows(words, at)
    if words[at] in MONTHS:
        day = _ORDINAL.fullmatch(following) if following else None
        if day:
            return _with_year(f"{MONTHS[words[at]]:02d}-{int(day[1]):02d}", words, at + 2)
        if words[at] != "may" and at and words[at - 1] in ("in", "until", "to", "is"):
            return Quantity("date", f"{MONTHS[words[at]]:02d}", 1)
        return None
    day = _ORDINAL.fullmatch(words[at])
    if day and following in MONTHS:
        return _with_year(f"{MONTHS[following]:02d}-{int(day[1]):02d}", words, at + 2)
    return None


def _with_year(day: str, words: Sequence[str], at: int) -> Quantity:
    """Return a day of a month as a date, with the year that may follow."""
    if _YEAR.fullmatch(_follows(words, at - 1)):
        return Quantity("date", f"{words[at]}-{day}", 3)
    return Quantity("date", day, 2)


def _clock(match: re.Match[str]) -> str:
    return _clock_of(int(match[1] or match[4]), match[2] or "00", match[3] or match[5])


def _clock_of(hour: int, minute: str, half: str | None) -> str:
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour:02d}:{minute}"


def _follows(words: Sequence[str], at: int) -> str:
    return words[at + 1] if at + 1 < len(words) else ""


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"
