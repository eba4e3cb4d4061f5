"""A session that is opened again before a request: the window is the one that it would have been, and hardly anything is read twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.session.talk import Talk, every_wire
from tests.session.test_long_histories import BUDGET, marked, messages
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.stores import rows
from undrift.stores.packing import unframed
from undrift.stores.readings import READING_COLUMNS
from undrift.testing import simulator_for

MODEL = "claude-sonnet-4-5"


def opened(home: Path, **settings: Any) -> Session:
    return Session.open("s", home=home, settings=Settings(**{"budget_tokens": BUDGET, **settings}), clock=lambda: 1)


def bytes_of(history: list[dict[str, Any]], **head: Any) -> bytes:
    return json.dumps({**head, "model": MODEL, "max_tokens": 10, "messages": history}).encode()


def grown(home: Path, items: int = 261) -> list[dict[str, Any]]:
    """A session whose history has come to so many items; returns the history."""
    whole = messages(items)[:items]
    with opened(home) as session:
        for end in range(11, items + 1, 10):
            session.prepare(bytes_of(marked(whole[:end])))
    return whole


def stored(home: Path) -> int:
    return len(changed(home, lambda record: record))


def changed(home: Path, change: Callable[[dict[str, Any]], Any], *, is_forged: bool = True) -> list[Any]:
    """Change what is kept; forged, so that its SHA-256 fits."""
    connection = apsw.Connection(str(home / "undrift.db"))
    found: list[Any] = connection.execute(f"SELECT {READING_COLUMNS} FROM readings").fetchall()
    for number, _, *parts, record in found:
        made = change(json.loads(unframed(bytes(record))))
        new = made if isinstance(made, bytes) else json.dumps(made).encode()
        digest = rows.digest(*parts, new) if is_forged else b"0" * 32
        if new != json.dumps(json.loads(unframed(bytes(record)))).encode():
            sql = "UPDATE readings SET record = ?, record_sha256 = ? WHERE number = ?"
            connection.execute(sql, (new, digest, number))
    connection.close()
    return found


def without(home: Path) -> None:
    connection = apsw.Connection(str(home / "undrift.db"))
    connection.execute("DELETE FROM readings")
    connection.close()


def outcome(home: Path, body: bytes, **settings: Any) -> tuple[Any, ...]:
    with opened(home, **settings) as session:
        found = session.prepare(body)
        return found.body, found.actions, found.tokens_before, found.tokens_after, found.warnings


def test_each_window_is_that_of_a_session_which_stayed_open(tmp_path: Path):
    whole = messages(150)
    fork = [*whole[:121], {"role": "assistant", "content": "Another way."}, {"role": "user", "content": "Go on."}]
    histories = [marked(whole[: 2 * number + 1]) for number in range(10, 120, 3)]
    histories += [fork, fork, whole[:181], whole[:41], whole[:201], whole[:203], whole[:205]]
    histories += [marked(whole[: 205 + 2 * number]) for number in range(20)]
    with opened(tmp_path / "open") as session:
        for number, history in enumerate(histories):
            head = {"metadata": {"user_id": str(number if 50 > number > 42 else 0)}}
            body = bytes_of(history, **head)
            expected = session.prepare(body)
            found = outcome(tmp_path / "closed", body)
            assert found[0] == expected.body, number
            assert found[1:] == (
                expected.actions,
                expected.tokens_before,
                expected.tokens_after,
                expected.warnings,
            ), number
    assert stored(tmp_path / "closed") > 1


def test_what_was_counted_is_not_counted_again(tmp_path: Path):
    whole = grown(tmp_path)
    _, _, before, _, _ = outcome(tmp_path, bytes_of(whole))
    changed(tmp_path, lambda record: {**record, "tokens": [tokens + 1 for tokens in record["tokens"]]})
    _, _, after, _, _ = outcome(tmp_path, bytes_of(whole))
    assert after > before + 100


def cut(record: dict[str, Any]) -> Any:
    return json.dumps(record).encode()[:-9]


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cut": cut,
    "empty": lambda _: b"",
    "a list": lambda _: [],
    "a column less": lambda record: {**record, "tokens": record["tokens"][1:]},
    "places backwards": lambda record: {**record, "places": record["places"][::-1]},
    "no items": lambda record: {**record, "ids": [], "places": [], "tokens": [], "pairs": [], "items": []},
    "marks elsewhere": lambda record: {**record, "marked": [10**9]},
    "words for numbers": lambda record: {**record, "tokens": ["many"] * len(record["tokens"])},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reading_that_nobody_of_ours_wrote_is_passed_over(tmp_path: Path, name: str):
    whole = grown(tmp_path)
    body = bytes_of(whole)
    changed(tmp_path, HOSTILE[name])
    found = outcome(tmp_path, body)
    without(tmp_path)
    assert found == outcome(tmp_path, body)


def test_a_damaged_reading_is_passed_over_and_named(tmp_path: Path):
    whole = grown(tmp_path)
    body = bytes_of(whole)
    changed(tmp_path, lambda record: {**record, "tokens": [0] * len(record["tokens"])}, is_forged=False)
    with opened(tmp_path) as session:
        found = session.prepare(body)
        assert any("reading 1 " in one for one in session._context.store.integrity())
    without(tmp_path)
    assert (found.body, found.actions) == outcome(tmp_path, body)[:2]


def test_other_bytes_another_counter_and_another_form_are_read_anew(tmp_path: Path):
    whole = grown(tmp_path)
    changed(
        tmp_path, lambda record: {**record, "tokens": [10**6] * len(record["tokens"])}
    )  # whoever took it would tell
    other = [{**whole[0], "content": "Read some of it."}, *whole[1:]]
    assert outcome(tmp_path, bytes_of(other))[2] < 10**6
    assert outcome(tmp_path, bytes_of(whole), token_counter="characters/4")[2] < 10**6
    spaced = json.dumps({"model": MODEL, "messages": whole, "max_tokens": 9}, indent=1).encode()
    assert outcome(tmp_path, spaced)[2] < 10**6
    assert outcome(tmp_path, bytes_of(whole))[2] > 10**6


def test_a_purge_takes_them_along_and_a_rewinding_leaves_the_window_as_it_would_be(tmp_path: Path):
    whole = grown(tmp_path)
    body = bytes_of(whole)
    with opened(tmp_path) as session:
        session.rewind(2)
        expected = session.prepare(body).body
    assert outcome(tmp_path, body)[0] == expected
    assert stored(tmp_path) > 0
    with opened(tmp_path) as session:
        ref = next(action.ref for action in session.prepare(body).actions if action.kind == "pruned")
        session.purge(ref)
    assert stored(tmp_path) == 0
    before = outcome(tmp_path, body)
    assert before == outcome(tmp_path, body)


@every_wire
def test_every_form_gives_the_window_of_a_session_for_which_nothing_was_kept(tmp_path: Path, wire: str):
    """Two homes see the same; in one of them, what was read is deleted before each opening. Both read on in one process,
    are opened again, and another process decides in between."""
    talk = Talk(simulator_for(wire))
    bodies: list[bytes] = []
    for number in range(110):
        talk.works(f"src/{number}.py", finds="\n".join(f"value_{number}_{line} = {line}" for line in range(6)))
        if number % 20 == 19:
            talk.hears(f"Part {number} is read.", says=f"Now part {number + 1}.")
        bodies.append(json.dumps(talk.history.body()).encode())
    kept, bare = tmp_path / "kept", tmp_path / "bare"
    order = [*range(4, 60, 4), 40, *range(60, 110, 5), 80, 109]
    settings = Settings(budget_tokens=BUDGET)
    taken = 0
    for step, number in enumerate(order):
        found = []
        for home in (kept, bare):
            if home == bare and step:
                without(home)
            with (
                Session.open("s", home=home, settings=settings, clock=lambda: 1) as first,
                Session.open("s", home=home, settings=settings, clock=lambda: 1) as other,
            ):
                one = first.prepare(bodies[number - 2], wire=wire)
                two = other.prepare(bodies[number], wire=wire)
                again = first.prepare(bodies[number], wire=wire)
                assert two.body == again.body
                found.append([(p.body, p.actions, p.tokens_before, p.tokens_after, p.warnings) for p in (one, two)])
        assert found[0] == found[1], (step, number)
        taken += stored(kept)
    assert taken
