"""The parts of a docstring: texts, arguments, result, errors; those of a short docstring too, which has them in its sentences.

Law: pure. The house writes a short docstring without sections: "`port`: of 127.0.0.1." and "Raises InputError: ...".
"""

import re
from dataclasses import dataclass, field

import griffe

from tests.reference.source import sections

__all__ = ["Described", "described"]

_RAISES = re.compile(
    r"(?:(?<=\s)|^)Raises (?P<error>[A-Z]\w+): (?P<text>.*?)(?=\sRaises [A-Z]\w+: |\n\s*\n|\Z)", re.DOTALL
)
_NAMED = re.compile(r"(?:(?<=[.:;?!]\s)|^)`(?P<name>\w+)`: ", re.MULTILINE)


@dataclass(slots=True)
class Described:
    """A docstring, taken apart."""

    texts: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    returns: list[str] = field(default_factory=list)
    raises: list[tuple[str, str]] = field(default_factory=list)


def described(owner: griffe.Object) -> Described:
    """Return the parts of a definition's docstring."""
    found = Described()
    kinds = griffe.DocstringSectionKind
    for section in sections(owner):
        if section.kind is kinds.text:
            found.texts.append(_without_names(_without_errors(section.value, found), found))
        elif section.kind is kinds.parameters:
            found.arguments |= {one.name.lstrip("*"): one.description for one in section.value}
        elif section.kind is kinds.returns:
            found.returns += [one.description for one in section.value]
        elif section.kind is kinds.raises:
            found.raises += [(str(one.annotation), one.description) for one in section.value]
    return found


def _without_errors(text: str, found: Described) -> str:
    """Return the text without its sentences about errors, which go to the errors."""
    found.raises += [(one["error"], _sentence(one["text"])) for one in _RAISES.finditer(text)]
    return _RAISES.sub("", text)


def _without_names(text: str, found: Described) -> str:
    """Return the text without paragraphs about arguments, which go to the arguments."""
    kept = []
    for part in re.split(r"\n\s*\n", text):
        names = list(_NAMED.finditer(part)) if part.startswith("`") else []
        if not names or names[0].start():
            kept.append(part)
            continue
        ends = [*(one.start() for one in names[1:]), len(part)]
        found.arguments |= {one["name"]: _sentence(part[one.end() : end]) for one, end in zip(names, ends, strict=True)}
    return "\n\n".join(kept)


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words[:1].upper() + words[1:]
