"""The names of clients' tools stand in `undrift.profiles` and nowhere else, so that a new release is read in one place.

Only names that are no plain words can be told apart from other texts: with an underscore, a dot or a capital inside, or as
long as a whole literal with a capital at the start. Docstrings may name them.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.house.trees import nodes
from undrift.profiles import PROFILES

PACKAGE = Path(__file__).parents[2] / "src/undrift"
PROFILES_ROOM = PACKAGE / "profiles"

NAMES = frozenset(tool.name for profile in PROFILES.values() for tool in profile.tools)
MARKED = frozenset(name for name in NAMES if re.search(r"[_.]|.[A-Z]", name))
CAPITAL = frozenset(name for name in NAMES if name[0].isupper())

ALLOWED: Mapping[str, frozenset[str]] = {
    # Anthropic's own memory tool has commands of these names; they are not tools of a client.
    "integrations/anthropic_memory/files.py": frozenset({"str_replace"}),
    # A history of no client in particular, as its reader writes it; the search is an item type of its provider.
    "testing/histories.py": frozenset({"Read", "tool_search"}),
}
"""File -> the names that mean something else there."""

ITEM_TYPES = frozenset({"image_generation", "local_shell", "tool_search", "web_search"})
"""Tools of a provider: its items have these types, in place of names."""
PROVIDERS = ("transcripts/codex.py", "testing/simulators/", "wire/")
"""The places that read a provider's items."""

_WORD = re.compile(r"[A-Za-z][\w.]*")


def literals(text: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a file with their lines, without docstrings and `__all__`."""
    tree = nodes(text)
    skipped = set[int]()
    for node in tree:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
        ):
            skipped |= {id(one) for one in ast.walk(node.value)}
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the names of tools in a file's strings."""
    for line, value in literals(text):
        found = set(_WORD.findall(value)) & MARKED
        yield from ((line, name) for name in sorted(found | ({value} & CAPITAL)))


def is_allowed(file: str, name: str) -> bool:
    """Tell whether a name means something else in a file."""
    return name in ALLOWED.get(file, ()) or (name in ITEM_TYPES and file.startswith(PROVIDERS))


def test_the_names_of_clients_tools_stand_in_the_profiles_alone():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if PROFILES_ROOM not in path.parents
        for line, name in names_in(path.read_text(encoding="utf-8"))
        if not is_allowed(path.relative_to(PACKAGE).as_posix(), name)
    ]
    assert not found, "ask undrift.profiles what a tool does: " + "; ".join(found)


def test_what_is_allowed_is_still_there():
    for file, names in ALLOWED.items():
        there = {name for _, name in names_in((PACKAGE / file).read_text(encoding="utf-8"))}
        assert names <= there, file


def test_the_law_finds_a_name():
    code = '"""A docstring about Bash and exec_command."""\n__all__ = ["Bash"]\nshells = {"Bash", "make exec_command now", "cash"}'
    assert list(names_in(code)) == [(3, "Bash"), (3, "exec_command")]
