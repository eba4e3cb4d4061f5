"""The real Claude Code and Codex with unchanged permissions: the agent writes its notes and searches a log.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.person import Person, allowed, loading, needed, new_person, results, tool
from tests.clients.programs import PROGRAMS, ROOT
from tests.clients.real_gateway import seen_on_screen, trusted
from undrift.testing import Follow, Read, Say, ScriptedProvider, Shell, Turn, Use

STATEMENT = "The release train leaves on the third Tuesday."
IN_THE_LOG = "file 1 holds the number 7"
SEARCH = '"number 7"'
_NOTES = re.compile(r"/[^\s\"]*/active_context\.md")
_FINISHED = (
    "from tests.task_sessions import TaskSession as T; one = T(None, 'finished'); one.does('fix-login'); one.close()"
)


@pytest.fixture
def person() -> Iterator[Person]:
    yield from new_person()


def notes_in(text: str) -> str:
    """The path of the notes, as our tool said it to the model."""
    found = _NOTES.search(text)
    assert found, text[-2_000:]
    return found[0]


def at_notes(turn: Callable[[str], Turn]) -> Turn:
    """A turn about the notes, at the path that our tool has said."""
    return Follow(lambda text: turn(notes_in(text)))


def finished(person: Person, root: Path) -> Path:
    """Let a session finish a task, and its person write the log of it; the log's path."""
    person.run(root, sys.executable, "-c", _FINISHED)
    log = Path(person.undrift(root, "session", "archive", "fix-login").splitlines()[0])
    assert log == root / ".undrift" / "archives" / "finished" / "fix-login.log"
    assert IN_THE_LOG in log.read_text("utf-8")
    return log


def outside(person: Person) -> Path:
    """A file of notes in the home, as it would be without a place in the repository."""
    path = person.home / ".undrift" / "archives" / "s" / "active_context.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"{IN_THE_LOG} here too\n", "utf-8")
    return path


def started(client: str) -> list[Turn]:
    """The agent starts a task, and our tool says where its notes are."""
    task = {"id": "plan", "content": "Plan the release", "status": "in_progress"}
    return [*loading(client), Use(tool(client, "task_update"), task)]


def notes_of(root: Path) -> list[str]:
    """The notes of the client's own session."""
    return [path.read_text("utf-8") for path in sorted(root.glob(".undrift/archives/mcp-*/active_context.md"))]


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
def test_claude_code_searches_without_a_question_and_writes_if_edits_are_accepted(mode: str, person: Person):
    client, root = needed("claude"), person.repository("shop")
    person.settle(client, [root], root)
    log, beside = finished(person, root), outside(person)
    before = beside.read_text("utf-8")
    with ScriptedProvider() as provider:
        provider.say(
            *started(client),
            at_notes(Read),
            at_notes(lambda path: Use("Write", {"file_path": path, "content": STATEMENT})),
            at_notes(lambda path: Use("Edit", {"file_path": path, "old_string": "train", "new_string": "ship"})),
            Shell(f"grep -rn {SEARCH} .undrift/archives"),
            Shell(f"rg -n {SEARCH} .undrift/archives/finished"),
            Shell(f"grep -n {SEARCH} {log}"),
            Shell(f"grep -rn {SEARCH} ."),
            Read(str(beside)),
            Use("Write", {"file_path": str(beside.parent / "new.md"), "content": STATEMENT}),
            Shell(f"grep -n {SEARCH} {beside}"),
            Say("It is done."),
        )
        said = person.ask(client, root, provider.url, *allowed(client), "--permission-mode", mode)
        (_, told, _, _, _, *searched, of_all, read, written, grepped) = results(provider)
        assert str(root / ".undrift" / "archives") in told, said
        assert [IN_THE_LOG in one for one in searched] == [True] * 3, searched
        assert IN_THE_LOG not in of_all, "what an agent records is in the results of every search"
        assert all('"is_error": true' in one and IN_THE_LOG not in one for one in (read, written, grepped))
        assert not [seen.refused for seen in provider.requests if seen.refused]
    assert notes_of(root) == ["" if mode == "default" else STATEMENT.replace("train", "ship")]
    assert (beside.read_text("utf-8"), list(beside.parent.iterdir())) == (before, [beside])
    assert person.run(root, "git", "status", "--porcelain") == ""


