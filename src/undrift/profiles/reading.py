"""Tells whether a call shows what already exists: files, searches, pages. Pure."""

import re

from undrift.profiles.acts import bare_name
from undrift.profiles.base import Act

__all__ = ["is_reading"]

# The beginnings of the names of tools that read, among those that no profile has.
_READS = ("read", "get_", "search", "find", "list_", "fetch", "view")
# The part of a shell command that shows something, in the head of a pipeline: `make test | tail` shows only a test. To
# run a test or a build again is work, not loss of memory.
_SHOWS = re.compile(
    r"\s*(?:\w+=\S+\s+)*(?:cat|sed -n|head|tail|nl|bat|less|rg|grep|fd|find|ls|tree|jq|awk|curl"
    r"|git (?:-C \S+ |--no-pager )?(?:show|log|diff|blame|grep|ls-files)|gh \w+ (?:view|list|diff))\b"
)
_SEQUENCE = re.compile(r"&&|\|\||[;\n]")
_WRAPPED = re.compile(r"""^\s*(?:\S*/)?(?:ba|z|da)?sh -l?c\s+['"]?""")
_ACTS = re.compile(r"<<|(?<![0-9&])>{1,2}(?!\s*/dev/null|&)|\b(?:sed -i|tee)\b")
_COMMAND_CHARACTERS = 4_000


def is_reading(act: Act) -> bool:
    """Say whether an act only shows what exists; to run a test or a build is work."""
    command = act.command[:_COMMAND_CHARACTERS]
    if command or act.kind == "shell":
        parts = _SEQUENCE.split(_WRAPPED.sub("", command))
        return any(_SHOWS.match(part) for part in parts) and not _ACTS.search(command)
    return act.kind in ("fetch", "read", "search") or bare_name(act.tool).startswith(_READS)
