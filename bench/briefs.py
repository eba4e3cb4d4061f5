"""The share that a brief holds of what a sub-agent uses: ``python -m bench.briefs DIR...``.

Two kinds of recorded tasks. Sessions of Codex' sub-agents (``codex-agents/``, with their parents in ``codex/``): what the
sub-agent's own calls and texts use. Tasks of Claude Code, whose sub-agents are not recorded: what the report uses that came
back. A need is an identifier or line that the parent had learned before the task, and that at most six of its entries
mention (`undrift.core.autopsy.used`). Each text is counted as the restore text is: an identifier counts in a line of the
parent's history only. A figure is the mean of the tasks' shares, with its 95% interval over tasks drawn again.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from undrift.bench.restore import raw_tail
from undrift.bench.restore_report import interval_of
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import Learned, count_held
from undrift.core.handoff import brief
from undrift.core.restore import restore
from undrift.core.text.tokens import characters_per_4
from undrift.errors import TranscriptError
from undrift.profiles import acts_of
from undrift.transcripts import Recording, read
from undrift.values.window import ContextEntry

__all__ = ["RecordedTask", "Shares", "main", "shares_of", "tasks_below"]

BUDGET_TOKENS = 2_000
TEXTS = ("task", "tail", "restore", "brief")
_WORDS = {
    "task": "the task's own text",
    "tail": "task and the parent's last tokens",
    "restore": "task and restore text",
    "brief": "task and brief",
}
_LEAST_CALLS = 5  # of the parent, before the task
_AGENTS = "codex-agents"


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A task that a parent gave: its session before, the words of the task, and what the sub-agent did or reported."""

    kind: str
    repository: str
    before: Sequence[ContextEntry]
    task: str
    done: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Shares:
    """The needs of one task (identifiers, lines), and the number of them that each text held."""

    kind: str
    repository: str
    needed: tuple[int, int]
    held: Mapping[str, tuple[int, int]]
    tokens: Mapping[str, int]


def tasks_below(folder: Path) -> Iterator[RecordedTask]:
    """Yield the tasks that the sessions below a folder gave, in the order of the files' names."""
    for path in sorted(folder.rglob("*.jsonl")):
        if path.parent.name == _AGENTS:
            yield from _of_codex(path)
        elif path.parent.name == "claude-code":
            yield from _of_claude(path)


def _recording(path: Path) -> Recording | None:
    try:
        return read(path.read_text(encoding="utf-8", errors="replace").splitlines(), format=None)
    except TranscriptError:
        return None


def _of_codex(path: Path) -> Iterator[RecordedTask]:
    """A fork begins with a copy of its parent's history; its tasks are the user's texts that the parent has not."""
    own, parent = _recording(path), _parent_of(path)
    if own is None or parent is None:
        return
    known = {entry.content for entry in parent.entries if _is_users(entry)}
    starts = [
        place
        for place, entry in enumerate(own.entries)
        if _is_users(entry) and entry.content not in known and not entry.content.lstrip().startswith("<")
    ]
    repository = path.name.partition("__")[0]
    for start, end in zip(starts, [*starts[1:], len(own.entries)], strict=True):
        at_ms = own.entries[start].timestamp
        before = [entry for entry in parent.entries if entry.timestamp < at_ms]
        done = steps_of(own.entries[start + 1 : end])
        yield RecordedTask("codex", repository, before, own.entries[start].content, done)


def _parent_of(path: Path) -> Recording | None:
    with path.open(encoding="utf-8") as file:
        parent = json.loads(file.readline()).get("payload", {}).get("forked_from_id")
    for other in sorted((path.parent.parent / "codex").glob("*.jsonl")):
        with other.open(encoding="utf-8") as file:
            if parent and json.loads(file.readline()).get("payload", {}).get("id") == parent:
                return _recording(other)
    return None


