"""A user's home with a recorded session in it, and the hook called as a client calls it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.builders import Record, answered, called, claude, listing, said
from undrift.hooks.answer import answer
from undrift.hooks.call import Options
from undrift.values.restored import MOST_PARTS

SESSION = "0199f1d2-aaaa-4bbb-8ccc-000000000001"
EARLIER = "0199f1d2-aaaa-4bbb-8ccc-000000000002"


def with_ids(records: list[Record], cwd: Path | str = "/repo") -> list[Record]:
    """Give records the ids and the folder that Claude Code writes."""
    return [{**record, "uuid": f"u-{number}", "cwd": str(cwd)} for number, record in enumerate(records)]


def session(results: int = 4, *, last: str = "Done.") -> list[Record]:
    """A user who asks for two things, and an agent that reads files."""
    records = [claude("user", "Find out where value_0 is computed. Never touch the file build.lock.")]
    for number in range(results):
        records.append(claude("assistant", [called(number, file_path=f"/repo/src/part_{number}.py")], at_s=number))
        records.append(claude("user", [answered(number, listing(number))], at_s=number))
    return with_ids([*records, claude("assistant", [said(last)], at_s=results)])


def compacted(number: int = 0) -> list[Record]:
    """What Claude Code writes at a compaction."""
    boundary = {"type": "system", "subtype": "compact_boundary", "isSidechain": False, "uuid": f"b-{number}"}
    summary = claude("user", "This session is being continued.", isCompactSummary=True)
    return [boundary, {**summary, "uuid": f"s-{number}"}]


@dataclass(frozen=True, slots=True)
class User:
    """A user with a home of undrift and one of Claude Code."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "undrift"

    @property
    def claude_home(self) -> Path:
        return self.folder / "claude"

    def transcript(self, session_id: str = SESSION) -> Path:
        return self.claude_home / "projects" / "-repo" / f"{session_id}.jsonl"

    def write(self, records: list[Record], session_id: str = SESSION, *, end: str = "\n") -> Path:
        path = self.transcript(session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(record) for record in records) + end, encoding="utf-8")
        return path

    def add(self, records: list[Record]) -> None:
        with self.transcript().open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)

    def payload(self, event: str, source: str = "", **other: Any) -> bytes:
        given = {"session_id": SESSION, "transcript_path": str(self.transcript()), "cwd": "/repo"}
        given |= {"hook_event_name": event, **({"source": source} if source else {})}
        return json.dumps({**given, **other}).encode()

    def options(self, part: int = 1, parts: int = MOST_PARTS, *, now: bool = True) -> Options:
        return Options("claude", str(self.home), str(self.claude_home), part, parts, now=now)

    def pre_compact(self, parts: int = MOST_PARTS, **other: Any) -> str:
        return answer("PreCompact", self.payload("PreCompact", **other), self.options(parts=parts))

    def starts(self, source: str, part: int = 1, **other: Any) -> str:
        """Start a session; return what the client puts into the window."""
        printed = answer("SessionStart", self.payload("SessionStart", source, **other), self.options(part))
        if not printed:
            return ""
        told = json.loads(printed)["hookSpecificOutput"]
        assert told["hookEventName"] == "SessionStart"
        text: str = told["additionalContext"]
        return text

    def prompts(self, words: str) -> str:
        """Send a message; return what the client puts into the window beside it."""
        printed = answer("UserPromptSubmit", self.payload("UserPromptSubmit", prompt=words), self.options())
        found: str = json.loads(printed)["hookSpecificOutput"].get("additionalContext", "") if printed else ""
        return found

    def restored(self) -> str:
        """Return all that the client puts into the window after a compaction."""
        return "".join(self.starts("compact", part) for part in range(1, MOST_PARTS + 1))

    def log(self) -> list[str]:
        path = self.home / "hooks.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
