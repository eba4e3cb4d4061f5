"""The marker that names a tool result's task, used if only the text can name it. Pure, linear in the text.

Law: a mark is content, and content can be forged. The authority is the task store, which knows a call's task by the
call's id; a mark only carries it if there is no side channel, and `marker_of` may be asked only about text that
`mark` has written. That is why `mark` makes look-alikes in what it marks unreadable first, and why only a whole last
line counts. Every quantifier here is bounded or possessive: no expression can run away.
"""

import functools
import hashlib
import re
from dataclasses import dataclass

__all__ = ["StreamStripper", "mark", "marker_of", "neutralise", "safe_id", "strip_markers"]

_PREFIX = "<!-- sigma-task: "
_SUFFIX = " -->"
_MOST_ID_CHARACTERS = 64
_MOST_MARKER_CHARACTERS = len(_PREFIX) + _MOST_ID_CHARACTERS + len(_SUFFIX)

_ID = re.compile(r"(?=[A-Za-z0-9._-]{1,64}\Z)[A-Za-z0-9_]++(?>(?:[.-][A-Za-z0-9_]++)*)", re.ASCII)
_HASHED = re.compile(r"h-[0-9a-f]{16}", re.ASCII)
_MARKER_PATTERN = r"<!-- sigma-task: (?=[A-Za-z0-9._-]{1,64}+ -->)[A-Za-z0-9_]++(?>(?:[.-][A-Za-z0-9_]++)*) -->"
_MARKER = re.compile(_MARKER_PATTERN, re.ASCII)
_MARKERS = re.compile(rf"\n(?>(?:{_MARKER_PATTERN})+)(?=\n|\Z)|{_MARKER_PATTERN}", re.ASCII)
_ID_BEGUN = re.compile(r"[A-Za-z0-9._-]{1,64}+(?: (?:-(?:-)?)?)?", re.ASCII)

