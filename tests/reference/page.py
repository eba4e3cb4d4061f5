"""docs/api.md: ``python -m tests.reference.page`` writes it from the docstrings.

Law: every word of an entry stands in a docstring; only headings, the tables and the introduction are written here.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import griffe

from tests.reference import names
from tests.reference.described import described
from tests.reference.prose import assigned, bullet, prose, signature, typed, value
from tests.reference.source import member, module, names_of, public
from undrift.settings import SETTINGS

__all__ = ["PAGE", "written"]

PAGE = Path(__file__).parents[2] / "docs" / "api.md"

_INTRODUCTION = """\
# The Python API
`python -m tests.reference.page` makes this page from the docstrings, and the tests run every example on it. `help(undrift.Session)`
shows the same texts. [library.md](library.md) is the guide, and [settings.md](settings.md) explains the settings.

Times are Unix milliseconds (`_ms`) and sizes are tokens (`_tokens`), unless a line says otherwise. In the examples `home` is an
empty folder; without `home=home` the default folder is used. `session` is an open session with a budget of 6,000 tokens, and
`long_body` a larger request, with twelve tool results. The clients of SDKs reach a scripted provider on this machine.
Each call raises `InputError` or its kind if an argument is wrong, and nothing has changed then.
"""


def written() -> str:
    """Return the page as the docstrings are now."""
    parts = [*_first(), *_results(), *_rooms()]
    text = "\n\n".join(parts)
    headings = [line for line in re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines() if line[:1] == "#"]
    assert len(headings) == len({_anchor(one) for one in headings}), "two headings of docs/api.md have one address"
    return f"{_INTRODUCTION}\n{_contents(headings)}\n\n{text}\n"


def _first() -> Iterator[str]:
    for heading, every in names.FIRST:
        yield f"## {heading}"
        for name in every.split():
            yield from _entry("undrift", name)


def _results() -> Iterator[str]:
    for heading, every in (names.RESULTS, names.LITERALS):
        yield f"## {heading}"
        for path in every.split():
            place, _, name = path.rpartition(".")
            yield from _entry(place, name)


def _rooms() -> Iterator[str]:
    done = {name for _, every in names.FIRST for name in every.split()}
    done |= {path.rpartition(".")[2] for _, every in (names.RESULTS, names.LITERALS) for path in every.split()}
    for place, sentence, every in names.ROOMS:
        yield f"## {names.ROOMS_HEADING if every else f'`{place}`'}"
        yield prose(sentence or _opening(place))
        left = [name for name in every.split() or names_of(place) if name not in done]
        if place == "undrift.errors":
            yield _errors(left)
        else:
            for name in left:
                yield from _entry(place, name)


def _errors(every: list[str]) -> str:
    rows = []
    for name in every:
        owner = member("undrift.errors", name)
        assert isinstance(owner, griffe.Class), name
        assert owner.docstring, name
        rows.append(f"| `{name}` | {' '.join(prose(owner.docstring.value).split())} |")
    return "\n".join(["| error | raised when |", "| --- | --- |", *rows])


def _opening(place: str) -> str:
    """Return the docstring of a module without the law of its code."""
    docstring = module(place).docstring
    assert docstring, place
    return "\n\n".join(one for one in docstring.value.split("\n\n") if not one.startswith("Law:"))


# -------------------------------------------------------------------------------------------------------------- entries


def _entry(place: str, name: str) -> Iterator[str]:
    owner = member(place, name)
    if isinstance(owner, griffe.Class):
        yield from _class(place, name, owner)
    elif isinstance(owner, griffe.Function):
        yield from _function("###", name, owner)
    else:
        yield f"### `{name}`"
        text = str(owner.value) if isinstance(owner, griffe.Attribute) else ""
        if text.startswith("Literal[") or " | " in text:
            yield typed(assigned(name, text))
        yield prose(owner.docstring.value if owner.docstring else "")


def _class(place: str, name: str, owner: griffe.Class) -> Iterator[str]:
    yield f"### `{name}`"
    bases = [str(base) for base in owner.bases if str(base).endswith(("Error", "Exception"))]
    begin = owner.members.get("__init__")
    if bases:
        yield typed(f"class {name}({bases[0]})")
    elif isinstance(begin, griffe.Function) and name.removeprefix("Async") not in names.GROUPS:
        yield typed(signature(name, begin))
    yield from _documented(owner, _fields(owner))
    yield from _properties(owner)
    if name == "Settings":
        yield _settings()
    if name in names.GROUPS:
        yield from _grouped(place, name)
    elif name.startswith("Async") and name.removeprefix("Async") in names.GROUPS:
        yield _awaited(owner, name.removeprefix("Async"))
    elif not place.startswith("undrift.integrations"):
        for one in public(owner):
            method = owner.members[one]
            if f"{name}.{one}" not in names.OURS_ALONE and isinstance(method, griffe.Function):
                yield from _function("####", f"{name}.{one}", method)


def _grouped(place: str, name: str) -> Iterator[str]:
    groups = names.GROUPS[name]
    rows = [
        f"| {heading} | {', '.join(_link(f'{name}.{one}', one) for one in methods.split())} |"
        for heading, methods in groups
    ]
    yield "\n".join(["| to | use |", "| --- | --- |", *rows])
    for heading, methods in groups:
        yield f"#### {name}: {heading[0].lower()}{heading[1:]}"
        for one in methods.split():
            outer, _, inner = one.rpartition(".")
            method = (
                member(names.FACETS[outer][0], f"{names.FACETS[outer][1]}.{inner}")
                if outer
                else member(place, f"{name}.{one}")
            )
            yield from _function("#####", f"{name}.{one}", method)


def _awaited(owner: griffe.Class, name: str) -> str:
    """Return the table of the methods that are those of another class, awaited."""
    rows = []
    for heading, methods in names.GROUPS[name]:
        there = [one for one in methods.split() if one.partition(".")[0] in owner.members]
        if there:
            rows.append(f"| {heading} | {', '.join(_link(f'{name}.{one}', one) for one in there)} |")
    return "\n".join([f"| to | use as {name}'s, awaited |", "| --- | --- |", *rows])


def _settings() -> str:
    rows = [
        f"| `{one.name}` | {'not set' if one.default is None else f'`{one.default}`'} | {one.rule} |"
        for one in SETTINGS
    ]
    return "\n".join(["| field | default | accepted |", "| --- | --- | --- |", *rows])


def _function(level: str, name: str, owner: griffe.Object) -> Iterator[str]:
    """Yield a function, a method or a property."""
    yield f"{level} `{name}`"
    if isinstance(owner, griffe.Function):
        yield typed(signature(name, owner))
    elif isinstance(owner, griffe.Attribute) and owner.annotation:
        yield typed(f"{name}: {owner.annotation}")
    yield from _documented(owner)


def _fields(owner: griffe.Class) -> dict[str, str]:
    """Return the fields of a value with their types and defaults; of another class none."""
    if not any(str(one.value).startswith(("dataclass", "dataclasses.dataclass")) for one in owner.decorators):
        return {}
    found = {}
    for name, one in owner.members.items():
        if not isinstance(one, griffe.Attribute) or one.annotation is None or "property" in one.labels:
            continue
        if not name.startswith("_") and "init=False" not in str(one.value):
            default = value(owner, one.value)
            found[name] = f"`{name}: {one.annotation}{f' = {default}' if default else ''}`".replace("'", '"')
    return found


def _properties(owner: griffe.Class) -> Iterator[str]:
    """Yield the properties of a class as one list."""
    lines = []
    for name in public(owner):
        one = owner.members[name]
        if isinstance(one, griffe.Attribute) and f"{owner.name}.{name}" not in names.OURS_ALONE:
            text = one.docstring.value if one.docstring else ""
            lines.append(bullet(f"`{name}: {one.annotation}`".replace("'", '"'), " ".join(text.split())))
    if lines:
        yield "\n".join(["**Properties**", *lines])


def _documented(owner: griffe.Object, fields: dict[str, str] | None = None) -> Iterator[str]:
    """Yield the parts of a docstring: text, arguments or fields, result, errors."""
    found = described(owner)
    yield from (prose(text) for text in found.texts)
    if fields and owner.name != "Settings":
        yield "\n".join(bullet(shown, found.arguments.get(name, "")) for name, shown in fields.items())
    elif found.arguments:
        yield "\n".join(bullet(f"`{name}`", text) for name, text in found.arguments.items())
    if found.returns:
        yield prose(f"**Returns** {' '.join(found.returns)}")
    lines = [bullet(f"`{error}`", text) for error, text in found.raises]
    if lines:
        yield "\n".join(["**Raises**", *lines]) if len(lines) > 1 else prose(lines[0].replace("- ", "**Raises** ", 1))


# ------------------------------------------------------------------------------------------------------------- contents


def _contents(headings: list[str]) -> str:
    lines: list[str] = []
    for heading in headings:
        level, _, words = heading.partition(" ")
        if level == "##":
            lines.append(f"- [{words}](#{_anchor(heading)}): ")
        elif level == "###":
            lines[-1] += (
                f"{', ' if lines[-1].endswith(')') and '): ' in lines[-1] else ''}[{words}](#{_anchor(heading)})"
            )
    return "\n".join(line.removesuffix(": ") for line in lines)


def _link(name: str, words: str) -> str:
    return f"[`{words}`](#{_anchor(name)})"


def _anchor(heading: str) -> str:
    """Return the address of a heading, as the pages of a repository have it."""
    return re.sub(r"[^\w -]", "", heading.lstrip("#").strip().lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
