"""A client's own figures of a recorded session: its prompts, its compactions, the life of its cache.

Law: only ever reads; an error names the file.
"""

import os
from pathlib import Path

from undrift.core.autopsy.native import CompactionRecord
from undrift.errors import TranscriptError
from undrift.transcripts import Recording
from undrift.transcripts.figures import RecordedFigures, figures

__all__ = ["RecordedFigures", "compaction_records", "recorded_figures"]


def recorded_figures(path: str | os.PathLike[str], format_name: str) -> RecordedFigures:
    """Read what the client counted; a pipe cannot be read twice and has none. Raises TranscriptError: it is unreadable.

    `format_name`: a key of `undrift.transcripts.FORMATS`.
    """
    path = Path(path)
    if not path.is_file():
        return RecordedFigures()
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            return figures(lines, format=format_name)
    except OSError as error:
        raise TranscriptError(f"{path}: cannot be read again ({error.strerror or error}); try again") from error


def compaction_records(recording: Recording, recorded: RecordedFigures) -> dict[int, CompactionRecord]:
    """Find for each boundary the index of its compaction: as many entries stand on the lines before it."""
    lines = [(entry.metadata or {}).get("line", 0) for entry in recording.entries]
    records: dict[int, CompactionRecord] = {}
    for boundary in recorded.boundaries:
        records[sum(line < boundary.line for line in lines)] = CompactionRecord(
            line=boundary.line,
            at_ms=boundary.at_ms,
            trigger=boundary.trigger,
            tokens_before=boundary.tokens_before,
            kept_ids=frozenset(boundary.kept_ids),
            kept_texts=boundary.kept_texts,
            encrypted=boundary.encrypted,
            version=boundary.version,
        )
    return {index: record for index, record in records.items() if index in recording.compactions}
