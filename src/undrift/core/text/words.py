"""The words of a text, and their stems. Pure, linear in the text.

Law: the only splitter and the only stemmer. A word is a run of letters and digits, which is how the full-text index cuts a
text. A term is what stands between blanks: it holds words, and the signs that join them, as in ``3.11``, ``C++``, ``src/a.py``.
"""

import re
from functools import cache

__all__ = ["opened", "speaker_key", "stem", "stems_of", "terms_of", "words_of", "words_written"]

_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r"[$€£]?[\w.+#/@:'\u2019%`*-]+|=")
_EDGE = "`'\"\u2019*.,:;!?()"
_SIGNED = frozenset({"C#", "F#", "C++"})
_NO_TERM = frozenset("=-/.:")
_CONTRACTION = re.compile(r"\b(can)(?:not|['\u2019]t)\b|\b(wo)n['\u2019]t\b|(\w)n['\u2019]t\b", re.IGNORECASE)
_DOUBLED = re.compile(r"([bdgmnprt])\1$")
_MOST_WORDS_OF_A_SPEAKER = 32
_LONGEST_WORD = 64  # characters; a longer run is data, and only its beginning counts

_IRREGULAR = {
    "written": "write", "wrote": "write", "built": "build",
    "ran": "run", "kept": "keep", "made": "make", "chosen": "choose",
    "chose": "choose", "went": "go", "gone": "go", "goes": "go",
    "done": "do", "sent": "send", "using": "use", "used": "use",
    "uses": "use", "indices": "index", "took": "take", "taken": "take", "led": "lead", "configuration": "config",
    "docs": "doc", "documentation": "doc", "development": "dev", "production": "prod", "repository": "repo",
    "authentication": "authenticate", "expiry": "expire", "found": "find", "gave": "give", "given": "give",
    "got": "get", "shown": "show", "met": "meet", "said": "say",
}  # fmt: skip


def words_written(text: str) -> list[str]:
    """Return the words of a text as written, with repetitions."""
    return [word[:_LONGEST_WORD] for word in _WORD.findall(text)]


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, with repetitions."""
    return [word[:_LONGEST_WORD].casefold() for word in _WORD.findall(text)]


def speaker_key(name: str) -> str:
    """Return a speaker's name as a key: its words in lower case; empty if it has no words."""
    return " ".join(words_of(name)[:_MOST_WORDS_OF_A_SPEAKER])


def terms_of(text: str) -> list[str]:
    """Return the terms of a text as written, without the punctuation around them."""
    terms = (match[0] if match[0] in _SIGNED else match[0].strip(_EDGE) for match in _TERM.finditer(text))
    return [term for term in terms if term and not set(term) <= _NO_TERM]


def opened(text: str) -> str:
    """Return a text with each negation as a separate word: ``can not`` for ``can't``."""
    return _CONTRACTION.sub(lambda m: "can not" if m[1] else "will not" if m[2] else f"{m[3]} not", text)


def stem(word: str) -> str:
    """Return the stem that all forms of an English word share, its usual short form included."""
    word = word.replace("\u2019", "'").removesuffix("'s")
    word = _IRREGULAR.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            if ending in ("ing", "ed") and len(word) > 3:
                word = _DOUBLED.sub(r"\1", word)
            return word[:-1] if word.endswith("e") and len(word) > 3 else word
    return word


@cache
def stems_of(words: frozenset[str]) -> frozenset[str]:
    """Return the stems of a fixed set of words."""
    return frozenset(stem(word) for word in words)
