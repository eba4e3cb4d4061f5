"""The provider's count corrects the conversation that it counts, and no other of the same session."""

from pathlib import Path
from typing import Any

from tests.builders import assistant, body, rounds, text, user
from undrift.session.session import Session
from undrift.settings import Settings


def reported(session: Session, given: dict[str, Any], factor: float) -> int:
    """Prepare a request and answer it with this usage; return our figure for the request."""
    prepared = session.prepare(given)
    with Session.open("counts", home=session.settings.home) as plain:
        counted = plain.prepare(given).tokens_before
    session.record({"usage": {"input_tokens": int(factor * counted)}})
    return prepared.tokens_before


def test_a_sub_agent_does_not_move_the_counts_of_the_conversation_that_started_it(tmp_path: Path):
    settings = Settings(token_counter="estimate", budget_tokens=10**6, home=str(tmp_path / "counts"))
    main, more = body(user("Fix the parser."), *rounds(10)), body(user("Fix the parser."), *rounds(12))
    agents = [body(user(f"Look into file {n}."), *rounds(4, characters=4_000)) for n in range(2)]
    with Session.open("s", home=tmp_path / "s", settings=settings) as session:
        reported(session, main, 1.5)
        before = session.prepare(main).tokens_before
        alone = session.prepare(more).tokens_before
        for agent in agents:
            reported(session, agent, 3.0)
        assert session.prepare(main).tokens_before == before
        assert session.prepare(more).tokens_before == alone
    with Session.open("s", home=tmp_path / "s", settings=settings) as session:
        assert session.prepare(more).tokens_before == alone


def test_a_client_that_goes_back_finds_the_counts_of_that_point(tmp_path: Path):
    settings = Settings(token_counter="estimate", budget_tokens=10**6, home=str(tmp_path / "counts"))
    early, late = body(user("Fix it."), *rounds(4)), body(user("Fix it."), *rounds(20))
    with Session.open("s", home=tmp_path / "s", settings=settings) as session:
        reported(session, early, 1.5)
        there = session.prepare(early).tokens_before
        reported(session, late, 2.5)
        assert session.prepare(early).tokens_before == there
        other = body(*early["messages"], assistant(text("done")), user("And now?"))
        assert session.prepare(other).tokens_before < 2 * there
