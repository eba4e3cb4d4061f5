"""The Markdown of a docstring: paragraphs, lists, examples and signatures.

Law: pure. The words stay; only marks and line breaks change.
"""

import re
import textwrap
from collections.abc import Iterator

import griffe

from tests.reference.source import constant

__all__ = ["assigned", "bullet", "prose", "signature", "typed", "value"]

_WIDTH = 120
_SIGNATURE_WIDTH = 80
_EMPTY = {"dict": "{}", "list": "[]", "tuple": "()", "dict[str, Any]": "{}"}


def prose(text: str) -> str:
    """Return a docstring's text as Markdown; an example and a literal block are fenced."""
    return "\n\n".join(_blocks(text.strip("\n")))


def _blocks(text: str) -> Iterator[str]:
    parts = re.split(r"\n\s*\n", text)
    at = 0
    while at < len(parts):
        part, at = parts[at].strip("\n"), at + 1
        if part.lstrip().startswith(">>>"):
            yield f"```pycon\n{textwrap.dedent(part)}\n```"
        elif part.endswith("::"):
            literal = []
            while at < len(parts) and parts[at].startswith(" "):
                literal.append(parts[at].strip("\n"))
                at += 1
            before = part.removesuffix("::").rstrip()
            if before:
                yield _wrapped(f"{before}:")
            yield f"```\n{textwrap.dedent(chr(10) + chr(10).join(literal)).strip(chr(10))}\n```"
        elif part.strip():
            yield _wrapped(part)


def _wrapped(part: str, *, indent: str = "") -> str:
    """Return a paragraph, or each item of a list, broken into lines."""
    marked = re.sub(r"``(.+?)``", r"`\1`", part)
    items = re.split(r"\n(?=\s*[-*] )", textwrap.dedent(marked))
    lines = []
    for item in items:
        hanging = indent + ("  " if re.match(r"\s*[-*] ", item) else "")
        words = " ".join(item.split())
        lines.append(
            textwrap.fill(
                words,
                _WIDTH,
                initial_indent=indent,
                subsequent_indent=hanging,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def bullet(name: str, text: str) -> str:
    """Return an item of a list: a name and its description, which may hold a list of its own."""
    first, *others = re.split(r"\n\s*\n", text)
    return "\n".join(
        [_wrapped(f"- {name}: {first}" if first else f"- {name}"), *(_wrapped(one, indent="  ") for one in others)]
    )


def typed(text: str) -> str:
    """Return a signature in a fence."""
    return f"```py\n{text}\n```"


def assigned(name: str, text: str) -> str:
    """Return the definition of a type; a long union of strings has a line for each."""
    line = f"{name} = {text}".replace("'", '"')
    if len(line) <= _WIDTH or not line.endswith("]"):
        return line
    begin, _, inner = line.removesuffix("]").partition("[")
    return "\n".join([f"{begin}[", *(f"    {one}," for one in inner.split(", ")), "]"])


def signature(name: str, function: griffe.Function) -> str:
    """Return a call with the types of its arguments and of its result, on one line if it fits."""
    arguments = list(_arguments(function))
    returns = str(function.returns or "None")
    if returns == "Self" and isinstance(function.parent, griffe.Class):
        returns = function.parent.name
    result = "" if returns == "None" else f" -> {returns}"
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= _SIGNATURE_WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {one}," for one in arguments), f"){result}"])


def value(owner: griffe.Object, expression: str | griffe.Expr | None) -> str:
    """Return the text of a default: a constant by its value, a string in our quotes."""
    if isinstance(expression, griffe.ExprCall) and str(expression.function) == "field":
        given = {one.name: one.value for one in expression.arguments if isinstance(one, griffe.ExprKeyword)}
        factory = str(given.get("default_factory", ""))
        return _EMPTY.get(factory, "...") if factory else value(owner, given.get("default"))
    return "" if expression is None else constant(owner, str(expression)).replace("'", '"')


def _arguments(function: griffe.Function) -> Iterator[str]:
    is_named = False
    for one in function.parameters:
        if one.name in ("self", "cls"):
            continue
        kind = one.kind
        if kind is griffe.ParameterKind.keyword_only and not is_named:
            is_named = True
            yield "*"
        is_named |= kind is griffe.ParameterKind.var_positional
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        type_ = f": {one.annotation}".replace("'", '"') if one.annotation else ""
        default = f" = {value(function, one.default)}" if one.default is not None and not stars else ""
        yield f"{stars}{one.name}{type_}{default if type_ else default.replace(' ', '')}"
