"""A request without a session's id finds its session by what it holds, and never another one by chance."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import assistant, body, call, result, text, thinking, user
from tests.session.talk import Talk, every_wire, marks, seen
from undrift.core.text.tokens import counter
from undrift.errors import WireError
from undrift.session.identity import TAIL, chain, given_id, recognise
from undrift.stores.sqlite import SqliteStore
from undrift.testing.simulators import (
    AnthropicSimulator,
    simulator_for,
)
from undrift.window.conversation import Conversation
from undrift.window.decisions import Decisions
from undrift.window.request import Request
from undrift.wire.forms import form_of

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path) as opened:
        yield opened


@every_wire
def test_a_conversation_is_one_session_from_its_first_request_on(store, wire):
    talk = Talk(simulator_for(wire))
    session, how = seen(store, talk)
    assert how == "new"
    assert seen(store, talk) == (session, "beginning")  # the request is tried again
    assert seen(store, talk.works("a.py")) == (session, "beginning")
    assert seen(store, talk) == (session, "known")
    for number in range(3):
        assert seen(store, talk.works(f"{number}.py")) == (session, "known")
    assert seen(store, json.dumps(talk.body()).encode(), wire) == (session, "known")


@every_wire
def test_a_restart_and_another_process_find_the_session(tmp_path, wire):
    talk = Talk(simulator_for(wire))
    with SqliteStore.open(tmp_path) as one, SqliteStore.open(tmp_path) as two:
        session, _ = seen(one, talk)
        assert seen(two, talk.works("a.py"))[0] == session
        assert seen(one, talk.works("b.py")) == (session, "known")
    with SqliteStore.open(tmp_path) as again:
        assert seen(again, talk.works("c.py")) == (session, "known")


@every_wire
def test_a_fork_and_a_step_back_stay_in_their_session(store, wire):
    talk = Talk(simulator_for(wire))
    session, _ = seen(store, talk)
    seen(store, talk.works("a.py"))
    fork = talk.fork().works("other.py")
    back = talk.fork()
    for number in range(3):
        seen(store, talk.works(f"{number}.py"))
    assert seen(store, fork) == (session, "known")
    assert seen(store, back) == (session, "known")
    assert seen(store, fork.works("more.py")) == (session, "known")
    assert seen(store, talk.works("last.py")) == (session, "known")


@every_wire
def test_two_conversations_with_the_same_first_message_are_two_sessions(store, wire):
    provider = simulator_for(wire)
    one, two = Talk(provider, "hello"), Talk(provider, "hello")
    first, _ = seen(store, one)
    assert seen(store, one.hears("Hello. What now?", says="fix a bug"))[0] == first
    second, how = seen(store, two)
    assert (how, second == first) == ("new", False)
    assert seen(store, two.hears("Hello. What now?", says="write a poem")) == (second, "beginning")
    third = Talk(provider, "hello")
    assert seen(store, third)[0] not in (first, second)
    assert seen(store, one.hears("Done.", says="thanks")) == (first, "known")
    assert seen(store, two.hears("Done.", says="thanks")) == (second, "known")


@every_wire
def test_of_two_that_begin_at_once_the_second_to_go_on_is_another_session(store, wire):
    provider = simulator_for(wire)
    one, two = Talk(provider, "hello"), Talk(provider, "hello")
    assert seen(store, one) != seen(store, two)  # the second is taken for a retry of the first
    first, _ = seen(store, one.hears("Hi!", says="fix a bug"))
    second, how = seen(store, two.hears("Hi!", says="write a poem"))
    assert (how, second == first) == ("new", False)
    assert seen(store, one.hears("Done.", says="thanks")) == (first, "known")
    assert seen(store, two.hears("Done.", says="thanks")) in {(second, "known"), (second, "beginning")}


def test_two_processes_that_go_on_at_once_cannot_both_take_the_session(tmp_path):
    """The second looks while the first has not written yet: its claim comes too late, and it looks again."""

    class Slow(SqliteStore):
        def find_marks(self, texts):
            found = super().find_marks(texts)
            if rivals:
                assert seen(other, rivals.pop())[1] == "beginning"
            return found

    provider = AnthropicSimulator()
    one, two = Talk(provider, "hello"), Talk(provider, "hello")
    rivals: list[Talk] = []
    with SqliteStore.open(tmp_path) as other, Slow.open(tmp_path) as slow:
        first, _ = seen(slow, one)
        rivals.append(one.hears("Hi!", says="fix a bug"))
        second, how = seen(slow, two.hears("Hi!", says="write a poem"))
        assert rivals == []
        assert (how, second == first) == ("new", False)
        assert seen(other, one) == (first, "known")


@every_wire
def test_a_client_that_compacts_and_keeps_its_last_round_stays_in_its_session(store, wire):
    talk = Talk(simulator_for(wire))
    session, _ = seen(store, talk)
    for number in range(TAIL):
        seen(store, talk.works(f"{number}.py"))
    after = talk.compacted(keep=2)
    assert seen(store, after) == (session, "continued")
    assert seen(store, after.works("more.py")) == (session, "known")
    assert seen(store, after.compacted(keep=2)) == (session, "continued")


@every_wire
def test_a_client_that_keeps_nothing_of_its_history_begins_anew(store, wire):
    talk = Talk(simulator_for(wire))
    session, _ = seen(store, talk)
    seen(store, talk.works("a.py"))
    other, how = seen(store, talk.compacted(keep=0))
    assert (how, other == session) == ("new", False)


def test_a_first_message_that_is_written_anew_does_not_lose_the_session(store):
    """A client that puts today's date into its first message continues a session of yesterday."""
    history = [
        user("Today is Monday. Fix it."),
        assistant(call("toolu_01abc", path="a.py")),
        user(result("toolu_01abc", "x")),
    ]
    session, _ = seen(store, body(history[0]))
    assert seen(store, body(*history))[0] == session
    history[0] = user("Today is Tuesday. Fix it.")
    assert seen(store, body(*history)) == (session, "continued")
    assert seen(store, body(*history, assistant("Done."), user("thanks"))) == (session, "known")