_LETTERS = {
    "s": (
        r"\u015a-\u0161\u017f\u01bd\u0218\u0219\u0282\u02e2\u0405\u0455\u054f\u10bd\u13d5\u13da\u1e60-\u1e69"
        r"\u1e9b\u209b\u24c8\u24e2\ua4e2\ua731\uff33\uff53\U0001d412\U0001d42c\U0001d446\U0001d460\U0001d47a"
        r"\U0001d494\U0001d4ae\U0001d4c8\U0001d4e2\U0001d4fc\U0001d516\U0001d530\U0001d54a\U0001d564\U0001d57e"
        r"\U0001d598\U0001d5b2\U0001d5cc\U0001d5e6\U0001d600\U0001d61a\U0001d634\U0001d64e\U0001d668\U0001d682"
        r"\U0001d69c\U0001f142"
    ),
    "i": (
        r"\u00cc-\u00cf\u00ec-\u00ef\u0128-\u0131\u01c0\u01cf\u01d0\u0208-\u020b\u0269\u0399\u03b9\u0406\u0456"
        r"\u04c0\u04cf\u13a5\u1d35\u1d62\u1e2c-\u1e2f\u1ec8-\u1ecb\u2071\u2110\u2111\u2139\u2148\u2160\u2170"
        r"\u2223\u24be\u24d8\u2c92\u2c93\ua4f2\ua647\uff29\uff49\U0001d408\U0001d422\U0001d43c\U0001d456"
        r"\U0001d470\U0001d48a\U0001d4be\U0001d4d8\U0001d4f2\U0001d526\U0001d540\U0001d55a\U0001d574\U0001d58e"
        r"\U0001d5a8\U0001d5c2\U0001d5dc\U0001d5f6\U0001d610\U0001d62a\U0001d644\U0001d65e\U0001d678\U0001d692"
        r"\U0001f138"
    ),
    "g": (
        r"\u011c-\u0123\u018d\u01e6\u01e7\u01f4\u01f5\u0261\u0262\u050d\u0581\u13c0\u1d33\u1d4d\u1e20\u1e21"
        r"\u210a\u24bc\u24d6\ua4d6\uff27\uff47\U0001d406\U0001d420\U0001d43a\U0001d454\U0001d46e\U0001d488"
        r"\U0001d4a2\U0001d4d6\U0001d4f0\U0001d50a\U0001d524\U0001d53e\U0001d558\U0001d572\U0001d58c\U0001d5a6"
        r"\U0001d5c0\U0001d5da\U0001d5f4\U0001d60e\U0001d628\U0001d642\U0001d65c\U0001d676\U0001d690\U0001f136"
    ),
    "m": (
        r"\u039c\u041c\u043c\u13b7\u1d0d\u1d39\u1d50\u1e3e-\u1e43\u2098\u2133\u216f\u217f\u24c2\u24dc"
        r"\u2c98\u2c99\ua4df\uff2d\uff4d\U0001d40c\U0001d426\U0001d440\U0001d45a\U0001d474\U0001d48e\U0001d4c2"
        r"\U0001d4dc\U0001d4f6\U0001d510\U0001d52a\U0001d544\U0001d55e\U0001d578\U0001d592\U0001d5ac\U0001d5c6"
        r"\U0001d5e0\U0001d5fa\U0001d614\U0001d62e\U0001d648\U0001d662\U0001d67c\U0001d696\U0001f13c"
    ),
    "a": (
        r"\u00aa\u00c0-\u00c5\u00e0-\u00e5\u0100-\u0105\u01cd\u01ce\u01de-\u01e1\u01fa\u01fb\u0200-\u0203"
        r"\u0226\u0227\u0251\u0391\u03b1\u0410\u0430\u13aa\u1d00\u1d2c\u1d43\u1e00\u1e01\u1ea0-\u1eb7\u2090"
        r"\u212b\u24b6\u24d0\u2c80\u2c81\ua4ee\uff21\uff41\U0001d400\U0001d41a\U0001d434\U0001d44e\U0001d468"
        r"\U0001d482\U0001d49c\U0001d4b6\U0001d4d0\U0001d4ea\U0001d504\U0001d51e\U0001d538\U0001d552\U0001d56c"
        r"\U0001d586\U0001d5a0\U0001d5ba\U0001d5d4\U0001d5ee\U0001d608\U0001d622\U0001d63c\U0001d656\U0001d670"
        r"\U0001d68a\U0001f130"
    ),
    "t": (
        r"\u0162-\u0165\u021a\u021b\u03a4\u03c4\u0422\u0442\u13a2\u1d1b\u1d40\u1d57\u1e6a-\u1e71\u1e97\u209c"
        r"\u24c9\u24e3\u2ca6\u2ca7\ua4d4\uff34\uff54\U0001d413\U0001d42d\U0001d447\U0001d461\U0001d47b"
        r"\U0001d495\U0001d4af\U0001d4c9\U0001d4e3\U0001d4fd\U0001d517\U0001d531\U0001d54b\U0001d565\U0001d57f"
        r"\U0001d599\U0001d5b3\U0001d5cd\U0001d5e7\U0001d601\U0001d61b\U0001d635\U0001d64f\U0001d669\U0001d683"
        r"\U0001d69d\U0001f143"
    ),
    "k": (
        r"\u0136-\u0138\u0199\u01e8\u01e9\u039a\u03ba\u041a\u043a\u049a\u049b\u13e6\u1d0b\u1d37\u1d4f"
        r"\u1e30-\u1e35\u2096\u212a\u24c0\u24da\u2c94\u2c95\ua4d7\uff2b\uff4b\U0001d40a\U0001d424\U0001d43e"
        r"\U0001d458\U0001d472\U0001d48c\U0001d4a6\U0001d4c0\U0001d4da\U0001d4f4\U0001d50e\U0001d528\U0001d542"
        r"\U0001d55c\U0001d576\U0001d590\U0001d5aa\U0001d5c4\U0001d5de\U0001d5f8\U0001d612\U0001d62c\U0001d646"
        r"\U0001d660\U0001d67a\U0001d694\U0001f13a"
    ),
}
"""Characters that look like a letter of "sigma-task": accented, styled, of another alphabet (generated from Unicode's
compatibility decompositions; the alphabets by hand). As the inside of a character class."""
_DASHES = (
    r"\-\u02d7\u058a\u05be\u06d4\u1400\u1806\u2010-\u2015\u2043\u2212\u2796\u2cba\u2e1a\u2e3a\u2e3b\u301c\u3030"
    r"\u30a0\u30fc\ufe31\ufe32\ufe58\ufe63\uff0d\U00010ead"
)
_COLONS = r":\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u16ec\u1803\u1809\u205a\u2236\ua4fd\ua789\ufe13\ufe30\ufe55\uff1a"
_UNSEEN = (
    r"\s\x00-\x1f\x7f-\x9f\u00ad\u0300-\u036f\u0483-\u0489\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\u2800\u3164\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff"
)
"""White space, controls, and what is drawn as nothing or upon the letter before it."""
_UNSEEN_HEXADECIMAL = "(?:[9a-d]|20|a[0d]|200[0-9a-f]|202[89a-f]|206[0-4]|feff)"
_UNSEEN_DECIMAL = "(?:9|1[0-3]|32|160|173|819[2-9]|820[0-7]|823[2-9]|828[89]|829[0-2]|65279)"
_UNSEEN_NAMES = r"(?i:nbsp|shy|zwn?j|zerowidthspace|tab|newline|[lr]rm|e[mn]sp|thinsp|hairsp|nobreak|ic|it|af)"
_DASH_CODES = (0x2D, 0x2D7, *range(0x2010, 0x2016), 0x2043, 0x2212, 0xFE58, 0xFE63, 0xFF0D)
_DASH_NAMES = r"(?:hyphen|dash|[mn]dash|horbar|minus|hybull)"
_COLON_CODES = (0x3A, 0x2236, 0xA789, 0xFE55, 0xFF1A)
_COLON_NAMES = r"(?:colon|ratio)"
_NEEDED = ("sS", "gG", "mM", "aA", "tT", "kK", "-", ":")
"""A part of every look-alike in plain ASCII."""


