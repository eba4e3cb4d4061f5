"""A prune of a warm window that the session pays for: only out of its savings, and never so that it costs more."""

import random
from pathlib import Path

import pytest

from tests.builders import refusing
from tests.session.billing import LIFE_MS, PRICES, Client

MINUTE = 60_000
SLIP = 1.0
FLOOR = 20_000


def working(client: Client, turns: int, characters: int = 8_000) -> list[str]:
    """Let the client work; return for each prune whether it rewrote a warm window: paid, or free."""
    kinds = []
    for _ in range(turns):
        before, known = client.ledger, len(client.session.history())
        prepared = client.turn(characters=characters)
        if "prune" in [one.kind for one in client.session.history()[known:]]:
            assert prepared.tokens_after >= FLOOR or client.ledger.cold > before.cold
            kinds.append("paid" if client.ledger.rewrites > before.rewrites else "free")
        assert client.managed.total <= client.everything.total + SLIP
        assert prepared.tokens_after <= prepared.budget_tokens
    return kinds


def test_a_session_without_savings_prunes_nothing_below_the_limit(tmp_path: Path):
    client = Client(tmp_path, "auto")
    assert working(client, 30) == []
    assert client.managed.total == pytest.approx(client.everything.total)


def test_what_a_pause_has_saved_pays_for_a_prune_of_a_warm_window(tmp_path: Path):
    client = Client(tmp_path, "auto")
    working(client, 20)
    client.now_ms += LIFE_MS + 3 * MINUTE
    kinds = working(client, 60)
    assert kinds[0] == "free"
    assert "paid" in kinds
    assert client.ledger.rewrites == kinds.count("paid")
    assert 0 < client.ledger.balance_tokens <= client.everything.total - client.managed.total + SLIP


@pytest.mark.parametrize("seed", range(4))
def test_with_any_pauses_no_turn_ever_makes_the_session_dearer_than_everything(tmp_path: Path, seed: int):
    dice = random.Random(seed)
    client = Client(tmp_path, "auto")
    for _ in range(60):
        client.now_ms += dice.choice([0] * 12 + [LIFE_MS - 5_000, LIFE_MS + 2 * MINUTE, 3_600_000])
        if dice.random() < 0.05:
            client.restart()
        client.turn(characters=dice.randint(400, 16_000))
        assert client.managed.total <= client.everything.total + SLIP
        assert client.ledger.balance_tokens <= client.true_balance + SLIP


def test_a_prune_that_the_store_refuses_costs_and_saves_nothing(tmp_path: Path):
    client = Client(tmp_path, "auto")
    working(client, 20)
    client.now_ms += LIFE_MS + 3 * MINUTE
    before = client.ledger
    with refusing(tmp_path, "decisions"):
        client.reads("src/last.py", 8_000)
        prepared = client.asks()
        assert prepared.warnings
        assert client.ledger == before
        client.answers(client.bills(prepared))
    assert client.ledger.balance_tokens <= before.balance_tokens + SLIP
    assert client.ledger.promised_tokens == 0


def test_the_price_of_a_prune_is_deducted_with_it_and_settled_by_its_answer(tmp_path: Path):
    client = Client(tmp_path, "auto")
    working(client, 20)
    client.now_ms += LIFE_MS + 3 * MINUTE
    client.reads("src/last.py", 8_000)
    prepared = client.asks()
    assert prepared.actions
    assert client.stored.promised_tokens >= PRICES.write * prepared.tokens_after
    client.answers(client.bills(prepared))
    assert client.ledger.promised_tokens == 0
