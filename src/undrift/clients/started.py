"""The words with which each client starts with a first prompt. Pure.

Law: a client gets the prompt in the way that its own help names; one that takes none on its command line gets a file.
"""

from collections.abc import Sequence

from undrift.errors import InputError

__all__ = ["STARTED", "first_prompt"]

STARTED: dict[str, tuple[str, ...]] = {
    "claude": ("{text}",),
    "codex": ("{text}",),
    "gemini": ("--prompt-interactive", "{text}"),
    "opencode": ("--prompt", "{text}"),
    "mini": ("--task", "{text}"),
    "aider": ("--read", "{file}"),
}
"""Client -> what stands behind the user's own words."""

_MOST_BYTES = 120_000
"""Linux takes 131,072 bytes in one word of a command line."""


def first_prompt(client: str, text: str, file: str, words: Sequence[str] = ()) -> list[str]:
    """Return the words behind the program's name.

    Args:
        client: A key of `STARTED`.
        file: Where the text lies, for a client that reads a file.
        words: The user's own, such as ``exec`` for Codex or ``-p`` for Claude Code.

    Raises:
        InputError: The text is longer than a command line takes.
    """
    if len(text.encode("utf-8", "replace")) > _MOST_BYTES:
        raise InputError("the text is longer than a command line takes; give a smaller --budget")
    shown = text.replace("\0", "")
    return [*words, *(word.format(text=shown, file=file) for word in STARTED[client])]
