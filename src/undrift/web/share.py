"""The view of what may stand in a file to share: the page's own words, and the names that it must not hold.

Law: a word is ours if the page's files have it, or a text of the code that writes its sentences. A name is ours if it stands in
our tables. No word of a session, a store or a setting counts.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from undrift.profiles import PROFILES
from undrift.settings.model_table import MODELS, UNKNOWN, lookup
from undrift.web.source import PageSource

__all__ = ["share"]

_SAID_BY = ("undrift.web", "undrift.core", "undrift.core.window")
"""The packages whose sentences the views show: their own, the balance, and why a block left."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec")
_PERSON = re.compile(r"(?:[a-z]:|/mnt/[a-z])?[\\/](?:home|Users)[\\/]([^\\/]{1,100})(?:[\\/]|\Z)", re.IGNORECASE)
"""A folder in a person's home, of any system."""

_NO_NAMES = frozenset({"", "admin", "app", "dev", "home", "node", "root", "runner", "ubuntu", "user", "users", "work"})
"""Last parts of home folders that name no person."""


def share(source: PageSource, _: Mapping[str, str]) -> dict[str, Any]:
    """Return our words, the names of models and clients with those of our tables, and the folders and people to replace."""
    own = os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    folders = {one for one in (own, os.path.realpath(own)) if len(one) > 1}
    names = {re.split(r"[\\/]", one)[-1] for one in folders}
    names |= {found[1] for one in source.sessions() if (found := _PERSON.match(one.folder))}
    models = {one.model: lookup(one.model).name for one in source.sessions()}
    ours = {name: name for name in (*(one.name for one in MODELS), *PROFILES)}
    return {
        "words": list(_words()),
        "clients": list(PROFILES),
        "names": {**{name: row for name, row in models.items() if row != UNKNOWN.name}, **ours},
        "folders": sorted(folders, key=len, reverse=True),
        "people": sorted(one for one in names if one.casefold() not in _NO_NAMES and len(one) > 2),
    }


@lru_cache(maxsize=1)
def _words() -> tuple[str, ...]:
    """Return the words of the page's own texts, in lower case."""
    static = files("undrift.web").joinpath("static").iterdir()
    texts = [*_MONTHS, *(one.read_text(encoding="utf-8") for one in static if one.name.endswith((".js", ".html")))]
    for package in _SAID_BY:
        for one in files(package).iterdir():
            if one.name.endswith(".py"):
                texts += _python_texts(one.read_text(encoding="utf-8"))
    return tuple(sorted({word.casefold() for text in texts for word in _WORD.findall(text)}))


def _python_texts(code: str) -> Iterator[str]:
    """Yield the texts of a module but its docstrings."""
    for node in ast.walk(ast.parse(code)):
        for child in () if isinstance(node, ast.Expr) else ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.value
