"""Prints how many typed rules are found, and how many sentences too many: ``python -m bench.rules_found FILE...``.

Law: the same files give the same figures. A file has one row of JSON on each line: a message with its `rules` (and the id of
an earlier message that it is `about`, or that message itself), or a text of a recording with labelled `sentences`.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lasting import fits
from undrift import transcripts
from undrift.core.rules.holding import holding, typed_rules
from undrift.core.rules.typed import sayings, sayings_in
from undrift.core.text.typed import user_texts
from undrift.errors import TranscriptError
from undrift.values.window import ContextEntry

__all__ = ["main", "messages_judged", "sessions_judged", "typed_texts"]

_CLIENTS = ("claude-code", "codex")


def typed_texts(folders: Iterable[Path], only: Sequence[str] = ()) -> Iterator[str]:
    """Yield the typed texts of the recordings below some folders, each once; the folder of a file names its client."""
    seen: set[str] = set()
    for path in (path for folder in folders for path in sorted(folder.rglob("*.jsonl"))):
        if path.parent.name in _CLIENTS and (not any(only) or any(path.name.startswith(one) for one in only)):
            for entry in reversed(list(user_texts(_entries(path, path.parent.name)))):
                if entry.content not in seen:
                    seen.add(entry.content)
                    yield entry.content


def _entries(path: Path, client: str) -> Sequence[ContextEntry]:
    try:
        return transcripts.read(path.read_text("utf-8", "replace").splitlines(keepends=True), format=client).entries
    except TranscriptError:
        return ()


def _as_typed(text: str) -> list[ContextEntry]:
    return [ContextEntry("e0", "reasoning", text, 1, 1, {"role": "user", "kind": "text", "message": 0})]


def messages_judged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Count by kind what is found of messages that were written for this; `about` is answered with both messages."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    known = {row["id"]: row["message"] for row in rows}
    for row in rows:
        said = list(sayings_in(row["message"], 1))
        sure = [one.text for one in said if one.kind in ("rule", "lifts", "limits")]
        count = counts[row["kind"]]
        for rule in row["rules"]:
            count["rules"] += 1
            count["found"] += any(fits(text, rule) for text in sure)
            count["shown"] += any(fits(one.text, rule) for one in said)
        lifting = row["not_rules"] if row["kind"] == "withdrawal" else []
        count["extra"] += sum(not any(fits(text, one) for one in (*row["rules"], *lifting)) for text in sure)
        if row["about"]:
            count["about"] += 1
            count["answered"] += _is_answered(row, known.get(row["about"], row["about"]), lifting)
    return counts


def _is_answered(row: Mapping[str, Any], before: str, lifting: Sequence[str]) -> bool:
    """Tell whether an earlier message's rule has ended, or what was said about it stands behind it."""
    held = holding([*sayings_in(before, 1), *sayings_in(row["message"], 2)])
    shown = [rule.text for rule in held.rules] + [one.by for one in held.ended]
    return any(fits(text, one) for text in shown for one in (*row["rules"], *lifting))


def sessions_judged(rows: Sequence[Mapping[str, Any]], data: Sequence[Path]) -> dict[str, Counter[str]]:
    """Count by kind of text what is found of labelled sentences of recordings. `data`: folders in which the files lie."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        paths = (
            folder / given for folder in data for given in (row["file"], Path(row["file"]).parts[0] + "/" + row["file"])
        )
        path = next((one for one in paths if one.is_file()), None)
        if path is None:
            counts["no such file"]["texts"] += 1
            continue
        entries = _entries(path, row["client"])
        text = [entry for entry in entries if (entry.metadata or {}).get("line") == row["line"]]
        found = [rule.text for rule in typed_rules(text)]
        shown = [one.text for one in sayings(text)]
        count = counts[row["text_kind"]]
        for one in row["sentences"]:
            is_found = any(fits(rule, one["text"]) for rule in found)
            count["rules"] += one["rule"]
            count["found"] += one["rule"] and is_found
            count["shown"] += one["rule"] and any(fits(said, one["text"]) for said in shown)
            count["extra"] += is_found and not one["rule"]
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--data", nargs="*", type=Path, default=[])
    given = parser.parse_args(arguments)
    for path in given.files:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        counts = sessions_judged(rows, given.data) if "sentences" in rows[0] else messages_judged(rows)
        total: Counter[str] = sum(counts.values(), Counter())
        print(path.name)
        for kind, count in [*sorted(counts.items()), ("all", total)]:
            found, extra = count["found"], count["extra"]
            recall, right = found / max(1, count["rules"]), found / max(1, found + extra)
            print(
                f"  {kind:12} recall {recall:.2f} ({found} of {count['rules']}), precision {right:.2f}, {extra} too many,",
                end="",
            )
            print(f" shown {count['shown']}, answers to an earlier one {count['answered']} of {count['about']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