def test_claude_code_asks_its_person_before_it_writes_the_notes(tmp_path: Path):
    """In a terminal, with unchanged permissions: the person answers with Enter."""
    client = needed("claude")
    room = Room(tmp_path / "room", PROGRAMS[client], 1)
    person = Person(tmp_path / "room")
    root = person.repository("project")
    trusted(room)
    person.settle(client, [root], root)
    rules = {"permissions": {"allow": list(allowed(client)[1:])}}
    settings = room.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text("utf-8")), **rules}), "utf-8")
    with ScriptedProvider() as provider:
        around = {**PROGRAMS[client].variables, "PYTHONPATH": str(ROOT / "src"), "ANTHROPIC_BASE_URL": provider.url}
        room.program = replace(PROGRAMS[client], variables=around)
        write = at_notes(lambda path: Use("Write", {"file_path": path, "content": STATEMENT}))
        provider.say(*started(client), at_notes(Read), write, Say("The notes are written."))
        command = [str(room.program.executable), "--permission-mode", "default"]
        end = re.compile(r"The\s*notes\s*are\s*written")
        shown = seen_on_screen(command, room, end, "Write your notes.")
    asked = re.search(r"Do\s*you\s*want\s*to\s*(?:overwrite|create|make|edit|write)[^?]{0,60}\?", shown)
    assert asked, shown[-3_000:]
    print(asked[0])
    assert notes_of(root) == [STATEMENT]
    assert person.run(root, "git", "status", "--porcelain") == ""


def patch(path: str, line: str) -> Turn:
    """One line for a new file, as Codex's model writes files."""
    return Shell(f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch\nEOF")


@pytest.mark.parametrize("is_trusted", [True, False])
def test_codex_writes_its_notes_in_a_folder_that_it_trusts_and_nowhere_else(is_trusted: bool, person: Person):
    """A folder that is not trusted is only read by ``codex exec``: there no agent can write anything."""
    client, root = needed("codex"), person.repository("shop")
    person.settle(client, [root] if is_trusted else [], root)
    log, beside = finished(person, root), outside(person)
    before = beside.read_text("utf-8")
    with ScriptedProvider() as provider:
        provider.say(
            *started(client),
            at_notes(lambda path: patch(path, STATEMENT)),
            at_notes(lambda path: Shell(f"sed -i s/train/ship/ {path}")),
            Shell(f"grep -rn {SEARCH} .undrift/archives"),
            Shell(f"rg -n {SEARCH} .undrift/archives/finished"),
            Shell(f"rg -n {SEARCH} {log}"),
            Shell(f"rg -n {SEARCH} ."),
            patch(str(beside.parent / "new.md"), STATEMENT),
            Shell(f"echo more >> {beside}"),
            Shell(f"rg -n {SEARCH} {beside}"),
            Say("It is done."),
        )
        said = person.ask(client, root, provider.url)
        told, _, _, *searched, of_all, patched, appended, read = results(provider)
        assert str(root / ".undrift" / "archives") in told, said
        assert [IN_THE_LOG in one for one in searched] == [True] * 3, searched
        assert IN_THE_LOG not in of_all, "what an agent records is in the results of every search"
        assert IN_THE_LOG in read, "it reads everywhere"
        assert "Read-only file system" in appended, appended
        assert "patch rejected: writing " in patched, patched
        assert not [seen.refused for seen in provider.requests if seen.refused]
    assert notes_of(root) == [f"{STATEMENT.replace('train', 'ship')}\n" if is_trusted else ""], results(provider)
    assert (beside.read_text("utf-8"), list(beside.parent.iterdir())) == (before, [beside])
    assert person.run(root, "git", "status", "--porcelain") == ""
