"""The bills of a session: right beside a provider that bills like the cache, never too high, and kept over a kill."""

import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.session.billing import LIFE_MS, MODEL, PRICES, Client
from tests.stores.forks import Child, Forks
from undrift.core.ledger import Ledger
from undrift.stores.sqlite import SqliteStore
from undrift.window.ledgers import stored_ledgers

MINUTE = 60_000
SLIP = 1.0  # what rounding to whole tokens may do


def test_a_session_from_which_nothing_left_has_saved_nothing(tmp_path: Path):
    client = Client(tmp_path, 100_000)
    for _ in range(12):
        client.turn()
    assert client.ledger.paid_tokens == pytest.approx(client.managed.total)
    assert client.ledger.everything_tokens == pytest.approx(client.everything.total)
    assert client.ledger.balance_tokens == pytest.approx(0)


def test_the_bill_of_a_prune_is_that_of_the_provider(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(40):
        client.turn()
    ledger = client.ledger
    assert ledger.rewrites > 1
    assert ledger.paid_tokens == pytest.approx(client.managed.total)
    assert ledger.everything_tokens == pytest.approx(client.everything.total, rel=0.01)
    assert ledger.balance_tokens <= client.true_balance + SLIP
    assert ledger.saved_tokens - ledger.rewritten_tokens == pytest.approx(ledger.balance_tokens + ledger.fetched_tokens)


def test_a_pause_is_cold_for_both_and_its_prune_is_no_rewrite_of_ours(tmp_path: Path):
    client = Client(tmp_path, 6_000)
    while client.asks().tokens_after < 5_500:
        client.turn()
    before = client.ledger
    assert client.turn(after_ms=LIFE_MS + 3 * MINUTE).actions
    assert (client.ledger.cold, client.ledger.rewrites) == (before.cold + 1, before.rewrites)
    assert client.ledger.everything_tokens == pytest.approx(client.everything.total, rel=0.01)
    assert 0 < client.ledger.balance_tokens <= client.true_balance + SLIP


PAUSES = (1_000, 30_000, LIFE_MS - 1, LIFE_MS + 1, LIFE_MS + 90_000, 3_600_000)


@pytest.mark.parametrize("seed", range(12))
def test_the_balance_is_never_higher_than_the_provider_s(tmp_path: Path, seed: int):
    """Random pauses, restarts, rewinds, readings again, and requests that are billed but whose answers never come."""
    dice = random.Random(seed)
    client = Client(tmp_path, dice.choice([2_500, 6_000, 20_000]))
    for _ in range(30):
        after_ms, characters = dice.choice(PAUSES), dice.randint(200, 4_000)
        what = dice.choice(["new", "new", "new", "again", "restart", "rewind", "unanswered"])
        if what == "restart":
            client.restart()
        if what == "rewind" and (decided := [one for one in client.session.history() if one.kind == "prune"]):
            client.session.rewind(decided[-1].seq - 1)
        if what == "unanswered":
            client.reads("src/unanswered.py", characters)
            client.bills(client.asks(after_ms=after_ms))
        else:
            client.turn("src/a.py" if what == "again" else "", after_ms=after_ms, characters=characters)
        assert client.ledger.balance_tokens <= client.true_balance + SLIP, (what, after_ms)
        assert client.stored.spendable_tokens <= max(0.0, client.true_balance) + SLIP, (what, after_ms)
    assert client.ledger.answers > 10


def test_what_an_agent_reads_again_after_it_left_is_charged_once(tmp_path: Path):
    client = Client(tmp_path)
    client.turn("src/wanted.py")
    for _ in range(20):
        client.turn()
    assert client.ledger.fetches == 0
    before = client.ledger.fetched_tokens
    prepared = client.turn("src/wanted.py")
    charge = client.ledger.fetched_tokens - before
    assert client.ledger.fetches == 1
    assert charge >= PRICES.read * prepared.tokens_after + PRICES.write * 300
    client.turn("src/wanted.py")
    assert client.ledger.fetches == 1


def test_a_fetch_is_seen_by_a_session_that_was_opened_again(tmp_path: Path):
    client = Client(tmp_path)
    client.turn("src/wanted.py")
    for _ in range(20):
        client.turn()
    client.restart()
    client.turn("src/wanted.py")
    assert client.ledger.fetches == 1


def test_a_quiet_turn_writes_nothing_and_a_minute_at_most_one_operation(tmp_path: Path):
    client = Client(tmp_path, 6_000)
    while client.asks().tokens_after < 4_000:
        client.turn()
    client.turn(after_ms=2 * MINUTE)
    before = client.session.history()
    for _ in range(5):
        client.turn(after_ms=5_000, characters=80)
    assert client.session.history() == before
    client.turn(after_ms=MINUTE, characters=80)
    assert [one.kind for one in client.session.history()[len(before) :]] == ["asked"]
    assert client.stored.answers, "the totals came along"


def test_the_end_of_a_session_loses_nothing(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(30):
        client.turn()
    ledger = client.ledger
    client.restart()
    assert client.ledger.balance_tokens == pytest.approx(ledger.balance_tokens, abs=12)
    assert client.ledger.answers == ledger.answers


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "no object",
        {"input_tokens": -1},
        {"input_tokens": float("nan")},
        {"input_tokens": 10**30, "cache_read_input_tokens": 10**30},
        {"input_tokens": 2**52, "cache_read_input_tokens": 2**52},
        {"input_tokens": True, "cache_read_input_tokens": "12"},
        {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
    ],
)
def test_usage_that_cannot_be_true_changes_nothing(tmp_path: Path, usage: Any):
    client = Client(tmp_path)
    for _ in range(10):
        client.turn()
    before = client.ledger
    client.reads("src/other.py")
    client.asks()
    client.answers(usage)
    now = client.ledger
    assert (now.everything_tokens, now.paid_tokens, now.answers) == (
        before.everything_tokens,
        before.paid_tokens,
        before.answers,
    )
    assert now.balance_tokens <= before.balance_tokens


def test_a_provider_without_figures_of_its_cache_is_said_so_and_pays_for_nothing(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(20):
        client.reads(f"src/{client.count}.py")
        client.answers({"input_tokens": client.asks().tokens_after, "output_tokens": 1})
    assert client.ledger.silent == 20
    assert not client.ledger.reports_cache
    assert client.ledger.spendable_tokens == 0


def test_a_rewind_leaves_the_bill_as_it_is(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(30):
        client.turn()
    before = client.ledger
    client.session.rewind(1)
    assert client.ledger == before
    client.session.undo_rewind()
    assert client.ledger == before
    client.turn()
    assert client.ledger.balance_tokens <= client.true_balance + SLIP


def test_each_model_has_its_own_bill(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(10):
        client.turn()
    before = client.ledger
    client.session.prepare({"model": "claude-haiku-4-5", "max_tokens": 9, "messages": client.messages})
    client.answers({"input_tokens": 3_000, "cache_read_input_tokens": 100})
    assert client.ledger == before
    assert client.session._log.ledgers.of("claude-haiku-4-5").answers == 1


KILLED = """
import sys
from pathlib import Path
from random import Random
from tests.session.billing import Client
client, random = Client(Path(sys.argv[1])), Random(3)
for number in range(int(sys.argv[2])):
    client.reads("src/again.py" if random.random() < 0.2 else f"src/{number}.py")
    prepared = client.asks(after_ms=random.choice([1_000, 20_000, 70_000, 400_000]))
    usage = client.bills(prepared)
    print(client.true_balance, flush=True)
    client.answers(usage)
    print(client.true_balance, flush=True)
"""


def test_a_kill_at_any_moment_leaves_no_balance_that_is_too_high(tmp_path: Path):
    """The list of all balances comes from a run that is not killed; a killed one stands at its last line or the next."""
    with Forks(KILLED, "import tests.session.billing") as clients:
        killed_at_many_moments(tmp_path, clients)


def killed_at_many_moments(tmp_path: Path, clients: Forks) -> None:
    with clients.start(tmp_path / "whole", 60) as whole:
        said, errors = whole.communicate()
    assert not whole.returncode, errors
    balances = [float(line) for line in said.splitlines()]
    dice, seen = random.Random(11), 0
    for number in range(8):
        home = tmp_path / str(number)
        client = clients.start(home, 60)
        lines = _killed_at(client, dice.randrange(5, len(balances)))
        assert [float(line) for line in lines] == balances[: len(lines)]
        lowest = max(balances[len(lines) - 1 : len(lines) + 1])
        with SqliteStore.open(home) as store:
            ledger = stored_ledgers(store, "s").get(MODEL, Ledger())
        assert ledger.spendable_tokens <= max(0.0, lowest) + SLIP
        seen += ledger.answers > 0
    assert seen > 4


def _killed_at(client: Child, line: int) -> list[str]:
    with client:
        lines = [client.stdout.readline() for _ in range(line)]
        client.kill()
        lines += client.stdout.read().splitlines(keepends=True)
    assert client.returncode in (-signal.SIGKILL, 0)
    return [one for one in lines if one.endswith("\n")]


def test_a_fixed_budget_has_the_price_of_the_bills(tmp_path: Path):
    client = Client(tmp_path)
    assert client.session.budget_price() is None  # no answer yet
    for _ in range(40):
        client.turn()
    price = client.session.budget_price()
    assert price is not None
    paid = client.ledger.paid_tokens + client.ledger.fetched_tokens
    assert price.share == pytest.approx(paid / client.ledger.everything_tokens)
    assert price.is_dearer is (price.share > 1.005)
    assert price.sentence.startswith("3,000 costs ")
    assert Client(tmp_path / "other", "auto").session.budget_price() is None


def test_a_price_is_not_said_where_the_provider_reports_no_cache(tmp_path: Path):
    client = Client(tmp_path)
    for _ in range(5):
        client.reads("a.py")
        client.asks()
        client.answers({"input_tokens": 500, "output_tokens": 1})
    assert client.session.budget_price() is None


def test_sums_of_fractions_are_no_reason_to_write(tmp_path: Path):
    client = Client(tmp_path, 150_000)
    for _ in range(40):
        client.turn(characters=8_000)
    assert "ledger" not in {one.kind for one in client.session.history()}
