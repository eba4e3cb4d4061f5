"""The shortcut by which an open session is known again: sure, or silent."""

import json
import sys
import time
from typing import Any

from undrift import Settings
from undrift.proxy import GatewayConfig
from undrift.proxy.ask import Ask
from undrift.proxy.sessions import OpenSessions
from undrift.session.recent import Recent, history_of, longest
from undrift.testing import history_for
from undrift.window.conversation import Conversation
from undrift.window.request import Request
from undrift.wire.beginning import Beginning
from undrift.wire.forms import form_of

FORM = form_of("anthropic")


def request(history: Any) -> Request:
    found = Request(json.dumps(history.body()).encode(), FORM)
    found.open()
    return found


def conversation(words: str = "Go.", *said: str) -> Any:
    history = history_for("anthropic", model="m")
    history.say(words)
    for one in said:
        history.take({"content": [{"type": "text", "text": one}]})
        history.say("And now?")
    return history


def test_a_history_is_known_again_when_it_goes_on_although_its_cache_marker_has_moved():
    recent, before = Recent(), request(conversation("Go.", "One."))
    kept = history_of(FORM, before)
    assert kept is not None
    recent.add(kept)
    after = request(conversation("Go.", "One.", "Two."))
    assert before.raws[-1] != after.raws[2]  # the marker stood on it
    assert recent.length(FORM, after) == 3
    assert recent.length(FORM, before) == 3  # the same request again


def test_a_request_that_is_read_from_its_known_beginning_is_known_as_one_that_is_read_whole():
    """Each step of two long conversations, one of which leaves the other after a while."""
    recent, beginnings, most_known = Recent(), list[Beginning](), 0
    said = [f"answer {number}" for number in range(60)]
    other = [*said[:56], "another answer", *said[57:]]
    steps = [*(said[: number + 1] for number in range(60)), *(other[: number + 1] for number in range(56, 60))]
    for words in steps:
        body = json.dumps(conversation("Go.", *words).body()).encode()
        whole, quick = Request(body, FORM), Request(body, FORM, reversed(beginnings))
        whole.open()
        quick.open()
        assert quick.has("messages")
        assert recent.length(FORM, quick) == recent.length(FORM, whole)
        kept, same = history_of(FORM, quick, recent.histories), history_of(FORM, whole)
        assert kept is not None
        assert same is not None
        assert (kept.beginning, list(kept.raws), kept.raws[1:3]) == (same.beginning, list(same.raws), same.raws[1:3])
        recent.add(kept)
        grown = quick.grown()
        assert grown is quick.grown()
        beginnings += [grown] if grown is not None else []
        most_known = max(most_known, quick.known)
    assert most_known > 40


def test_another_history_with_the_same_beginning_is_not_known():
    recent = Recent()
    kept = history_of(FORM, request(conversation("Go.", "One.", "Two.")))
    assert kept is not None
    recent.add(kept)
    for other in (
        conversation("Go.", "One.", "Three.", "x"),
        conversation("Go.", "One."),
        conversation("Stop.", "One.", "Two."),
    ):
        assert recent.length(FORM, request(other)) == 0
    assert recent.length(form_of("openai-chat"), request(conversation("Go.", "One.", "Two."))) == 0


def test_a_history_in_which_the_model_has_said_nothing_may_be_any_sessions():
    assert history_of(FORM, request(conversation())) is None


def test_the_longest_wins_and_two_alike_are_no_answer():
    assert longest([("a", 3), ("b", 5), ("c", 0)]) == "b"
    assert longest([("a", 5), ("b", 5)]) is None
    assert longest([("a", 0)]) is None
    assert longest([]) is None


def test_a_request_without_an_id_is_compared_with_few_of_the_open_sessions(tmp_path):
    """All begin with the same words, as the requests of one client do."""
    sessions = OpenSessions(GatewayConfig(settings=Settings(home=str(tmp_path), token_counter="characters/4")))
    ids = [sessions.prepare(asked(f"Answer {number}.")).session_id for number in range(30)]
    assert len(set(ids)) == 30
    compared = []

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is Recent.length.__code__:
            compared.append(frame)

    sys.setprofile(seen)
    try:
        again = [sessions.prepare(asked(f"Answer {number}.", "More.")).session_id for number in range(30)]
    finally:
        sys.setprofile(None)
    assert again == ids
    assert len(compared) == 30
    sessions.close()


def asked(*said: str) -> Ask:
    return Ask("anthropic", json.dumps(conversation("Go.", *said).body()).encode(), None, "", "", time.monotonic() + 60)


def test_after_a_restart_a_session_without_an_id_is_not_read_again(tmp_path):
    """What was counted before is on disk; only what is new, and the end that a client may rewrite, is read."""
    said: list[object] = [{"role": "user", "content": "Fix it."}]
    for step in range(100):
        call = {"type": "tool_use", "id": f"toolu_{step:08}", "name": "Bash", "input": {"command": f"run {step}"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"line {step} of output\n" * 40}
        said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": said}).encode()
    settings = Settings(home=str(tmp_path), token_counter="characters/4", budget_tokens=8_000)
    read: list[int] = []

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is Conversation._read.__code__:
            read[-1] += 1

    for _ in range(2):
        sessions = OpenSessions(GatewayConfig(settings=settings))
        read.append(0)
        sys.setprofile(seen)
        try:
            managed = sessions.prepare(Ask("anthropic", body, None, "", "", time.monotonic() + 60))
        finally:
            sys.setprofile(None)
            sessions.close()
        assert managed.actions
    assert read[0] == 201
    assert read[1] <= 32
