"""Random commands for the memory tool, and what two tools answer to them."""

import random
from collections.abc import Iterator
from typing import Any

__all__ = ["answer", "awaited_answer", "commands"]

_TOO_LONG = "n" * 300
_NAMES = ("a", "b", "notes.md", "täglich 日本.txt", ".hidden", "c d")
_TEXTS = (
    "one\ntwo\nthree\n",
    "",
    "no end",
    "a\n\na\r\nb\n",
    "x" * 1500 + "\n",
    "naïve ✓ 日本\nzwei",
    "\n\n\n",
    "aaa aaa",
)
_BITS = ("a", "one", "two\n", "", "b", "zwei", "aa", "\n", "x" * 1500, "neu ✓")
_ODD_PATHS = (
    "/memories", "/memories/", "/memories/..", "/memories/../x", "/memories/a/../../x", "/memories/../memories/a",
    "/etc/passwd", "memories/a", "", "/memoriesa", "/memories/a/", "/memories//a", "/memories/./a", "/memories/a/../b",
    "/memories/a\0b", "/memories/" + _TOO_LONG, "/memories/%2e%2e/x", "/memories/..\\x", "/memories/~",
)  # fmt: skip


def commands(seed: int, count: int = 12) -> Iterator[dict[str, Any]]:
    """Yield `count` commands as a model gives them; the same seed gives the same ones."""
    dice = random.Random(seed)

    def path() -> str:
        if dice.random() < 0.12:
            return dice.choice(_ODD_PATHS)
        return "/".join(("/memories", *(dice.choice(_NAMES) for _ in range(dice.choice((1, 1, 2, 2, 3, 4))))))

    for _ in range(count):
        name = dice.choice(("create",) * 4 + ("view",) * 4 + ("str_replace", "insert", "rename") * 2 + ("delete",))
        fields: dict[str, Any] = {"path": path()}
        if name == "view":
            fields["path"] = dice.choice(("/memories", path(), path()))
            fields["view_range"] = dice.choice((None, None, [1, 2], [2, -1], [0, 99], [3, 1], [-2, -2], [1]))
        elif name == "create":
            fields["file_text"] = dice.choice(_TEXTS)
        elif name == "str_replace":
            fields |= {"old_str": dice.choice(_BITS), "new_str": dice.choice(_BITS)}
        elif name == "insert":
            fields |= {"insert_line": dice.choice((0, 0, 1, 2, 3, 7, -1)), "insert_text": dice.choice(_TEXTS)}
        elif name == "rename":
            # A name that the SDK's cannot move makes it fail after it has made folders; ours makes none then.
            fields = {"old_path": path().replace(_TOO_LONG, "l"), "new_path": path()}
        yield {"command": name, **fields}


def answer(tool: Any, command: dict[str, Any], told: type[Exception]) -> tuple[str, str]:
    """Return how a tool answers: ``text`` and what it said, ``told`` and the error for the model, or ``failed``.

    The size of a folder is left out: it is the file system's, and another one on each.

    Args:
        tool: With `call`.
        command: As from `commands`.
        told: The class of errors that are meant for the model.
    """
    try:
        return "text", _without_folder_sizes(tool.call(command))
    except told as error:
        return "told", str(error)
    except (OSError, ValueError) as error:
        return "failed", str(error)


async def awaited_answer(tool: Any, command: dict[str, Any], told: type[Exception]) -> tuple[str, str]:
    """Return how an asynchronous tool answers; see `answer`."""
    try:
        return "text", _without_folder_sizes(await tool.call(command))
    except told as error:
        return "told", str(error)


def _without_folder_sizes(text: str) -> str:
    if not text.startswith("Here're the files"):
        return text
    header, own, *lines = text.split("\n")
    kept = [line.partition("\t")[2] if line.endswith("/") else line for line in lines]
    return "\n".join((header, own.partition("\t")[2], *kept))
