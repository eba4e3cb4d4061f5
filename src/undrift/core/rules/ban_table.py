"""Things by what people call them, with the calls that do something to them. A table of texts, read once. Pure.

Law: a row has every name that people have for a thing, and every call that changes, uses, reads or stops it. No row is
about the words around a thing: those are of `undrift.core.rules.ban_moods`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from undrift.core.rules.ban_act_rows import ACT_ROWS
from undrift.core.rules.ban_concepts import ACTS, GROUPS, PLACES
from undrift.core.rules.ban_file_rows import FILE_ROWS
from undrift.core.rules.ban_marks import RuleToken
from undrift.core.rules.ban_stems import stem_of, stems_of

__all__ = ["LONGEST_NAME", "TableRow", "row_at", "subcommands", "table"]

LONGEST_NAME = 4
"""The most words of a name."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRow:
    """One thing. `calls`: by what is done to it, the commands, or the files, servers, words and statements that it is.

    The keys: ``files run harm stop read bypass create send upgrade`` are commands or globs; ``does`` are effects, ``server`` and ``tool``
    names of tools, ``word`` a name inside of a command, ``sql`` statements, ``text`` words of a message, ``branch`` branches.
    """

    name: str
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, key: str) -> tuple[str, ...]:
        return self.calls.get(key, ())


def _items(text: str) -> tuple[str, ...]:
    """Return the items of a line of the table; ``<tests>`` is a group of commands."""
    found: list[str] = []
    for item in text.split(", "):
        item = item.strip()
        if item[:1] == "<":
            found += GROUPS.get(item[1:-1]) or ACTS[item[1:-1]]
        elif item:
            found.append(item)
    return tuple(found)


@cache
def table() -> Mapping[tuple[str, ...], TableRow]:
    """Return the table: the stems of a name -> the thing."""
    found: dict[tuple[str, ...], TableRow] = {}
    for name, globs in PLACES.items():
        if words := stems_of(name):
            found[words] = TableRow(name, {"files": globs})
    for block in [*ACT_ROWS.strip().split("\n\n"), *FILE_ROWS.strip().split("\n\n")]:
        names, *lines = block.split("\n")
        calls: dict[str, tuple[str, ...]] = {}
        for line in lines:
            key, _, text = line.strip().partition(": ")
            calls[key] = (*calls.get(key, ()), *(text.split() if key == "files" else _items(text)))
        row = TableRow(names.partition(",")[0], calls)
        found |= {stems_of(name): row for name in names.split(", ")}
    return found


_PACKED = ("install", "package", "npm", "pip", "tool")
"""Words before which ``global`` is about what is installed."""


def row_at(tokens: Sequence[RuleToken], at: int) -> tuple[TableRow | None, int]:
    """Return the row of the longest name that begins at a place, and its tokens."""
    stems: list[str] = []
    if tokens[at].text == "global" and at + 1 < len(tokens) and not tokens[at + 1].text.startswith(_PACKED):
        return (None, 0)
    best: tuple[TableRow | None, int] = (None, 0)
    for step in range(LONGEST_NAME):
        if at + step >= len(tokens) or tokens[at + step].kind not in ("word", "code"):
            break
        stems += [stem_of(part) for part in re.split(r"[\s_:-]+", tokens[at + step].text[:80].lstrip(".")) if part]
        if len(stems) > LONGEST_NAME:
            break
        if row := table().get(tuple(stems)):
            best = (row, step + 1)
    return best


_COMMANDS = frozenset(
    {"run", "harm", "stop", "read", "bypass", "create", "send", "merge", "close", "upgrade", "delete", "whole", "away"}
)
_MORE_SUBCOMMANDS = """add apply attach bench bisect blame boot bundle cache clean clone config cordon cp create daemon db delete describe destroy dev
down drain edit exec export fetch fix fmt format gc generate get graph import init inspect install kill link lint list load login logs make
migrate mv new pack pause pip plan port-forward prune publish pull push rebuild release remote remove reset resolve restart restore rm rollback
run scale search serve set shell show start state status stop submit submodule switch sync system tag taint test top uninstall unlink unlock up
update upgrade upload use validate version volume watch worktree write workspace console playbook flush failover kill"""


@cache
def subcommands() -> frozenset[str]:
    """Return the stems of the words that are known to stand behind a program: in a sentence, others belong to the sentence."""
    listed = (
        item for row in table().values() for key, items in row.calls.items() if key in _COMMANDS for item in items
    )
    return frozenset(stem_of(word) for text in (_MORE_SUBCOMMANDS, *listed) for word in text.split() if word[:1] != "-")
