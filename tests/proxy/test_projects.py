"""One gateway serves several projects: each session's records lie in the project that its client works in."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.builders import claude, written
from tests.stores.test_projects import repository
from undrift import Session
from undrift.proxy.ask import Ask
from undrift.proxy.config import GatewayConfig
from undrift.proxy.sessions import OpenSessions
from undrift.settings import Settings
from undrift.stores.projects import place_of
from undrift.values.project import Project

SESSION = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with two repositories, who starts the gateway in a third folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    for name in ("shop", "blog"):
        repository(tmp_path / name)
    monkeypatch.chdir(tmp_path / "user")
    return tmp_path


@pytest.fixture
def sessions(user: Path) -> Iterator[OpenSessions]:
    settings = Settings(home=str(user / "home"), token_counter="characters/4", budget_tokens=2_000)
    opened = OpenSessions(GatewayConfig(settings=settings, shares=True))
    yield opened
    opened.close()


def asked(system: str = "", *, session: str = "", turns: int = 40, named: str = "") -> Ask:
    said: list[object] = [{"role": "user", "content": "Fix it."}]
    for step in range(turns):
        call = {
            "type": "tool_use",
            "id": f"toolu_{named}{step:08}",
            "name": "Bash",
            "input": {"command": f"run {step}"},
        }
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"line {step} of {named} output\n" * 40}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    body: dict[str, object] = {"model": "claude-opus-4-5", "max_tokens": 9, "system": system, "messages": said}
    if session:
        body["metadata"] = {"user_id": json.dumps({"session_id": session})}
    return Ask("anthropic", json.dumps(body).encode(), None, "", "", time.monotonic() + 60)


def recorded(user: Path, folder: str) -> list[str]:
    """The sessions with decisions in a folder's project."""
    from undrift.stores.opening import open_store
    from undrift.values.scope import Scope

    place = place_of(user / "home", user / folder, shares=True)
    if not (place.records / "undrift.db").exists():
        return []
    with open_store(place, Scope(), create=False) as store:
        return [row.session_id for row in store.sessions() if row.decisions]


def test_the_folder_in_the_clients_instructions_tells_the_project(user: Path, sessions: OpenSessions):
    for name in ("shop", "blog"):
        sessions.prepare(asked(f"Working directory: {user / name}", named=name))
    assert len(recorded(user, "shop")) == len(recorded(user, "blog")) == 1
    assert recorded(user, "shop") != recorded(user, "blog")
    assert recorded(user, "user") == []


def test_the_clients_own_session_file_wins_over_its_words(user: Path, sessions: OpenSessions):
    line = {**claude("user", "Fix it."), "cwd": str(user / "shop"), "sessionId": SESSION}
    written(user / "user" / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl", [line])
    managed = sessions.prepare(asked(f"Working directory: {user / 'blog'}", session=SESSION))
    assert recorded(user, "shop") == [managed.session_id]
    assert recorded(user, "blog") == []


@pytest.mark.parametrize("system", ["", "Working directory: /no/such/folder", "Working directory: relative/path"])
def test_a_request_that_tells_no_folder_belongs_where_the_gateway_was_started(
    user: Path, sessions: OpenSessions, system: str
):
    managed = sessions.prepare(asked(system))
    assert recorded(user, "user") == [managed.session_id]


def test_a_session_stays_where_it_began(user: Path, sessions: OpenSessions):
    first = sessions.prepare(asked("", session=SESSION))
    sessions.close()
    settings = Settings(home=str(user / "home"), token_counter="characters/4", budget_tokens=2_000)
    again = OpenSessions(GatewayConfig(settings=settings, shares=True))
    second = again.prepare(asked(f"Working directory: {user / 'shop'}", session=SESSION, turns=41))
    again.close()
    assert second.session_id == first.session_id
    assert recorded(user, "user") == [first.session_id]
    assert recorded(user, "shop") == []


def test_one_id_in_two_projects_is_two_sessions(user: Path, sessions: OpenSessions):
    for name in ("shop", "blog"):
        ask = asked(f"Working directory: {user / name}", named=name)
        ask.session = "run-1"
        sessions.prepare(ask)
        sessions._projects._known.clear()  # type: ignore[attr-defined]  # as after another 4,096 sessions
    assert recorded(user, "shop") == recorded(user, "blog") == ["run-1"]
    with Session.open("run-1", home=place_of(user / "home", user / "shop")) as session:
        assert session.history()


def test_conversations_of_two_projects_that_begin_with_the_same_words_are_two(user: Path, sessions: OpenSessions):
    for turns in (1, 40):
        for name in ("shop", "blog"):
            sessions.prepare(asked(f"Working directory: {user / name}", turns=turns, named="same"))
    assert len(recorded(user, "shop")) == len(recorded(user, "blog")) == 1


def test_no_request_after_the_first_reads_the_files_of_git(user: Path, sessions: OpenSessions):
    words = f"Working directory: {user / 'shop'}"
    sessions.prepare(asked(words, turns=2))
    (user / "shop" / ".git").rename(user / ".git")  # a look would find another project
    later = asked(words, turns=40)
    sessions.prepare(later)
    assert later.project is not None
    assert later.project.project == Project(str(user / "shop"), "", str(user / "shop"))