def test_calls_that_two_sessions_have_lead_to_neither(store):
    """Some servers count their ids from zero in each conversation."""
    same = [assistant(call("functions.bash:0", command="ls")), user(result("functions.bash:0", "a.py"))]
    one, _ = seen(store, body(user("one")))
    two, _ = seen(store, body(user("two")))
    assert seen(store, body(user("one"), *same)) == (one, "beginning")
    assert seen(store, body(user("two"), *same)) == (two, "beginning")
    summary, own = user("a summary"), assistant(call("functions.bash:1", command="cat a.py"))
    seen(store, body(user("one"), *same, own, user(result("functions.bash:1", "x"))))
    assert seen(store, body(summary, *same))[1] == "new"
    assert seen(store, body(user("another summary"), *same, own)) == (one, "continued")


def test_answers_of_two_sessions_in_one_history_lead_to_neither(store):
    rounds = [[assistant(call(f"toolu_01{name}", path="a.py")), user(result(f"toolu_01{name}", "x"))] for name in "ab"]
    for name, done in zip("ab", rounds, strict=True):
        seen(store, body(user(name)))
        seen(store, body(user(name), *done))
    assert seen(store, body(user("both"), *rounds[0], *rounds[1]))[1] == "new"


@pytest.mark.parametrize(
    "forged",
    [
        assistant(call("toolu_01abc", path="another.py")),
        assistant(text("toolu_01abc")),
        user(text(json.dumps(call("toolu_01abc", path="a.py")))),
        user(result("toolu_01abc", "x")),
    ],
    ids=["other arguments", "text of the model", "text of the user", "result without its call"],
)
def test_what_only_mentions_a_call_does_not_lead_to_its_session(store, forged):
    session, _ = seen(store, body(user("Fix it.")))
    done = [assistant(call("toolu_01abc", path="a.py")), user(result("toolu_01abc", "x"))]
    seen(store, body(user("Fix it."), *done))
    other, how = seen(store, body(user("Attack."), forged))
    assert (how, other == session) == ("new", False)