def safe_id(task_id: str) -> str:
    """Return an id that may stand in a mark, a tombstone and a command: itself, or ``h-`` and 16 hexadecimal characters.

    Itself if it is 1 to 64 letters, digits and ``_`` of ASCII, in which single dots and dashes may stand between
    others, and does not look like a hash. Another id gives another answer, but for 64 bits of SHA-256. Apply it once,
    to the unchanged id: the answer for a hash is another hash.
    """
    if _ID.fullmatch(task_id) and not _HASHED.fullmatch(task_id):
        return task_id
    return "h-" + hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def mark(text: str, task_id: str) -> str:
    """Return the text with a task's marker as its last line; imitations of markers in the text are made harmless.

    `text`: the result of a tool; if it has several parts, the last text part.
    """
    marker = f"{_PREFIX}{safe_id(task_id)}{_SUFFIX}"
    return f"{neutralise(text)}\n{marker}" if text else marker


def marker_of(text: str) -> str | None:
    """Return the safe id in the marker on the last line. None means: there is no marker.

    Ask only about text that `mark` has written: for any other text the answer is what its author wrote.
    """
    text = text.rstrip(" \t\r\n")
    end = len(text)
    start = max(0, end - _MOST_MARKER_CHARACTERS - 1)  # one more, to see that a line begins there
    start = text.rfind("\n", start, end) + 1 or start
    found = _MARKER.fullmatch(text, start, end)
    if found is None or (start and text[start - 1] != "\n"):
        return None
    return found.group()[len(_PREFIX) : -len(_SUFFIX)]


