"""Takes what a command printed out of the envelope that its client put around it. Pure, linear in the text.

Codex puts a header of a few lines before it (``Script completed``, ``Wall time``, ``Output:``). Its older releases, and an
agent that prints ``JSON.stringify(r)``, give an object with the text as one long string.
"""

import json
import re

__all__ = ["printed"]

_HEADER_LINES = 8
_HEADER_END = "Output:"
_OF_CODE = "Script "
# The text of an object that fills a line, or a line of its own in an object with a member a line.
_OUTPUT = re.compile(
    r'\s*(?:\{(?:[^"{}]{1,60}+|"(?>(?:[^"\\]|\\.){0,400})"){0,40}?)?"output":\s?(?P<text>"(?>(?:[^"\\]|\\.)*)")'
)


def printed(text: str) -> tuple[list[str], int]:
    """Return the lines of a result, and how many of them at the beginning are the client's header."""
    lines = text.split("\n")
    head = next((place + 1 for place, line in enumerate(lines[:_HEADER_LINES]) if line == _HEADER_END), 0)
    if head and lines[0].startswith(_OF_CODE) and lines[head : head + 1] == [""]:
        head += 1  # header and output are two parts of one result
    if '"output":' not in text:
        return lines, head
    return [*lines[:head], *(inner for line in lines[head:] for inner in _inner(line))], head


def _inner(line: str) -> list[str]:
    found = _OUTPUT.match(line)
    if found is None:
        return [line]
    try:
        inner = json.loads(found["text"], strict=False)
    except ValueError:
        return [line]
    return inner.split("\n") if isinstance(inner, str) else [line]
