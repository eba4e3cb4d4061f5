"""Small conversations in the Anthropic form, and the means to fail a store for real."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from tests.paste_settings import PasteSettings
from undrift.session.session import Session
from undrift.stores.database import Database
from undrift.stores.projects import places_in
from undrift.stores.sqlite import SqliteStore
from undrift.window.context import SessionContext
from undrift.wire import anthropic

__all__ = [
    "Json",
    "assistant",
    "body",
    "call",
    "crowded",
    "database_of",
    "image",
    "locked",
    "merged",
    "opened",
    "parts",
    "problems",
    "records_of",
    "refusing",
    "refusing_after",
    "result",
    "rounds",
    "sent",
    "text",
    "thinking",
    "user",
]

Json = dict[str, Any]


def user(*content: Any) -> Json:
    """A lone text is written as a string, all else as blocks."""
    return _message("user", content)


def assistant(*content: Any) -> Json:
    return _message("assistant", content)


def text(words: str, **fields: Any) -> Json:
    return {"type": "text", "text": words, **fields}


def call(id_: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": id_, "name": "Read", "input": given}


def result(id_: Any, content: Any, **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def image(data: str = "aGk=") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def rounds(count: int, *, first: int = 0, characters: int = 400) -> list[Json]:
    """Calls that are each answered before the next one is made."""
    messages = []
    for number in range(first, first + count):
        answer = f"answer {number}: ".ljust(characters, "x")
        messages += [assistant(call(f"c{number}", path=f"{number}.py")), user(result(f"c{number}", answer))]
    return messages


def crowded(seed: int) -> tuple[list[Json], int]:
    """Results of many short lines, and a budget at which a first choice of lines turns out to cost too much."""
    drawn = random.Random(seed)
    messages = [user("go")]
    size = drawn.choice([1, 3, 8])
    for number in range(drawn.randint(10, 24)):
        names = [f"n{number}_{n}" for n in range(40)]
        kinds = ["{}", "name_{} = call()", "", "a b", "1"]
        lines = [drawn.choice(kinds).format(name) for name in names[: drawn.randint(3, 40)]]
        ids = [f"c{number}.{n}" for n in range(size)]
        answers = [result(id_, "\n".join([*lines, f"u_{id_}"])) for id_ in ids]
        messages += [assistant(*(call(id_, path=f"f{number}") for id_ in ids)), user(*answers)]
    return [*messages, assistant("done"), user("next")], drawn.randint(300, 4_000)


def body(*messages: Any, model: str = "claude-sonnet-4-5", **fields: Any) -> Json:
    return {"model": model, "max_tokens": 1000, "messages": list(messages), **fields}


def opened(home: Path, session_id: str = "s", *, busy_timeout_ms: int = 5_000, **settings: Any) -> Session:
    """A session that counts characters / 4, with a clock that stands at one second."""
    chosen = PasteSettings(**{"token_counter": "characters/4", **settings})
    store = SqliteStore.open(home, busy_timeout_ms=busy_timeout_ms)
    return Session(SessionContext.of(session_id, store, chosen, lambda: 1_000, home=home))


def database_of(session: Session) -> Database:
    """The file behind a session's back."""
    store = session._store
    assert isinstance(store, SqliteStore)
    return store._database


def parts(message: Json) -> list[Json]:
    """The blocks of a message, whichever way it is written."""
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def merged(messages: list[Json]) -> list[Json]:
    """What the provider sees: neighbours of one role are one message (WIRE A4)."""
    out: list[Json] = []
    for message in messages:
        if out and out[-1]["role"] == message["role"]:
            out[-1]["content"] += parts(message)
        else:
            out.append({"role": message["role"], "content": list(parts(message))})
    return out


def problems(messages: list[Json]) -> tuple[str, ...]:
    """What the provider would refuse, once it has merged neighbours."""
    return anthropic.problems([anthropic.read(m, "messages") for m in merged(messages)], {})


def sent(prepared: Any) -> list[Json]:
    """The messages that go out, from a dict or from bytes."""
    given = prepared.body
    return (json.loads(given) if isinstance(given, bytes) else given)["messages"]


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Another process, as it were, writes and does not come to an end."""
    connection = apsw.Connection(str(home / "undrift.db"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def refusing(home: Path, table: str) -> Iterator[None]:
    """The database takes nothing into this table."""
    connection = apsw.Connection(str(home / "undrift.db"))
    connection.execute(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END")
    try:
        yield
    finally:
        connection.execute("DROP TRIGGER refuse")
        connection.close()


@contextmanager
def refusing_after(home: Path, commits: int) -> Iterator[None]:
    """The database takes so many operations more, then none."""
    connection = apsw.Connection(str(home / "undrift.db"))
    connection.execute("CREATE TABLE refuse_after (commits INTEGER)")
    connection.execute("INSERT INTO refuse_after VALUES (?)", (commits,))
    connection.execute(
        "CREATE TRIGGER refuse_later BEFORE INSERT ON operations BEGIN "
        "SELECT RAISE(ABORT, 'refused') WHERE (SELECT commits FROM refuse_after) <= 0; "
        "UPDATE refuse_after SET commits = commits - 1; END"
    )
    try:
        yield
    finally:
        connection.execute("DROP TRIGGER refuse_later")
        connection.execute("DROP TABLE refuse_after")
        connection.close()


def _message(role: str, content: tuple[Any, ...]) -> Json:
    if len(content) == 1 and isinstance(content[0], str):
        return {"role": role, "content": content[0]}
    return {"role": role, "content": [text(part) if isinstance(part, str) else part for part in content]}


def records_of(home: Path) -> Path:
    """Return the folder of the records of the one project in a home."""
    (place,) = places_in(home)
    return place.records
