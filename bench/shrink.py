"""What folding saves on recorded sessions: ``python -m bench.shrink DIR`` prints it for each kind of noise.

Law: only reads. A kind's row counts the results in which it occurs, and what folding saves in these, be it alone or beside others.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from undrift.bench.sessions import COUNTER, Case, sessions_in
from undrift.core.text.tokens import counter
from undrift.core.window.fold import fold_lines
from undrift.core.window.shrink import lean
from undrift.recordings.files import open_recording
from undrift.values.window import ContextEntry

__all__ = ["main", "table"]

EVICTION = "when a window shrinks"


def table(cases: Sequence[Case]) -> Iterator[str]:
    """Yield a heading and a row for pruning and each kind of noise: results, tokens saved, share of all tokens."""
    count = counter(COUNTER)
    results: Counter[str] = Counter()
    saved: Counter[str] = Counter()
    for entry in (entry for case in cases for entry in _results(case)):
        for one in lean([entry], (), count=count, ref_of=_ref)[0].values():
            for kind in (EVICTION, *fold_lines(entry.content, "all").what):
                results[kind] += 1
                saved[kind] += entry.token_count - one.tokens
    total = sum(case.tokens for case in cases)
    yield f"{len(cases)} sessions, {total:,} tokens ({COUNTER})"
    yield f"{'':24} {'results':>8} {'saved':>10} {'share':>7}"
    for kind in dict.fromkeys((EVICTION, *saved)):
        yield f"{kind:24} {results[kind]:8,} {saved[kind]:10,} {saved[kind] / max(1, total):7.2%}"


def main(arguments: Sequence[str]) -> int:
    """Print the table for a folder."""
    parser = argparse.ArgumentParser(prog="bench.shrink", description=__doc__)
    parser.add_argument("folder", type=Path, help="recorded sessions, of any format")
    parser.add_argument("--min-calls", type=int, default=60, help="leave out shorter sessions")
    wanted = parser.parse_args(arguments)
    paths = sessions_in(wanted.folder, min_calls=wanted.min_calls).paths
    for line in table([Case(path.name, open_recording(path)) for path in paths]):
        print(line)
    return 0


def _results(case: Case) -> Iterator[ContextEntry]:
    for entry in case.history.numbered:
        if entry.metadata and entry.metadata["kind"] == "result":
            yield ContextEntry(
                entry.id, "tool_result", entry.content, case.count(entry.content), entry.timestamp, entry.metadata
            )


def _ref(entry_id: str) -> str:
    return entry_id[:16].rjust(16, "0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
