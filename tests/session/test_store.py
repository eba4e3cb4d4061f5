"""What Session writes, finds again, and does when it cannot: pins, recall, masks, faults of the disk, usage."""

import copy
import json
import shutil
import signal
from itertools import chain
from pathlib import Path
from types import FrameType

import apsw
import pytest

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    database_of,
    locked,
    opened,
    parts,
    problems,
    refusing,
    result,
    rounds,
    sent,
    text,
    thinking,
    user,
)
from tests.stores.builders import unpacked_segments
from undrift.errors import InputError, RecallError, StoreCorrupt
from undrift.settings import Settings
from undrift.stores.sqlite import SqliteStore

LONG = [user("hello"), *rounds(20)]


def on_disk(home: Path) -> bytes:
    """All files of a home, and what the segments of its stores hold, as compressed bytes say nothing."""
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    segments = (raw for path in files if path.name == "undrift.db" for raw in unpacked_segments(path.parent))
    return b"".join(chain((path.read_bytes() for path in files), segments))


# -------------------------------------------------------------------------------------------- recall, find and why


def test_whatever_left_is_recalled_by_reference_and_by_entry_and_found_by_words(tmp_path):
    with opened(tmp_path, budget_tokens=1_000) as session:
        prepared = session.prepare(body(*LONG))
    answers = [part["content"] for message in LONG[2::2] for part in parts(message)]
    with opened(tmp_path, budget_tokens=1_000) as session:
        recalled = [session.recall(action.ref) for action in prepared.actions]
        assert [session.recall(action.entry_id) for action in prepared.actions] == recalled
        assert [one for one in recalled if one in answers] == answers[: len(recalled) // 2]
        assert [json.loads(one) for one in recalled if one not in answers] == [
            {"path": f"{n}.py"} for n in range(len(recalled) // 2)
        ]
        (found,) = session.find("answer 3")[:1]
        assert session.recall(found.ref).startswith("answer 3:")
        for action in prepared.actions:
            decision = session.why(action.ref)
            assert decision == session.why(action.entry_id)
            assert decision is not None
            assert (decision.kind, decision.reason, decision.entry_id) == ("pruned", action.reason, action.entry_id)
            assert decision.detail["budget_tokens"] == 1_000
        assert session.why("0" * 16) is None


def test_an_original_belongs_to_its_session(tmp_path):
    with opened(tmp_path, "mine", budget_tokens=1_000) as mine, opened(tmp_path, "yours") as yours:
        (ref, *_) = [action.ref for action in mine.prepare(body(*LONG)).actions]
        with pytest.raises(InputError, match="another session"):
            yours.recall(ref)
        assert yours.find("answer") == ()
        with pytest.raises(RecallError):
            mine.recall("no such entry")


@pytest.mark.parametrize("session_id", ["", None, 7])
def test_a_session_needs_a_name(tmp_path, session_id):
    with pytest.raises(InputError, match="session id"):
        type(opened(tmp_path)).open(session_id, home=tmp_path)


def test_an_unknown_wire_is_refused(tmp_path):
    session = opened(tmp_path)
    for act in (lambda: session.prepare(body(user("a")), wire="telex"), lambda: session.record({}, wire="telex")):
        with pytest.raises(InputError, match="anthropic"):
            act()


# ------------------------------------------------------------------------------------------------------------ pins


def texts_with(words: str, messages: list[Json]) -> list[int]:
    return [n for n, m in enumerate(messages) if any(words in part.get("text", "") for part in parts(m))]


def test_a_pin_stands_in_the_first_message_of_a_new_conversation_and_stays(tmp_path):
    with opened(tmp_path, budget_tokens=1_000) as session:
        ref = session.pin("tas", "never touch main")
        assert session.pin("tas", "never touch main") == ref
        first = session.prepare(body(user("hello")))
        assert texts_with("never touch main", sent(first)) == [0]
        (action,) = first.actions
        assert (action.kind, action.ref, action.tokens_saved < 0) == ("pinned", ref, True)
        assert first.tokens_after == first.tokens_before - action.tokens_saved
        assert session.recall(ref) == "never touch main"
        grown = session.prepare(body(*LONG))
        assert sent(grown)[0] == sent(first)[0]
    with opened(tmp_path, budget_tokens=1_000) as session:
        assert session.pin("tas", "never touch main") == ref
        assert session.prepare(body(*LONG)) == grown


def test_a_later_pin_goes_to_the_tail_and_stays_there(tmp_path):
    with opened(tmp_path) as session:
        before = session.prepare(body(*LONG))
        session.pin("requirements", "use tabs")
        pinned = session.prepare(body(*LONG))
        assert texts_with("use tabs", sent(pinned)) == [40]
        assert sent(pinned)[:40] == sent(before)[:40]
        later = body(*LONG, *rounds(3, first=20))
        assert sent(session.prepare(later))[:41] == sent(pinned)
    with opened(tmp_path, budget_tokens=600) as session:
        out = sent(session.prepare(later))
        assert len(texts_with("use tabs", out)) == 1
        assert problems(out) == ()


def test_a_pin_stands_in_every_conversation_of_the_session_a_fork_included(tmp_path):
    session = opened(tmp_path)
    session.prepare(body(*LONG))
    session.pin("spec", "use tabs")
    session.prepare(body(*LONG))
    for other in (LONG[:11], [user("a sub-agent's task")], [user("x"), assistant("y"), user("z")]):
        assert len(texts_with("use tabs", sent(session.prepare(body(*other))))) == 1


@pytest.mark.parametrize("tail", [{"role": "system", "content": "the client's reminder"}, assistant("{")])
def test_a_pin_stands_in_the_window_also_when_the_user_does_not_speak_last(tmp_path, tail):
    """Claude Code ends requests with a message of the role system (WIRE A7)."""
    session = opened(tmp_path)
    session.prepare(body(*LONG))
    session.pin("spec", "use tabs")
    prepared = session.prepare(body(*LONG, tail))
    assert len(texts_with("use tabs", sent(prepared))) == 1
    assert problems(sent(prepared)) == ()


@pytest.mark.parametrize("characters", [400, 1_200, 2_400])
def test_a_new_pin_counts_when_the_window_is_fitted(tmp_path, characters):
    for count in range(1, 9):
        session = opened(tmp_path, f"s{count}", budget_tokens=1_000)
        messages = [user("hello"), *rounds(count)]
        session.prepare(body(*messages))
        session.pin("spec", "p" * characters)
        prepared = session.prepare(body(*messages))
        assert prepared.tokens_after <= 1_000 or any("over budget" in w for w in prepared.warnings), count
        session.close()


@pytest.mark.parametrize(("kind", "words"), [("reasoning", "x"), ("spec", ""), ("spec", " \n"), ("spec", None)])
def test_what_cannot_be_pinned_is_refused(tmp_path, kind, words):
    session = opened(tmp_path)
    with pytest.raises(InputError):
        session.pin(kind, words)
    given = body(user("hello"))
    assert session.prepare(given).body is given


def test_a_pin_with_bound_thinking_only_adds_to_the_tail(tmp_path):
    session = opened(tmp_path)
    messages = [user("hello"), assistant(thinking("hm"), "so"), user("go")]
    session.pin("spec", "use tabs")
    out = sent(session.prepare(body(*messages, model="claude-opus-5-5")))
    assert out[:2] == messages[:2]
    assert out[2]["content"][0] == text("go")
    assert len(out[2]["content"]) == 2


# --------------------------------------------------------------------------------------------------------- secrets


def canaries() -> dict[str, str]:
    return {
        "key": "sk-" + "ant-api03-" + "Qz7Lm2Xc9Vb4" * 7,
        "token": "gh" + "p_" + "aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xY3zA6",
        "pem": "\n".join(
            [
                "-----BEGIN RSA " + "PRIVATE KEY-----",
                *("MIIEcanary" + "x7Yz" * 13,) * 9,
                "-----END RSA " + "PRIVATE KEY-----",
            ]
        ),
    }


def with_secrets() -> list[Json]:
    key, token, pem = canaries().values()
    return [
        user(f"my key is {key}. " + "paste " * 3_000),
        assistant(call("a", command=f"curl -H 'x-api-key: {key}'", file=pem), call("b")),
        user(result("a", f"token={token}\n{pem}\n"), result("b", [text("two"), text(f"blocks: {pem}")])),
        assistant("noted"),
        user("go"),
        *rounds(20),
    ]


@pytest.mark.parametrize("masked", [True, False])
def test_no_secret_reaches_the_disk_unless_it_is_asked_for(tmp_path, masked):
    given = body(*with_secrets())
    with opened(tmp_path, budget_tokens=2_000, keep_user_text_tokens=100, mask_secrets=masked) as session:
        session.pin("spec", f"pinned {canaries()['token']}")
        prepared = session.prepare(given)
        kinds = [action.kind for action in prepared.actions]
        assert kinds.count("cut") == 1
        assert kinds.count("pruned") > 10
        pieces = [canaries()["key"], canaries()["token"], "MIIEcanary"]
        written = on_disk(tmp_path)
        assert [piece.encode() in written for piece in pieces] == [not masked] * 3
        recalled = "".join(session.recall(action.ref) for action in prepared.actions)
        assert any(piece in recalled for piece in pieces) is not masked
        assert ("[masked:" in recalled) is masked
        spans = [span for action in prepared.actions for span in session.original(action.ref).masked]
        assert (len(spans) >= 5) is masked
        for action in (one for one in prepared.actions if one.kind != "pinned"):
            assert session.recall(action.ref) == session.original(action.entry_id).entry.content
    assert [piece.encode() in on_disk(tmp_path) for piece in pieces] == [not masked] * 3


def test_masking_does_not_touch_the_window_that_is_sent(tmp_path):
    out = []
    for masked in (True, False):
        with opened(tmp_path / str(masked), budget_tokens=1_500, keep_user_text_tokens=100, mask_secrets=masked) as one:
            out.append(one.prepare(body(*with_secrets())).body)
    assert out[0] == out[1]
    assert canaries()["key"] in out[0]["messages"][0]["content"]


def test_masks_may_be_switched_on_for_a_session_that_had_none(tmp_path):
    given = body(*with_secrets())
    with opened(tmp_path, budget_tokens=3_000, mask_secrets=False) as session:
        session.pin("spec", f"pinned {canaries()['token']}")
        first = session.prepare(given)
    with opened(tmp_path, budget_tokens=3_000) as session:
        session.pin("spec", f"pinned {canaries()['token']}")
        second = session.prepare(given)
    assert first.actions
    assert (second.body, second.actions) == (first.body, first.actions)


# ---------------------------------------------------------------------------------------------- faults of the store


@pytest.mark.parametrize(
    "fault", [locked, lambda home: refusing(home, "originals"), lambda home: refusing(home, "decisions")]
)
def test_nothing_leaves_while_it_cannot_be_stored_and_all_is_well_after(tmp_path, fault):
    with opened(tmp_path, budget_tokens=1_000, busy_timeout_ms=20) as session:
        first = session.prepare(body(*LONG))
        grown = body(*LONG, *rounds(12, first=20))
        with fault(tmp_path):
            for given in (grown, grown, json.loads(json.dumps(grown))):
                prepared = session.prepare(given)
                assert prepared.actions == first.actions
                assert sent(prepared) == [*sent(first), *grown["messages"][41:]]
                assert any("could not be stored" in warning for warning in prepared.warnings)
                assert not any("left because" in warning for warning in prepared.warnings), "nothing has left"
        after = session.prepare(grown)
        assert after.tokens_after <= 1_000
        assert after.warnings == ()
        assert all(session.recall(action.ref) for action in after.actions)
        assert session.prepare(grown) == after
    with opened(tmp_path, budget_tokens=1_000) as session:
        assert session.prepare(grown) == after


def test_a_store_that_fails_from_the_first_turn_on_leaves_the_very_body(tmp_path):
    with opened(tmp_path, budget_tokens=1_000, busy_timeout_ms=20) as session:
        given = body(*LONG)
        with locked(tmp_path):
            assert session.prepare(given).body is given
        assert session.prepare(given).tokens_after <= 1_000


def test_a_store_that_was_deleted_or_closed_is_a_warning_too(tmp_path):
    given = body(*LONG)
    session = opened(tmp_path / "a", budget_tokens=1_000)
    shutil.rmtree(tmp_path / "a")
    gone = session.prepare(given)
    assert (gone.body is given, len(gone.actions)) == (True, 0)
    assert any("could not be stored" in one and str(tmp_path / "a") in one for one in gone.warnings)
    session = opened(tmp_path / "b", budget_tokens=1_000)
    session._store.close()
    assert any("closed" in warning for warning in session.prepare(given).warnings)


def test_a_damaged_decision_is_found_before_anything_is_sent_and_hinders_nothing_else(tmp_path):
    with opened(tmp_path, budget_tokens=1_000) as session:
        action = session.prepare(body(*LONG)).actions[-1]
    with apsw.Connection(str(tmp_path / "undrift.db")) as connection:
        connection.execute("UPDATE decisions SET tokens_saved = tokens_saved + 1 WHERE number = 1")
    with opened(tmp_path, budget_tokens=1_000) as session:
        for _ in range(2):
            with pytest.raises(StoreCorrupt, match="decision 1 does not match"):
                session.prepare(body(*LONG))
        assert session.tasks() == ()
        assert [row.kind for row in session.history()] == ["prune", "asked", "asked"]
    with SqliteStore.open(tmp_path) as store:
        assert store.original(action.ref).ref == action.ref


def test_a_pin_that_is_gone_from_the_store_is_named_and_no_other_window_is_sent(tmp_path):
    with opened(tmp_path) as session:
        ref = session.pin("requirements", "The port is 8080.")
        assert "8080" in str(session.prepare(body(user("hello"))).body)
    with apsw.Connection(str(tmp_path / "undrift.db")) as connection:
        connection.execute("DELETE FROM originals WHERE source = 'pin'")
    with opened(tmp_path) as session, pytest.raises(StoreCorrupt, match=f"{ref}.*undrift store restore"):
        session.prepare(body(user("hello")))


def test_a_full_disk_lets_nothing_leave_and_the_next_turn_goes_on(tmp_path):
    with opened(tmp_path, budget_tokens=1_000) as session:
        given = body(user("hello"), *rounds(20, characters=40_000))
        connection = database_of(session)._connected()  # the limit is that of the connection
        pages = connection.pragma("page_count")
        connection.pragma("max_page_count", pages)
        prepared = session.prepare(given)
        assert prepared.body is given
        assert any("disk is full" in warning for warning in prepared.warnings)
        connection.pragma("max_page_count", pages + 10_000)
        assert len(session.prepare(given).actions) > 20


def test_an_interrupted_commit_leaves_nothing_decided(tmp_path):
    """Ctrl-C while another process holds the lock: what then leaves must be on disk all the same."""

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        if frame is None or "/undrift/stores/" not in frame.f_code.co_filename:
            signal.setitimer(
                signal.ITIMER_REAL, 0.01
            )  # elsewhere it might hit what measures coverage, which holds a lock
            return
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with opened(tmp_path, budget_tokens=1_000, busy_timeout_ms=300) as session:
            with locked(tmp_path):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with pytest.raises(KeyboardInterrupt):
                    session.prepare(body(*LONG))
            prepared = session.prepare(body(*LONG))
            assert prepared.tokens_after <= 1_000
            assert all(session.recall(action.ref) for action in prepared.actions)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------------------------------------ calibration


def test_the_usage_that_is_reported_corrects_the_figures_both_ways(tmp_path):
    session = opened(tmp_path, token_counter="estimate")
    given = body(user("hello"), *rounds(10))
    plain = session.prepare(given).tokens_before
    usage = {"cache_creation_input_tokens": plain // 2, "cache_read_input_tokens": plain, "output_tokens": 10**6}
    session.record({"usage": {"input_tokens": plain // 2, **usage}})
    doubled = session.prepare(given)
    assert abs(doubled.tokens_before - 2 * plain) <= 2
    session.record(json.dumps({"usage": {"input_tokens": plain // 2}}).encode())
    assert abs(session.prepare(given).tokens_before - plain // 2) <= 2
    session.record({"usage": {"input_tokens": plain}})
    assert abs(session.prepare(given).tokens_before - plain) <= 2


def test_a_higher_usage_lets_entries_leave_earlier(tmp_path):
    given = body(user("hello"), *rounds(14))
    counted = opened(tmp_path, "counted", token_counter="estimate").prepare(given).tokens_before
    session = opened(tmp_path, token_counter="estimate", budget_tokens=2 * counted)
    plain = session.prepare(given)
    assert plain.actions == ()
    session.record({"usage": {"input_tokens": 3 * plain.tokens_before}})
    prepared = session.prepare(given)
    assert prepared.actions
    assert prepared.tokens_after <= 2 * counted


def test_a_restart_after_a_reported_usage_sends_the_same_bytes(tmp_path):
    """Otherwise the new process, not knowing the usage, would let entries leave that need not."""
    messages = [user("hello"), *rounds(60)]
    with opened(tmp_path, budget_tokens=3_000, token_counter="estimate") as session:
        before = session.prepare(body(*messages[:81]))
        session.record({"usage": {"input_tokens": before.tokens_after // 3}})
        last = session.prepare(body(*messages))
    with opened(tmp_path, budget_tokens=3_000, token_counter="estimate") as session:
        assert session.prepare(body(*messages)).body == last.body


def test_characters_over_four_are_never_scaled(tmp_path):
    session = opened(tmp_path)
    given = body(user("x" * 400))
    assert session.prepare(given).tokens_before == 100
    session.record({"usage": {"input_tokens": 200}})
    assert session.prepare(given).tokens_before == 100
    assert session.prepare({**given, "model": "claude-opus-5-5"}).tokens_before == 100


@pytest.mark.parametrize(
    "reply",
    [
        {}, {"usage": None}, {"usage": []}, {"usage": {}}, {"usage": {"input_tokens": -5}},
        {"usage": {"input_tokens": True}}, {"usage": {"input_tokens": "9"}}, {"usage": {"input_tokens": 10**400}},
    ],
)  # fmt: skip
def test_a_reply_without_a_usable_usage_changes_nothing(tmp_path, reply):
    session = opened(tmp_path, token_counter="estimate")
    given, reply = body(user("hello")), {"content": [], **reply}
    session.record(reply)
    before = session.prepare(given)
    session.record(reply)
    assert session.prepare(given) == before


def test_the_budget_is_the_users_or_a_share_of_the_models_window(tmp_path):
    given = body(user("hello"))
    assert opened(tmp_path).prepare(given).budget_tokens == 150_000
    assert opened(tmp_path, prune_threshold_tokens=9_000).prepare(given).budget_tokens == 9_000
    assert opened(tmp_path, budget_tokens=77).prepare(given).budget_tokens == 77
    assert Settings().budget_for(1_000_000) == 750_000


def test_the_input_is_not_kept_alive_by_reference(tmp_path):
    """A client may change its own list after the call; the next turn is decided by what it then sends."""
    session = opened(tmp_path, budget_tokens=1_000)
    given = body(*copy.deepcopy(LONG))
    first = session.prepare(given)
    given["messages"][0] = user("another beginning")
    assert sent(session.prepare(given))[0]["content"] == "another beginning"
    assert sent(first)[0]["content"] == "hello"
