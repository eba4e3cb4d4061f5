"""What a client does when it goes back: sends a beginning again, regenerates an answer, or sends next to nothing."""

from tests.builders import assistant, body, call, opened, parts, problems, result, rounds, sent, text, user


def test_a_bare_beginning_of_the_history_has_its_own_figures_and_actions(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    whole = [user("hello"), *rounds(20)]
    session.prepare(body(*whole))
    again = session.prepare(body(whole[0]))
    fresh = opened(tmp_path / "other", budget_tokens=1_000).prepare(body(whole[0]))
    assert (again.tokens_before, again.tokens_after, again.actions) == (fresh.tokens_before, fresh.tokens_after, ())


def test_unseen_results_come_back_when_an_answer_is_made_anew(tmp_path):
    session = opened(tmp_path, budget_tokens=2_600, keep_tool_results=2)
    asked = [user("hello"), assistant(*(call(f"p{n}") for n in range(20)))]
    answered = [*asked, user(*(result(f"p{n}", "x" * 400) for n in range(20)))]
    session.prepare(body(*answered, assistant("seen"), user("go on"), *rounds(20)))
    back = sent(session.prepare(body(*answered)))
    assert [p["tool_use_id"] for p in parts(back[-1]) if p["type"] == "tool_result"] == [f"p{n}" for n in range(20)]
    assert problems(back) == ()


def test_what_was_decided_at_a_message_holds_again_when_the_client_comes_back_to_it(tmp_path):
    session = opened(tmp_path, budget_tokens=1_000)
    short = [user("hello"), *rounds(8)]
    whole = [*short, *rounds(12, first=8)]
    first = session.prepare(body(*whole))
    assert session.prepare(body(*short)).body["messages"] == short
    assert session.prepare(body(*whole)).body == first.body


def test_text_before_results_in_the_unseen_tail_never_stops_a_turn(tmp_path):
    session = opened(tmp_path, budget_tokens=1_500, keep_tool_results=2)
    start = [user("hello"), *rounds(6)]
    session.prepare(body(*start, *rounds(12, first=6)))
    tail = [
        assistant(*(call(f"q{n}") for n in range(4))),
        user("wait"),
        user(*(result(f"q{n}", "y" * 900) for n in range(4))),
    ]
    prepared = session.prepare(body(*start, *tail))
    assert any("over budget" in warning for warning in prepared.warnings) or prepared.tokens_after <= 1_500
    assert session.prepare(body(*start, *tail)).body == prepared.body


def test_a_window_without_any_block_is_no_failure(tmp_path):
    given = body({"role": "user", "content": []}, system=[text("s" * 9_000)])
    prepared = opened(tmp_path, budget_tokens=100).prepare(given)
    assert prepared.body is given
    assert any("over budget" in warning for warning in prepared.warnings)
