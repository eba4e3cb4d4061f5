"""The syntax trees of source texts, each taken apart once for all tests that look through it."""

import ast
from functools import cache

__all__ = ["nodes"]


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, the module first. Nobody changes them."""
    return tuple(ast.walk(ast.parse(text)))
