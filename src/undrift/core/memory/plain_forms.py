"""Turns of phrase in the plainest form that says the same, and times of day and dates in one form. Pure.

Law: linear in the text. It serves to compare two statements, and is never shown.
"""

import re

from undrift.core.text.words import opened

__all__ = ["in_plain_form"]

_HOURS = {name: hour for hour, name in enumerate(
    ["twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"])}  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_ORDINALS = {name: day for day, name in enumerate(
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"], start=1)}  # fmt: skip
_ON_DAY = re.compile(rf"\b({'|'.join(_ORDINALS)}) (?:day )?of (?=(?:{'|'.join(_MONTHS)})\b)", re.IGNORECASE)
_HOUR = "|".join((*_HOURS, "1[0-2]|0?[1-9]"))
_HALF = r"(?:\s?(?P<half>[ap])\.?m\b\.?| in the (?P<part>morning|afternoon|evening)| at (?P<night>night))"
_CLOCK = (
    re.compile(rf"\b(?P<past>half|quarter) (?P<side>past|to) (?P<hour>{_HOUR})\b{_HALF}?", re.IGNORECASE),
    re.compile(rf"\b(?P<hour>{_HOUR})(?:[:.](?P<minute>[0-5]\d)| o'?clock)?{_HALF}", re.IGNORECASE),
)
_DAY_MONTH = re.compile(r"(?<![\w/.-])(?!24/7)(\d\d?)[/.](\d\d?)(?:[/.]((?:19|20)\d\d))?(?![\w/]|\.\d)")

_JOINT = "\u00b7"
_LAST = re.compile(rf"(?<![\w{_JOINT}])[\w{_JOINT}]++$")
_DENIAL = re.compile(r"(?<!\w)(?:no|do not|never) ", re.IGNORECASE)
_STOP = re.compile(r"[.;,]|\Z")
_AMOUNT = re.compile(r"\d\s?[A-Za-z]*$")
_FIRST = re.compile(rf"(?:the |our |my |a |an |its |their )?([\w{_JOINT}]+)")
_PARTS_OF = frozenset(
    {"most", "some", "one", "all", "none", "half", "out", "because", "many", "instead", "any", "each"}
)
_START, _END = r"(?<!\w)", r"(?!\w)"

_PHRASES = tuple(
    (re.compile(rf"{'' if phrase[0] in '[,' else _START}(?:{phrase}){'' if phrase[-1] in ') ' else _END}", re.IGNORECASE), plain)
    for phrase, plain in (
        # The opening of a statement, and a reason that it adds
        (r",? (?:because|so that|given that|,since|(?<=, )since|in order not to) [^.;]{1,200}", ""),
        (r",? (?:no|without) exceptions?|,? without fail|,? please\b", ""),
        (r"[- ]based\b(?= [a-z])", " "), (r"under (?=[~./])", "in "),
        # Denials
        (r"(vote[sd]?|advise[sd]?|decided?|decision|argue[sd]?|warn(?:s|ed)?|be|is|are|am) against", r"\1 not"),
        (r"(?:comes?|came|is|are|am|was|were) from", "origin"),
        (r"(?:(?:is|are|be) )?(?:strictly )?(?:forbidden|prohibited|banned|not (?:allowed|permitted|acceptable))", "not"),
        (r"reject(?:s|ed)?|refuse(?:s|d)?(?: to)?", "not accept"),
        (r"hands off", "do not touch"), (r"no longer|not any ?more", "not"), (r"(?:don't|do not|never) ever", "never"),
        (r"free of|devoid of|lacking|without (?:any|a|an)|without", "no"),
        (r"(\w+)[- ]free(?! (?:disk|space|memory|tier|plan|time))", r"no \1"),
        (r"(?:instead of|rather than|in place of|as opposed to|in preference to)", "and not"),
        (r"((?:pick|choos|chose|prefer|favou?r|select)\w* [\w.+# -]{1,40}) over", r"\1 and not"),
        (r"(?:was|were|has been|got) (?:considered and |looked at and )?(?:dropped|rejected|ruled out|discarded)", "is not"),
        (r"off[- ]limits|out of the question", "not allowed"),
        # Bounds and times
        (r"(\w+ \d\d?(?:st|nd|rd|th)?), (?=\d{4})", r"\1 "),
        (r"half an hour", "30 minutes"), (r"an? (?=(?:hour|minute|second)\b)", "1 "),
        (r"(?:larger|bigger|greater|more|longer|higher|older) than (?=\d)|(?:above|exceeding|in excess of) (?=\d)", "over "),
        (r"prior to|ahead of|in advance of", "before"), (r"subsequent to|following", "after"),
        (r"in case|provided(?: that)?|as long as|assuming", "if"), (r"apart from|other than|but not|save for", "except"),
        (r"these days|at the moment|right now|at present|from now on|nowadays|currently|now", ""),
        (r"(?:every|each) day|once a day|day by day", "daily"),
        (r"(?:and|or) (?:later|newer|higher|above|up|upwards|more)(?=[.;,]|$)", "atleast"), (r"at least|no (?:older|earlier|less|fewer) than", "atleast"),
        (r"at most|up to|no more than|not more than", "atmost"),
        (r"push(?:es|ed|ing)? (?=straight|direct)", "commit "),
        # Verbs of two words, and what has a name of one word too
        (r"(?:pull|merge)[- ]requests?", "pr"), (r"open (?=an? pr\b)", ""), (r"(?:front|user)[- ](?:end|interface)", "ui"),
        (r"graphics? cards?", "gpu"), (r"video (?:memory|ram)|vram|gpu memory", "video memory"),
        (r"used? to (?=\w)", "previously "), (r"would like|['\u2019]d like", "want"),
        (r"(?:want|hope|plan|intend|wish|tr(?:y|ie)|learn|start|begin|mean)(?:s|es|ed|ing)? to (?!be |see |have |get |know |hear )", "intending "),
        (r"(?:is|are|was|were) (?:about|going) to", "intending"),
        (r"(?:writ(?:e|es|ten)|saved?|put) (?:in)?to", "store in"),
    )
)  # fmt: skip


def in_plain_form(text: str) -> str:
    """Return a text with its turns of phrase in their plainest form."""
    text = opened(text)
    for pattern in _CLOCK:
        text = pattern.sub(_clock, text)
    text = re.sub(r"\b(?:12 )?(?:noon|midday)\b(?! (?:meal|nap))", "12:00", text, flags=re.IGNORECASE)
    text = _ON_DAY.sub(lambda match: f"{_ORDINALS[match[1].casefold()]} ", _DAY_MONTH.sub(_date, text))
    text = _turned_round(text)
    for phrase, plain in _PHRASES:
        text = phrase.sub(plain, text)
    return " ".join(_without_of(text).replace(_JOINT, " ").split())


def _turned_round(text: str) -> str:
    """Return "no file is deleted unless I am asked first" as "I am asked before file is deleted"."""
    for word in (" unless ", " until "):
        before, found, after = text.partition(word)
        denial = _DENIAL.search(before)
        if found and denial and not set(".;,") & set(before[denial.end() :]):
            end = _STOP.search(after)
            assert end is not None  # the end of the text at least
            condition, said = (
                after[: end.start()].removesuffix(" first"),
                before[denial.end() :].replace(" may be ", " be "),
            )
            return f"{before[: denial.start()]}{condition} before {said}{after[end.start() :]}"
    return text


def _without_of(text: str) -> str:
    """Return a text with "backup of the catalogue" as "catalogue backup": the order that one compares is of one kind."""
    pieces = text.split(" of ")
    text = pieces.pop()
    for piece in reversed(pieces):
        before, after = _LAST.search(piece), _FIRST.match(text)
        if before and after and before[0].casefold() not in _PARTS_OF and not _AMOUNT.search(piece):
            text = f"{piece[: before.start()]}{after[1]}{_JOINT}{before[0]}{text[after.end() :]}"
        else:
            text = f"{piece} of {text}"
    return text


def _clock(match: re.Match[str]) -> str:
    found = {name: (value or "").casefold() for name, value in match.groupdict().items()}
    hour = _HOURS[found["hour"]] if found["hour"] in _HOURS else int(found["hour"]) % 12
    minute = int(found.get("minute") or 0)
    if found.get("past"):
        minute = 30 if found["past"] == "half" else 15
        if found["side"] == "to":
            hour, minute = (hour - 1) % 12, 60 - minute
    is_late = found["half"] == "p" or found["part"] in ("afternoon", "evening") or bool(found["night"] and hour >= 6)
    if not (found["half"] or found["part"] or found["night"]):
        return f"{hour or 12:02d}:{minute:02d}"
    return f"{hour + 12 * is_late:02d}:{minute:02d}"


def _date(match: re.Match[str]) -> str:
    first, second, year = int(match[1]), int(match[2]), match[3] or ""
    day, month = (first, second) if first > 12 else (second, first) if second > 12 else (0, 0)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return match[0]
    return f"{day} {_MONTHS[month - 1]} {year}".strip()