def _is_users(entry: ContextEntry) -> bool:
    about = entry.metadata or {}
    return about.get("kind") == "text" and about.get("role") == "user" and not about.get("meta")


def _of_claude(path: Path) -> Iterator[RecordedTask]:
    recording = _recording(path)
    if recording is None:
        return
    results = {one.pair_id: one for one in recording.entries if (one.metadata or {}).get("kind") == "result"}
    for place, entry in enumerate(recording.entries):
        about = entry.metadata or {}
        given = about.get("input")
        if about.get("kind") != "call" or not isinstance(given, Mapping) or entry.pair_id not in results:
            continue
        if acts_of(str(about.get("tool_name")), given)[0].kind == "agent" and isinstance(given.get("prompt"), str):
            report = results[entry.pair_id]
            said = Step(report, 0, "said", 0, "", ())
            task = given["prompt"]
            yield RecordedTask("claude-code", path.name.partition("__")[0], recording.entries[:place], task, (said,))


def shares_of(task: RecordedTask, budget_tokens: int) -> Shares | None:
    """Count what each text holds of a task's needs; None if the parent had done little, or nothing was needed."""
    steps = steps_of(task.before)
    if sum(step.kind == "call" for step in steps) < _LEAST_CALLS:
        return None
    learned = Learned()
    for step in steps:
        learned.take(step)
    used = learned.used_in(task.done, frozenset())
    if not used.references:
        return None
    texts = {
        "task": task.task,
        "tail": raw_tail(steps, budget_tokens),
        "restore": restore(task.before, budget_tokens=budget_tokens, count=characters_per_4).text,
        "brief": brief(task.before, task.task, budget_tokens=budget_tokens).text,
    }
    given = learned.references_held(used, [task.task], strict=False)
    held = {
        name: count_held(given | learned.references_held(used, [text], strict=True), 0) for name, text in texts.items()
    }
    return Shares(
        task.kind,
        task.repository,
        (used.count("identifier"), used.count("line")),
        {name: (one.identifiers, one.lines) for name, one in held.items()},
        {name: characters_per_4(text) for name, text in texts.items()},
    )


def _row(found: Sequence[Shares], name: str, kind: int) -> str:
    shares = [one.held[name][kind] / one.needed[kind] for one in found if one.needed[kind]]
    if not shares:
        return "-"
    low, high = interval_of(shares)
    pooled = sum(one.held[name][kind] for one in found) / sum(one.needed[kind] for one in found)
    return f"{sum(shares) / len(shares):.2f} ({low:.2f} to {high:.2f}), {pooled:.2f}"


def table(found: Sequence[Shares]) -> str:
    """Return the figures as a table of Markdown."""
    lines = [
        "| recordings | text | identifiers: macro (95%), pooled | lines: macro (95%), pooled |",
        "| --- | --- | --- | --- |",
    ]
    for kind in sorted({one.kind for one in found}):
        some = [one for one in found if one.kind == kind]
        needs = [sum(one.needed[which] for one in some) for which in (0, 1)]
        what = f"{kind}: {len(some)} tasks, {len({one.repository for one in some})} repositories, {needs[0]} / {needs[1]} needs"
        for name in TEXTS:
            lines.append(f"| {what} | {_WORDS[name]} | {_row(some, name, 0)} | {_row(some, name, 1)} |")
            what = ""
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of the folders that are given."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.briefs", description="The share that a brief holds of what sub-agents use."
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--budget", type=int, default=BUDGET_TOKENS)
    given = parser.parse_args(arguments)
    found = [
        shares
        for folder in given.folders
        for task in tasks_below(folder)
        if (shares := shares_of(task, given.budget)) is not None
    ]
    print(table(found))
    over = sum(one.tokens["brief"] > given.budget for one in found)
    print(f"\n{over} briefs over {given.budget} tokens; {sum(not one.tokens['brief'] for one in found)} empty")
    return 0


if __name__ == "__main__":
    sys.exit(main())
