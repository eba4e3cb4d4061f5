"""The attempts that are found in recorded sessions, each with its evidence: ``python -m bench.attempts FILE...``.

For a reader who judges them: the line as a restore text has it, and the beginning of each entry that shows it, by its line in
the recording. Nothing is measured; the same files give the same output.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from undrift.core.restore.given_up import line_of
from undrift.core.text.secrets import mask
from undrift.core.tried import attempts
from undrift.errors import TranscriptError
from undrift.recordings.files import open_recording

__all__ = ["main"]

_SHOWN_CHARACTERS = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the attempts of the files that are given."""
    parser = argparse.ArgumentParser(prog="python -m bench.attempts", description="Attempts with their evidence.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    found: Counter[str] = Counter()
    for path in parser.parse_args(arguments).files:
        try:
            entries = open_recording(path).entries
        except TranscriptError as error:
            print(f"passed over: {error}", file=sys.stderr)
            continue
        by_id = {entry.id: entry for entry in entries}
        for one in attempts(entries):
            found[one.kind] += 1
            print(f"{path.name} [{one.kind}]\n  {mask(line_of(one)).text}")
            for entry_id in one.entry_ids:
                entry = by_id[entry_id]
                shown = " ".join(mask(entry.content[:_SHOWN_CHARACTERS]).text.split())
                print(f"    line {(entry.metadata or {}).get('line')}: {shown}")
    print(", ".join(f"{number} {kind}" for kind, number in sorted(found.items())) or "none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