def neutralise(text: str) -> str:
    """Make imitations of markers unreadable; a text without any is returned unchanged.

    A look-alike is the word ``sigma-task`` before a colon, however it is spelled: in any case, with white space, line
    ends or unseen characters between its letters, in letters and dashes of other alphabets, as HTML entities, escapes
    of JSON or of an address, coloured for a terminal, in a comment or in several. Its dash gets a backslash in front.
    """
    ascii_only = text.isascii()
    encoded = any(hint in text for hint in "&\\%\x1b") and _encodings().search(text) is not None
    if not encoded and ascii_only and not all(any(form in text for form in forms) for forms in _NEEDED):
        return text
    if _last_letter(ascii_only, encoded).search(text) is None:
        return text
    if _PREFIX in text:  # what a text is most likely full of, at the speed of a copy
        text = text.replace(_PREFIX, _PREFIX.replace("-task", r"\-task"))
    return _look_alike(ascii_only, encoded).sub(r"\g<1>\\", text)


def strip_markers(text: str) -> str:
    r"""Return the text without markers, for the user; a line with only a marker is removed.

    One pass: what only becomes a mark when another is taken out of it was never a mark of ours, and stays.
    """
    return _MARKERS.sub("", text) if _PREFIX in text else text


class StreamStripper:
    """Strips markers from a text that arrives in pieces; the result equals `strip_markers` of the whole text.

    It holds back a line end and the beginning of a mark, at most 86 characters, until more is known.
    """

    def __init__(self) -> None:
        self._held = ""

    @property
    def held_characters(self) -> int:
        """The number of characters held back, because they may be part of a marker: at most 171."""
        return len(self._held)

    def feed(self, delta: str) -> str:
        """Add a piece; return the part of the text that can be shown now, which may be empty."""
        text = self._held + delta
        cut, marked, begun = _open_end(text)
        if not marked:
            self._held = text[cut:]
        else:  # one mark or more: the next character says whether the line end before them stays
            line_end = "\n" if text.startswith("\n", cut) else ""
            self._held = f"{line_end}{_PREFIX}0{_SUFFIX}{text[begun:]}"
        return strip_markers(text[:cut])

    def close(self) -> str:
        """Return the held characters that are no marker; the next `feed` begins a new text."""
        held, self._held = self._held, ""
        return strip_markers(held)


def _open_end(text: str) -> tuple[int, bool, int]:
    """Find where a text ends in what may go with a mark: its start, whether a whole mark is in it, where one begins."""
    begun = text.rfind("<", max(0, len(text) - _MOST_MARKER_CHARACTERS))
    if begun < 0 or not _begins_marker(text[begun:]):
        begun = len(text)
    cut = begun
    while cut and text[cut - 1] == ">":
        start = text.rfind("<", max(0, cut - _MOST_MARKER_CHARACTERS), cut)
        if start < 0 or not _MARKER.fullmatch(text, start, cut):
            break
        cut = start
    marked = cut < begun
    if cut and text[cut - 1] == "\n":
        cut -= 1
    return cut, marked, begun


def _begins_marker(end: str) -> bool:
    if len(end) <= len(_PREFIX):
        return _PREFIX.startswith(end)
    return end.startswith(_PREFIX) and _ID_BEGUN.fullmatch(end, len(_PREFIX)) is not None


@dataclass(frozen=True, slots=True)
class _Forms:
    """Patterns for a character: in hexadecimal and decimal digits, and by the names of its entities."""

    hexadecimal: str
    decimal: str
    names: str = ""


def _forms(codes: tuple[int, ...], names: str = "") -> _Forms:
    return _Forms("|".join(f"{code:x}" for code in codes), "|".join(map(str, codes)), names)


