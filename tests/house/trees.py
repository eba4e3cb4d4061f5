"""The syntax trees of source texts, each taken apart once for all tests that look through it."""

import ast
import gc
from functools import cache

__all__ = ["nodes"]


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, the module first. Nobody changes them, so they are kept out of garbage collection."""
    gc.disable()  # it would look through all trees again and again while one grows
    try:
        found = tuple(ast.walk(ast.parse(text)))
        gc.freeze()
    finally:
        gc.enable()
    return found
