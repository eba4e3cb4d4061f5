"""Words without their endings, so that "migrations" and "migrating" can be compared. Pure, linear.

Law: a stem is for comparing and for nothing else; two words with one stem are taken for one.
"""

import re
from functools import lru_cache

from undrift.core.rules.ban_words import words_in

__all__ = ["parts_of", "stem_of", "stems_of"]

_ENDINGS = ("ions", "ion", "ings", "ing", "ers", "er", "ied", "ies", "ed", "es", "s", "e", "y")
_KEPT = words_in("this its his less always yes ours news aws js css dns ios k8s sms os")
_IRREGULAR = {
    "rewritten": "rewrit", "written": "writ", "wrote": "writ", "ran": "run", "sent": "send", "built": "build", "kept": "keep",
    "made": "mak", "left": "leav", "done": "do", "does": "do", "goes": "go", "gone": "go", "dependencies": "depend",
    "dependency": "depend", "deps": "depend", "dep": "depend", "tbl": "tabl", "libs": "librar", "pkg": "packag", "pkgs": "packag",
    "deployment": "deploy", "deployments": "deploy", "repository": "repo", "repositories": "repo", "config": "config",
    "configuration": "config", "configurations": "config", "configs": "config", "directories": "dir", "directory": "dir",
    "folder": "dir", "folders": "dir", "db": "databas", "dbs": "databas", "production": "prod", "documentation": "doc",
    "authentication": "auth", "specs": "spec", "specification": "spec", "environment": "env", "testing": "test",
    "tests": "test", "teh": "the", "googling": "googl", "ing": "ing", "installation": "instal", "installations": "instal", "user": "user", "users": "user", "utilities": "util", "utility": "util", "utils": "util",
}  # fmt: skip
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4_096)
def stem_of(word: str) -> str:
    """Return a word in small letters without its ending."""
    word = word.lower().removesuffix("'s").strip("'")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word in _KEPT or not word.isalpha():
        return word
    for ending in _ENDINGS:
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= (5 if ending[:3] == "ion" else 3)
            and not (ending == "s" and word.endswith(("ss", "us", "is")))
        ):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text; words that a hyphen joins count apart."""
    return tuple(stem_of(word) for word in text.lower().replace("-", " ").replace("_", " ").split())


@lru_cache(maxsize=4_096)
def parts_of(text: str) -> frozenset[str]:
    """Return the stems of the parts of a path or name: it is split at its signs and where a capital letter begins a word."""
    found: set[str] = set()
    for part in re.split(r"[^A-Za-z0-9]+", text[:400]):
        found.add(stem_of(part))
        found |= {stem_of(piece) for piece in _PARTS.findall(part)}
    return frozenset(found - {""})
