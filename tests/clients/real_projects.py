"""The real Claude Code and Codex in several repositories and terminals at once: each project keeps to itself.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.person import Person, allowed, loading, needed, new_person, results, tool
from undrift.testing import Follow, Say, ScriptedProvider, Turn, Use

TERMINALS = {"one": "shop", "two": "shop", "three": "blog"}
"""Terminals, each with the repository in which its client is started."""

_TOGETHER_S = 90


@pytest.fixture
def person() -> Iterator[Person]:
    yield from new_person()


def statement(terminal: str) -> str:
    return f"The release train of terminal {terminal} leaves on the third Tuesday."


@pytest.mark.parametrize("clients", [("claude",) * 3, ("codex",) * 3, ("claude", "codex", "codex")])
def test_each_agent_has_a_task_of_its_own_and_the_memory_of_its_repository(clients: tuple[str, ...], person: Person):
    """All three hold a task at the same time; each has remembered a fact before any of them searches."""
    by_terminal = dict(zip(TERMINALS, map(needed, clients), strict=True))
    roots = {name: person.repository(name) for name in sorted(set(TERMINALS.values()))}
    for client in set(clients):
        person.settle(client, list(roots.values()), roots["shop"])
    barrier = threading.Barrier(len(TERMINALS), timeout=_TOGETHER_S)

    def together(turn: Turn) -> Turn:
        def wait(_text: str) -> Turn:
            barrier.wait()
            return turn

        return Follow(wait)

    with ExitStack() as stack:
        providers = {name: stack.enter_context(ScriptedProvider()) for name in TERMINALS}
        for name, provider in providers.items():
            client = by_terminal[name]
            task = {"id": f"task-{name}", "content": f"Work in terminal {name}", "status": "in_progress"}
            provider.say(
                *loading(client),
                together(Use(tool(client, "task_update"), task)),
                Use(tool(client, "remember"), {"text": statement(name)}),
                together(Use(tool(client, "search"), {"query": "when does the release train leave"})),
                Say("It is done."),
            )
        with ThreadPoolExecutor(len(TERMINALS)) as pool:
            runs = {
                name: pool.submit(
                    person.ask, by_terminal[name], roots[repository], providers[name].url, *allowed(by_terminal[name])
                )
                for name, repository in TERMINALS.items()
            }
            said = {name: run.result() for name, run in runs.items()}
        for name, provider in providers.items():
            started, _, searched = results(provider)[-3:]
            assert "active_context.md" in started, f"{name} was refused: {started}\n{said[name]}"
            assert str(roots[TERMINALS[name]] / ".undrift" / "archives") in started
            for other, repository in TERMINALS.items():
                is_ours = repository == TERMINALS[name]
                assert (statement(other) in searched) is is_ours, f"{name} and the memory of {other}: {searched}"
            assert not [seen.refused for seen in provider.requests if seen.refused]
    for repository, root in roots.items():
        check_typed(person, root, [name for name, here in TERMINALS.items() if here == repository])


def check_typed(person: Person, root: Path, terminals: Sequence[str]) -> None:
    """Check the output of commands in the repository: what was done there, and nothing else."""
    found = json.loads(person.undrift(root, "memory", "search", "release train", "--json"))
    assert sorted(one["content"] for one in found["found"]) == sorted(map(statement, terminals))
    sessions = json.loads(person.undrift(root, "session", "list", "--json"))["sessions"]
    tasks = [
        task["id"]
        for session in sessions
        for task in json.loads(person.undrift(root, "session", "tasks", session["session_id"], "--json"))["tasks"]
    ]
    assert sorted(tasks) == sorted(f"task-{name}" for name in terminals)
    assert person.undrift(root, "session", "tasks").count("in progress") == 1
    assert person.run(root, "git", "status", "--porcelain") == ""


def test_a_client_in_a_subfolder_or_sent_to_a_repository_works_for_the_repository(person: Person):
    """Claude Code names its own folder to MCP servers; Codex starts them in the folder that it is sent to."""
    root = person.repository("shop")
    deep = root / "src" / "deep"
    deep.mkdir(parents=True)
    ways = {
        "one": ("claude", deep, ()),
        "two": ("codex", deep, ()),
        "three": ("codex", person.folder, ("-C", str(root))),
    }
    for client in ("claude", "codex"):
        person.settle(needed(client), [root], root)
    for name, (client, where, more) in ways.items():
        with ScriptedProvider() as provider:
            remember = Use(tool(client, "remember"), {"text": statement(name)})
            provider.say(*loading(client), remember, Say("It is done."))
            person.ask(client, where, provider.url, *allowed(client), *more)
    found = json.loads(person.undrift(root, "memory", "search", "release train", "--json"))
    assert sorted(one["content"] for one in found["found"]) == sorted(map(statement, ways))
    assert len(list(person.home.glob(".undrift/projects/*"))) == 1
