"""The real Claude Code and Codex through gateways, in two repositories with one home: each session lies in its project.

Run by ``make clients``, which installs the clients; not part of ``make test``. No request leaves this machine.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.clients.matrix import Room
from tests.clients.person import Person, needed, new_person, trusting
from tests.clients.programs import PROGRAMS
from tests.clients.real_gateway import free_port, listening, settled
from undrift.testing import Follow, Say, ScriptedProvider, Shell, Turn

REPOSITORIES = ("shop", "blog")
TITLES = {"claude": "Claude Code", "codex": "Codex"}

_TOGETHER_S = 90


@pytest.fixture
def person() -> Iterator[Person]:
    yield from new_person()


def roots_of(person: Person) -> dict[str, Path]:
    return {name: person.repository(name) for name in REPOSITORIES}


def script(barrier: threading.Barrier) -> list[Turn]:
    """A session of two steps; at its first one all sessions have begun."""

    def wait(_text: str) -> Turn:
        barrier.wait()
        return Shell("cat app.py")

    return [Follow(wait), Shell("pwd"), Say("It is done.")]


def check(person: Person, roots: dict[str, Path], clients: tuple[str, ...]) -> None:
    """Each repository lists the sessions that ran in it, and no other project has any."""
    for name, root in roots.items():
        listed = json.loads(person.undrift(root, "session", "list", "--json"))["sessions"]
        assert sorted(one["name"] for one in listed) == sorted(f"{name} · {TITLES[one]} · Do it." for one in clients)
        shown = person.undrift(root, "session", "list")
        print(shown)
        assert all(f"{other} ·" not in shown for other in roots if other != name)
        assert person.run(root, "git", "status", "--porcelain") == ""
    everywhere = json.loads(person.undrift(roots["shop"], "session", "list", "--all-projects", "--json"))["sessions"]
    projects = [one["project"] for one in everywhere]
    assert sorted(projects) == sorted(str(root) for root in roots.values() for _ in clients)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_wrapped_client_in_each_of_two_repositories(client: str, person: Person):
    needed(client)
    roots, barrier = roots_of(person), threading.Barrier(len(REPOSITORIES), timeout=_TOGETHER_S)
    person.settle(client, list(roots.values()), roots["shop"])
    with ExitStack() as stack:
        providers = {name: stack.enter_context(ScriptedProvider(script(barrier))) for name in roots}
        with ThreadPoolExecutor(len(roots)) as pool:
            runs = [pool.submit(person.wrap, client, root, providers[name].url) for name, root in roots.items()]
            assert all("It is done." in run.result() for run in runs)
    check(person, roots, (client,))


def steps() -> list[Turn]:
    """Turns for any number of sessions at one provider: each reads a file, and ends when it has read it."""

    def step(text: str) -> Turn:
        return Say("It is done.") if "print('hello')" in text else Shell("cat app.py")

    return [Follow(step)] * 40


@contextmanager
def gateway(person: Person, upstream: str) -> Iterator[dict[str, str]]:
    """Run a gateway that was started in the home, where no project is; its addresses."""
    words = [sys.executable, "-P", "-m", "undrift", "proxy", "--port=0", "--json"]
    words += [f"--upstream-anthropic={upstream}", f"--upstream-openai={upstream}/v1"]
    with (
        (person.folder / "gateway.err").open("wb") as log,
        subprocess.Popen(words, cwd=person.home, env=person.environment(), stdout=subprocess.PIPE, stderr=log) as one,
    ):
        try:
            assert one.stdout is not None
            yield json.loads(one.stdout.readline())["base_urls"]
        finally:
            one.terminate()
            one.wait(30)


def test_one_gateway_for_both_clients_in_two_repositories(person: Person):
    """All four run at the same time."""
    clients = tuple(map(needed, TITLES))
    roots = roots_of(person)
    for client in clients:
        person.settle(client, list(roots.values()), roots["shop"])
    with ScriptedProvider(steps()) as provider, gateway(person, provider.url) as at:
        urls = {"claude": at["anthropic"], "codex": at["openai"]}
        with ThreadPoolExecutor(len(roots) * len(clients)) as pool:
            runs = [pool.submit(person.ask, one, root, urls[one]) for root in roots.values() for one in clients]
            assert all("It is done." in run.result() for run in runs)
        assert not [seen.refused for seen in provider.requests if seen.refused]
    check(person, roots, clients)


def test_one_service_for_both_clients_that_are_started_plainly(tmp_path: Path):
    """As after ``undrift install CLIENT --gateway``: no client names a gateway, and it runs in no project."""
    clients = tuple(map(needed, TITLES))
    room, port = Room(tmp_path / "room", PROGRAMS["claude"], 1), free_port()
    person = Person(tmp_path / "room")
    roots = roots_of(person)
    with ScriptedProvider(steps()) as provider:
        for client in clients:
            own = settled(room, client, provider.url)
            if client == "codex":
                own.write_text(own.read_text("utf-8") + trusting(list(roots.values())), "utf-8")
            person.undrift(roots["shop"], "install", client, "--gateway", f"--port={port}", "--yes")
        with listening(room, port), ThreadPoolExecutor(len(roots) * len(clients)) as pool:
            runs = [pool.submit(person.plainly, one, root) for root in roots.values() for one in clients]
            assert all("It is done." in run.result() for run in runs)
        assert not [seen.refused for seen in provider.requests if seen.refused]
    check(person, roots, clients)
