"""Every regular expression of the package, how it is used, and texts that are hard for it, made of its own parts."""

import ast
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import undrift
from tests.house.trees import nodes

__all__ = ["compiled", "made_in_functions", "modules", "seconds", "texts", "uses"]

Expression = tuple[Any, int]
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_MOST_PAIRED = 20
_OF_CATEGORY = {
    op.CATEGORY_WORD: "a1_", op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_NOT_SPACE: "a-",
    op.CATEGORY_NOT_WORD: "-", op.CATEGORY_NOT_DIGIT: "a",
}  # fmt: skip


@cache
def modules() -> tuple[ModuleType, ...]:
    """Import all modules but those of frameworks that are not installed."""
    found = []
    for info in pkgutil.walk_packages(undrift.__path__, "undrift."):
        try:
            found.append(importlib.import_module(info.name))
        except ImportError:
            assert info.name.startswith("undrift.integrations.")
    return tuple(found)


@cache
def _nodes(module: ModuleType) -> tuple[ast.AST, ...]:
    """All nodes of a module's source."""
    return nodes(Path(str(module.__file__)).read_text("utf-8"))


def compiled() -> dict[Expression, str]:
    """Give each expression that a module holds, however deep, or that a function without arguments makes; and its place."""
    found: dict[Expression, str] = {}
    seen: set[int] = set()
    for module in modules():
        for name, value in list(vars(module).items()):
            _look(value, f"{module.__name__}.{name}", found, seen)
    return found


def _look(value: Any, place: str, found: dict[Expression, str], seen: set[int], depth: int = 0) -> None:
    if isinstance(value, re.Pattern):
        found.setdefault((value.pattern, value.flags), place)
        return
    if id(value) in seen or depth > 6:
        return
    seen.add(id(value))
    inside: Mapping[Any, Any] = {}
    if isinstance(value, Mapping):
        inside = dict(value)
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = dict(enumerate(value))
    elif isinstance(value, type):
        inside = vars(value) if value.__module__.startswith("undrift") else {}
    elif hasattr(value, "cache_info"):
        wrapped = inspect.signature(value)
        if "Pattern" in str(wrapped.return_annotation) and not wrapped.parameters:
            inside = {"()": value()}
    elif type(value).__module__.startswith("undrift"):
        inside = {name: getattr(value, name, None) for name in dir(value) if not name.startswith("__")}
    for name, one in list(inside.items()):
        _look(one, f"{place}[{name}]", found, seen, depth + 1)


def made_in_functions() -> Iterator[tuple[str, str | None]]:
    """Give, of each call inside a function that names an expression, its place and the expression; None if it is built."""
    for module in modules():
        for function in _nodes(module):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and call.args and _names_expression(call.func):
                    first = call.args[0]
                    known = first.value if isinstance(first, ast.Constant) else None
                    if isinstance(first, ast.Name):
                        known = vars(module).get(first.id)
                    yield f"{module.__name__}.{function.name}", known if isinstance(known, str) else None


def _names_expression(function: ast.expr) -> bool:
    is_of_re = (
        isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"
    )
    methods = ("compile", "search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
    return (is_of_re and function.attr in methods) or (isinstance(function, ast.Name) and function.id == "compiled")  # type: ignore[attr-defined]


def uses() -> dict[re.Pattern[Any], set[str]]:
    """Give the methods that the code calls on each expression which has a name; "value" if it is handed on."""
    found: dict[re.Pattern[Any], set[str]] = {}
    for module in modules():
        names, called = vars(module), set[int]()
        for node in _nodes(module):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if isinstance(expression := names.get(node.value.id), re.Pattern):
                    found.setdefault(expression, set()).add(node.attr)
                called.add(id(node.value))
        for node in _nodes(module):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or id(node) in called:
                continue
            if isinstance(expression := names.get(node.id), re.Pattern):
                found.setdefault(expression, set()).add("value")
    return found


def texts(expression: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Make pump strings: what stands once before, and what is repeated.

    Its literals and a few characters of its classes, each alone and each beside each other; the shortest text that it
    takes; and for each of its repetitions what comes before it, once or with it again and again.
    """
    tree = _parser.parse(expression.pattern, expression.flags)
    parts = [part[:200] for part in dict.fromkeys(_parts(tree))]
    shortest, repetitions = _shortest(tree)
    found = [("", part) for part in parts]
    found += [("", one + two) for one, two in product(parts[:_MOST_PAIRED], repeat=2) if one != two]
    found += [("", shortest + end) for end in ("", " ", "\n")]
    for before, body in repetitions:
        found += [(before, body), ("", before), *(("", before + body * count + " ") for count in (3, 100, 1_000))]
    return [(before, body or "a") for before, body in dict.fromkeys(found)]


def _parts(tree: Any) -> Iterator[str]:
    run = ""
    for kind, given in tree:
        if kind is op.LITERAL:
            run += chr(given)
            continue
        if run:
            yield run
            run = ""
        if kind is op.IN:
            yield from _members(given)
        elif kind in (op.ANY, op.NOT_LITERAL):
            yield "a"
        for inner in _inside(kind, given):
            yield from _parts(inner)
    if run:
        yield run


def _inside(kind: Any, given: Any) -> list[Any]:
    if kind is op.SUBPATTERN:
        return [given[3]]
    if kind is op.BRANCH:
        return list(given[1])
    if kind in _REPEATS:
        return [given[2]]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [given[1]]
    return [given] if kind is op.ATOMIC_GROUP else []


def _members(items: Any) -> list[str]:
    """A few characters of a class."""
    found: list[str] = []
    for kind, given in items:
        if kind is op.LITERAL:
            found.append(chr(given))
        elif kind is op.RANGE:
            found.append(chr(given[0]))
        elif kind is op.CATEGORY:
            found += _OF_CATEGORY.get(given, "a")
    if items[0][0] is op.NEGATE:
        return [character for character in "a1- .\n" if character not in found][:3]
    return found[:8]


def _shortest(tree: Any) -> tuple[str, list[tuple[str, str]]]:
    """A short text that the expression takes, and of each repetition in it what stands before it and one round of it."""
    text, repetitions = "", list[tuple[str, str]]()
    for kind, given in tree:
        if kind is op.LITERAL:
            text += chr(given)
        elif kind is op.IN:
            text += (_members(given) or ["a"])[0]
        elif kind in (op.ANY, op.NOT_LITERAL):
            text += "a"
        elif kind in (op.SUBPATTERN, op.ATOMIC_GROUP, op.BRANCH, *_REPEATS):
            taken = [_shortest(inner) for inner in _inside(kind, given)]
            if kind in _REPEATS:
                repetitions.append((text, taken[0][0]))
            repetitions += [(text + before, body) for _, inner in taken for before, body in inner]
            text += taken[0][0] * (max(given[0], 1) if kind in _REPEATS else 1)
    return text, repetitions


def seconds(expression: re.Pattern[Any], text: Any, method: str) -> float:
    """Measure the processor's seconds for one text: one attempt at its start, or a search through all of it."""
    started = time.process_time_ns()
    if method in ("match", "fullmatch"):
        getattr(expression, method)(text)
    else:
        for _ in expression.finditer(text):
            pass
    return (time.process_time_ns() - started) / 1e9