def test_a_short_call_id_is_no_evidence(store):
    done = [assistant(call("0", path="a.py")), user(result("0", "x"))]
    seen(store, body(user("Fix it.")))
    seen(store, body(user("Fix it."), *done))
    assert seen(store, body(user("A summary."), *done))[1] == "new"


def test_a_signed_answer_without_a_call_leads_to_its_session(store):
    said = assistant(thinking("so that is how it is"), text("It is fixed."))
    session, _ = seen(store, body(user("Fix it.")))
    seen(store, body(user("Fix it."), said, user("thanks")))
    assert seen(store, body(user("A summary."), said, user("thanks"))) == (session, "continued")
    assert seen(store, body(user("Another summary."), assistant(text("It is fixed.")), user("thanks")))[1] == "new"


def test_however_the_client_writes_a_message_it_is_the_same(store):
    marked = {"cache_control": {"type": "ephemeral"}}
    session, _ = seen(store, body(user(text("Fix it.", **marked))))
    answer = assistant({"input": {}, "name": "Read", "id": "toolu_01abc", "type": "tool_use"})
    seen(store, body(user("Fix it."), answer, user(result("toolu_01abc", "x", **marked))))
    reordered = assistant(call("toolu_01abc"))
    history = [
        user(text("Fix it.")),
        reordered,
        user(result("toolu_01abc", [text("x")])),
        assistant("Done."),
        user("ok"),
    ]
    assert seen(store, body(*history)) == (session, "known")


def test_side_requests_share_the_beginning_and_disturb_nothing(store):
    """A title is asked for with the first message alone, before and after the main conversation has gone on."""
    opening, history = user("Fix the parser."), [user("Fix the parser.")]
    session, _ = seen(store, body(*history, system="You are an agent."))
    assert seen(store, body(opening, system="Write a title."))[0] == session
    history += [assistant(call("toolu_01abc", path="a.py")), user(result("toolu_01abc", "x"))]
    assert seen(store, body(*history)) == (session, "beginning")
    title, how = seen(store, body(opening, system="Write a title."))
    assert (how, title == session) == ("new", False)
    history += [assistant("Done."), user("thanks")]
    assert seen(store, body(*history)) == (session, "known")
    assert seen(store, body(*history, user("CRITICAL: Respond with TEXT ONLY."))) == (session, "known")
    assert seen(store, body(user("You are a sub-agent. Find the tests.")))[1] == "new"


def test_few_shot_examples_that_all_conversations_share_do_not_join_them(store):
    """A client that shows example answers before the user's first words."""
    shown = [user("Change the file."), assistant("Ok."), user("Use this format."), assistant("Ok.")]
    one, _ = seen(store, body(*shown, user("add a test")))
    assert seen(store, body(*shown, user("add a test"), assistant("Here."), user("thanks")))[0] == one
    two, how = seen(store, body(*shown, user("fix the parser")))
    assert (how, two == one) == ("new", False)


def test_a_client_that_names_its_session_is_believed_and_nothing_is_written(store):
    given: Any = {"metadata": {"user_id": json.dumps({"session_id": "6020c6a6-9980-409c-8fe2-36003b1896bc"})}}
    expected = ("anthropic:6020c6a6-9980-409c-8fe2-36003b1896bc", "given")
    assert seen(store, body(user("hello"), **given)) == expected
    assert seen(store, body(user("something else"), **given)) == expected
    assert marks(store) == 0


@pytest.mark.parametrize("hostile", ["../../x", "a b", "$(id)", "x" * 3_000, "\ud800", "\n", "é", "#", ":", "auto-0"])
def test_no_given_id_is_that_of_another_session(store, hostile):
    form = form_of("openai-chat")
    found = given_id(form, {"session_id": hostile})
    assert found is not None
    assert len(found) < 200
    assert found.isascii()
    assert found.isprintable()
    assert not found.startswith("auto-")
    others = [given_id(form, {"session_id": one}) for one in (found, f"{hostile}x")]
    assert found not in others
    assert not set(found) & set(" /$()\\'\"")


