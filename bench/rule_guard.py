"""Measures the guard of rules: over recordings, each alarm for judging; over labels, caught and false.

    python -m bench.rule_guard DIR...             # calls, alarms, each alarm with its rule and call
    python -m bench.rule_guard --labels FILE      # one JSON object a line: rule, call, contradicts, kind, cwd, branch

The lines of alarms hold texts of the recordings: they are never committed.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from undrift.core.rules.bans import bans_of
from undrift.core.rules.contradicted import contradicted
from undrift.core.rules.files import file_rules
from undrift.core.rules.holding import holding
from undrift.core.rules.typed import TypedSaying, sayings_in
from undrift.core.text.typed import user_texts
from undrift.errors import TranscriptError
from undrift.profiles import acts_of
from undrift.recordings.files import open_recording
from undrift.values.rule import Rule, rule_id

_FILE = re.compile(r"AGENTS\.md|CLAUDE\.md|claudeMd")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--show", action="store_true", help="print each label that was judged otherwise")
    given = parser.parse_args()
    if given.labels:
        _labels(given.labels, given.show)
    if given.folders:
        _recordings(given.folders)


def _recordings(folders: list[Path]) -> None:
    """Print each alarm of the recordings below some folders, and the counts of all."""
    paths = sorted(
        path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name != "MANIFEST.json"
    )
    sessions = calls = ruled = alarms = 0
    for path in paths:
        try:
            recording = open_recording(path)
        except (TranscriptError, OSError, ValueError):
            continue
        sessions += 1
        sayings: list[TypedSaying] = []
        typed: tuple[Rule, ...] = ()
        files: dict[str, Rule] = {}
        past: set[str] = set()
        of_user = {entry.id for entry in user_texts(recording.entries)}
        for entry in recording.entries:
            about = entry.metadata or {}
            if about.get("kind") == "text" and about.get("role") in ("user", "system"):
                if entry.id in of_user:
                    past = {rule.id for rule in typed}
                    sayings += sayings_in(entry.content, 1)
                    typed = holding(sayings).rules
                elif _FILE.search(entry.content[:4_000]):
                    files |= {rule.id: rule for rule in file_rules(entry.content, "AGENTS.md")}
            if about.get("kind") != "call":
                continue
            calls += 1
            rules = [rule for rule in (*files.values(), *typed) if bans_of(rule.text, is_typed=rule.origin != "file")]
            ruled += bool(rules)
            acts = acts_of(str(about.get("tool_name", "")), entry.content)
            found = contradicted(rules, acts, cwd=recording.cwd or "", past=past)
            if found is not None:
                alarms += 1
                print(
                    f"{path.name[:60]} {entry.id}\n  RULE {found.rule.origin} {found.rule.text}\n  CALL {found.what!r} of {entry.content[:300]!r}"
                )
    print(f"{sessions} sessions, {calls} calls, {ruled} of them under a rule that forbids something, {alarms} alarms")


def _labels(path: Path, show: bool) -> None:
    """Print what was caught of the calls that contradict, and the false alarms among the others, by kind."""
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        found = _judged(row) is not None
        counts[row["kind"], row["contradicts"], found] += 1
        if show and found != row["contradicts"]:
            print("FALSE" if found else "MISSED", row["rule_id"], row["rule"], "|", json.dumps(row["call"])[:300])
    for kind in [*sorted({kind for kind, _, _ in counts}), "all"]:
        here = [(key, n) for key, n in counts.items() if kind in ("all", key[0])]
        caught = sum(n for (_, is_one, found), n in here if is_one and found)
        contrary = sum(n for (_, is_one, _), n in here if is_one)
        false = sum(n for (_, is_one, found), n in here if found and not is_one)
        allowed = sum(n for (_, is_one, _), n in here if not is_one)
        print(f"{kind:8} caught {caught}/{contrary} ({caught / max(contrary, 1):.2f})  false {false}/{allowed}")


def _judged(row: dict[str, Any]) -> object:
    rule = Rule(rule_id(row["rule"]), row["rule"], row["origin"], "label", "session")
    acts = acts_of(row["call"]["tool"], row["call"]["input"])
    return contradicted([rule], acts, cwd=row.get("cwd") or "", branch=row.get("branch") or "")


if __name__ == "__main__":
    main()