@functools.cache
def _look_alike(ascii_only: bool, encoded: bool) -> re.Pattern[str]:
    """Return the pattern of the word up to its dash; behind the dash the rest of it and a colon must follow.

    Args:
        ascii_only: Whether the text has no other characters: the search is then several times as fast.
        encoded: Whether the text has what could be an entity or an escape.
    """
    unseen, dash, colon = r"[\s\x00-\x1f\x7f]", "-", ":"
    if not ascii_only:
        unseen, dash, colon = f"[{_UNSEEN}]", f"[{_DASHES}]", f"[{_COLONS}]"
    if encoded:
        unseen = rf"(?:\x1b\[[0-9;:]*+[A-Za-z]|{unseen}|\\[nrtfv]|{_encoded(_Forms(_UNSEEN_HEXADECIMAL, _UNSEEN_DECIMAL, _UNSEEN_NAMES))})"
        dash = f"(?:{dash}|{_encoded(_forms(_DASH_CODES, _DASH_NAMES))})"
        colon = f"(?:{colon}|{_encoded(_forms(_COLON_CODES, _COLON_NAMES))})"
    unseen = f"(?>{unseen}*)"
    letters = [_letter(letter, ascii_only, encoded) for letter in "sigmatask"]
    letters[0] = _opening("s", ascii_only, encoded)
    first, second = unseen.join(letters[:5]), unseen.join(letters[5:])
    between = rf"(?>(?:{unseen}[<!>\-])*){unseen}"  # the rest of a comment in a comment
    return re.compile(f"({first}{unseen})(?={dash}(?>(?:{unseen}{dash})*){unseen}{second}{between}{colon})")


@functools.cache
def _last_letter(ascii_only: bool, encoded: bool) -> re.Pattern[str]:
    """Return the pattern of a ``k``: made-up text full of beginnings has none, and is then not searched twice."""
    return re.compile(_opening("k", ascii_only, encoded))


def _opening(letter: str, ascii_only: bool, encoded: bool) -> str:
    """Return a letter as the first of a pattern: one that opens with a class is searched at the speed of a scan."""
    members = _letter(letter, ascii_only, False)
    if not encoded:
        return members
    return members[:-1] + rf"&\\%](?:(?<![&\\%])|{_encoded_on(_forms(_codes(letter)))})"


def _letter(letter: str, ascii_only: bool, encoded: bool) -> str:
    plain = "".join(map(chr, _codes(letter)))
    members = f"[{plain}]" if ascii_only else f"[{plain}{_LETTERS[letter]}]"
    return f"(?:{members}|{_encoded(_forms(_codes(letter)))})" if encoded else members


def _codes(letter: str) -> tuple[int, ...]:
    return tuple(map(ord, letter + letter.upper() + ("l1|" if letter == "i" else "")))


@functools.cache
def _encodings() -> re.Pattern[str]:
    """Return the pattern of what makes it worth while to read encoded letters."""
    names = f"{_UNSEEN_NAMES}|{_DASH_NAMES}|{_COLON_NAMES}"
    on = rf"(?<=&)(?:#|amp;|{names})|(?<=\\)[uxnrtfv]|(?<=%)[0-9a-fA-F]{{2}}|(?<=\x1b)\["
    return re.compile(rf"[&\\%\x1b](?=[#\[A-Za-z0-9])(?:{on})")


def _encoded(forms: _Forms) -> str:
    return rf"(?:&{_entities(forms)}|\\{_escapes(forms)}|%{_octets(forms)})"


def _encoded_on(forms: _Forms) -> str:
    """Return `_encoded` behind its first character."""
    return rf"(?<=&){_entities(forms)}|(?<=\\){_escapes(forms)}|(?<=%){_octets(forms)}"


def _entities(forms: _Forms) -> str:
    named = f"|{forms.names}(?![A-Za-z0-9])" if forms.names else ""
    numbers = rf"[xX]0*+(?i:{forms.hexadecimal})(?![0-9A-Fa-f])|0*+(?:{forms.decimal})(?![0-9])"
    return rf"(?>(?:amp;)*)(?:#(?:{numbers}){named});?+"


def _escapes(forms: _Forms) -> str:
    digits = rf"0*+(?i:{forms.hexadecimal})"
    return rf"(?:u(?=[0-9A-Fa-f]{{4}}){digits}|u\{{{digits}\}}|x{digits})"


def _octets(forms: _Forms) -> str:
    return rf"0?+(?i:{forms.hexadecimal})"