def test_a_history_that_the_provider_holds_is_known_by_its_name_alone(store):
    held = [{"model": "gpt-5.5", "input": "go on", "conversation": f"conv_{number}"} for number in (1, 2, 1)]
    found = [seen(store, one, "openai-responses") for one in held]
    assert [how for _, how in found] == ["new"] * 3
    assert found[0] == found[2] != found[1]
    assert marks(store) == 0


@every_wire
def test_the_chain_is_the_one_by_which_decisions_are_stored(wire):
    form, talk = form_of(wire), Talk(simulator_for(wire)).works("a.py").hears("Done.", says="thanks")
    request = Request(talk.body(), form)
    request.open()
    conversation = Conversation(form, Decisions("s", (), ()), counter("estimate"))
    conversation.follow(request, 1)
    ids = chain(form, request)
    assert ids[-1] == conversation.newest_id
    assert list(dict.fromkeys(e.id.rpartition(".")[0] for e in conversation.entries)) == ids


def test_a_long_history_that_is_seen_for_the_first_time_is_one_session(store):
    history = [user("start")]
    for number in range(1_000):
        history += [assistant(call(f"toolu_{number:08}", path="a.py")), user(result(f"toolu_{number:08}", "x"))]
    session, how = seen(store, body(*history))
    assert how == "new"
    assert seen(store, body(*history, assistant("Done."), user("thanks")))[0] == session
    assert seen(store, body(*history, assistant("Other."), user("what?"))) == (session, "continued")


@pytest.mark.parametrize("wrong", [[], [5], ["x"], [None], [[]]])
def test_a_malformed_history_is_a_wire_error_with_its_path(store, wrong):
    for given in (body(*wrong), json.dumps(body(*wrong)).encode()):
        with pytest.raises(WireError) as raised:
            recognise(store, form_of("anthropic"), Request(given, form_of("anthropic")))
        assert raised.value.path.startswith("messages")
    assert marks(store) == 0


def captured(name: str) -> dict[str, Any]:
    """One true request of Claude Code, without what names its session."""
    path = CAPTURES / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["body"]
    del found["metadata"]
    return found


def test_a_true_session_is_found_over_continue_and_its_own_compaction(store):
    """The requests were captured in several runs, so the session's are taken from one: the continued one and its prefixes.

    What the compaction kept is found by the id of its call alone, which that provider gave alike in every run.
    """
    whole = captured("claude-code-continue")
    messages = whole["messages"]
    requests = [{**whole, "messages": messages[:length]} for length in (2, 4, 6, len(messages))]
    session, _ = seen(store, requests[0])
    assert [seen(store, one)[0] for one in requests[1:]] == [session] * 3
    ask = captured("claude-code-compaction-request")
    assert seen(store, {**ask, "messages": [*messages[:4], ask["messages"][-1]]}) == (session, "known")
    after = captured("claude-code-after-compaction")
    assert seen(store, after) == (session, "continued")
    assert seen(store, {**after, "messages": [*after["messages"], assistant("Done."), user("ok")]}) == (
        session,
        "known",
    )
    assert seen(store, {**whole, "messages": after["messages"][:1]})[1] == "new"  # a summary alone could be anyone's


def test_true_sessions_of_one_opening_are_told_apart(store):
    """Two runs with the same first message; the second item, the environment, differs already."""
    one, two = captured("claude-code-2.1.330"), captured("claude-code-continue")
    form = form_of("anthropic")
    assert form.digest(one["messages"][0]) == form.digest(two["messages"][0])
    first, _ = seen(store, {**one, "messages": one["messages"][:2]})
    second, how = seen(store, {**two, "messages": two["messages"][:2]})
    assert (how, second == first) == ("new", False)
    assert seen(store, {**two, "messages": two["messages"][:4]}) == (second, "beginning")
    assert seen(store, {**one, "messages": one["messages"][:4]}) == (first, "beginning")
