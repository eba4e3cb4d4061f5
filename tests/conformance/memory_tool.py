"""The memory tool beside the SDK's own for local files: random commands, and every answer compared.

Where the SDK's fails with an error of the system, ours has to tell the model something instead, and the files of both have
to be the same afterwards.
"""

import sys
import tempfile
from pathlib import Path

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.integrations.memory_commands import answer, commands
from undrift import Settings
from undrift.integrations.anthropic_memory import UndriftMemoryTool

__all__ = ["differences", "main"]

SEQUENCES = 1_000


def differences(seed: int, folder: Path, ours: UndriftMemoryTool) -> list[str]:
    """Play one sequence against both, from an empty memory on; return where they differ."""
    theirs = BetaLocalFilesystemMemoryTool(str(folder / str(seed)))
    ours.clear_all_memory()
    found = []
    for command in commands(seed):
        expected, given = answer(theirs, command, ToolError), answer(ours, command, ToolError)
        same = given[0] == "told" if expected[0] == "failed" else given == expected
        if not same:
            found.append(f"sequence {seed}, {command}:\n  SDK:  {expected}\n  ours: {given}")
    end = {"command": "view", "path": "/memories"}
    if answer(theirs, end, ToolError) != answer(ours, end, ToolError):
        found.append(f"sequence {seed}: the files differ at its end")
    return found


def main(sequences: int = SEQUENCES) -> int:
    """Print the figures; return 1 where something differs."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=f"{folder}/home")
        with UndriftMemoryTool("memories", home=settings.home, settings=settings) as ours:
            found = [line for seed in range(sequences) for line in differences(seed, Path(folder), ours)]
    total = sum(len(list(commands(seed))) for seed in range(sequences))
    print(
        f"memory tool: {sequences:,} sequences, {total:,} commands, {len(found)} answers differ from the SDK's "
        "(sizes of folders left out: they are the file system's)"
    )
    print("\n".join(found[:10]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
