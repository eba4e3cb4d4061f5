"""Public names read from the source by griffe, without an import: a framework that is absent is documented too.

Law: static. A name leads to its module, an alias to its own place.
"""

from functools import cache
from pathlib import Path

import griffe

__all__ = ["constant", "member", "module", "names_of", "public", "sections"]

SOURCE = Path(__file__).parents[2] / "src"


@cache
def module(name: str) -> griffe.Module:
    """Return a module of ours, read once."""
    folder = SOURCE / name.replace(".", "/")
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return griffe.visit(name.rpartition(".")[2], filepath=file, code=file.read_text(encoding="utf-8"))


def member(place: str, name: str) -> griffe.Object:
    """Return what `name` is in the module `place`: the class, the function or the value itself."""
    return _found(place, name)[1]


def _found(place: str, name: str) -> tuple[str, griffe.Object]:
    if "." in name:  # a method of a class
        outer, _, inner = name.rpartition(".")
        where, owner = _found(place, outer)
        return where, _method(where, owner.members[inner])
    members = module(place).members
    if name in members:
        found = members[name]
        return _found(*_split(found.target_path)) if isinstance(found, griffe.Alias) else (place, found)
    raise KeyError(f"{place} has no {name}")


def _method(where: str, found: griffe.Object | griffe.Alias) -> griffe.Object:
    """Return a method; one that is made by ``of_part("memory", SessionMemory.admit)`` is that of the part."""
    value = getattr(found, "value", None)
    if isinstance(value, griffe.ExprCall) and str(value.function) == "of_part":
        return member(where, str(value.arguments[1]))
    assert isinstance(found, griffe.Object)
    return found


def _split(path: str) -> tuple[str, str]:
    place, _, name = path.rpartition(".")
    return place, name


def constant(owner: griffe.Object, name: str) -> str:
    """Return the value of a constant that a definition names, as ``DEFAULT_BUDGET_TOKENS``; another text unchanged."""
    found = owner.module.members.get(name)
    if isinstance(found, griffe.Alias):
        found = member(*_split(found.target_path))
    return str(found.value) if isinstance(found, griffe.Attribute) and found.value is not None else name


def names_of(place: str) -> tuple[str, ...]:
    """Return the names of a module's ``__all__``, in the order of its imports and definitions."""
    found = module(place).exports or ()
    exported = {str(one).strip("'\"") for one in found}
    return tuple(name for name in module(place).members if name in exported)


def public(owner: griffe.Object) -> tuple[str, ...]:
    """Return the names of a class's own public methods, properties and class methods, as they stand."""
    return tuple(
        name
        for name, one in owner.members.items()
        if not name.startswith("_") and (one.is_function or "property" in one.labels)
    )


def sections(owner: griffe.Object) -> list[griffe.DocstringSection]:
    """Return the parts of a docstring: texts, arguments, results, errors."""
    return owner.docstring.parse("google", warnings=False) if owner.docstring else []
