"""The sentences about the prompt cache: when each is said, with which figures, and when it is not."""

from typing import Any

import pytest

from undrift.core.guard import Balance, CacheWatch, Notice, guard, watched
from undrift.core.ledger import Ledger
from undrift.values.usage import OURS, CacheEvent, PromptUsage

START_MS = 1_760_000_000_000
MINUTE_MS = 60_000
HOUR_S, SHORT_S = 3_600, 300
MODEL = "model-a"


def price(model: str, life_seconds: int) -> float | None:
    """Five dollars a million, times what a write costs."""
    return 5.0 * (2.0 if life_seconds >= HOUR_S else 1.25) if model == MODEL else None


def answer(tokens: int, cached: int = 0, *, minutes: float = 0, life: int | None = HOUR_S, **more: Any) -> PromptUsage:
    """An answer so many minutes after the start; the rest of the prompt was written for `life` seconds."""
    written = tokens - cached if life else 0
    is_long = life == HOUR_S
    at_ms = START_MS + int(minutes * MINUTE_MS)
    return PromptUsage(
        1, at_ms, tokens, cached, 0 if is_long else written, written if is_long else 0,
        **{"model": MODEL, "ended_ms": at_ms, "life_seconds": life, **more},
    )  # fmt: skip


def said(*events: PromptUsage | CacheEvent, minutes: float, frees_tokens: int = 0) -> dict[str, Notice]:
    """What is said so many minutes after the start, by kind."""
    now_ms = START_MS + int(minutes * MINUTE_MS)
    return {one.kind: one for one in guard(watched(events, price), now_ms, price, frees_tokens=frees_tokens)}


def test_after_an_hour_away_it_says_what_the_next_message_writes():
    (notice,) = said(answer(152_000), minutes=61.5).values()
    assert notice.text == "You were away 61 minutes: the next message writes 152k tokens again, $1.52."
    assert (notice.kind, notice.tokens, notice.usd, notice.seconds) == ("away", 152_000, 1.52, 61 * 60 + 30)
    assert notice.short == "cache cold: next message writes 152k again, $1.52"


def test_a_cache_of_five_minutes_costs_less_and_ends_sooner():
    notice = said(answer(152_000, life=SHORT_S), minutes=6.1)["away"]
    assert notice.usd == pytest.approx(0.95)


@pytest.mark.parametrize("life", [SHORT_S, HOUR_S])
def test_cold_is_said_a_minute_after_the_life_and_not_before(life: int):
    prompt = answer(100_000, life=life)
    assert said(prompt, minutes=life / 60 + 1) == {}, "in that minute nobody knows"
    assert set(said(prompt, minutes=life / 60 + 1.02)) == {"away"}


def test_before_it_counts_down():
    notice = said(answer(100_000, life=SHORT_S), minutes=1 + 50 / 60)["cold_in"]
    assert (notice.text.partition(";")[0], notice.seconds) == ("The cache is cold in 3:10", 190)
    assert notice.short == "cache cold in 3:10"


def test_without_a_known_life_nothing_is_said_about_the_cache():
    assert said(answer(100_000, life=None), minutes=600) == {}


def test_without_a_price_the_sentence_has_none():
    notice = said(answer(100_000, model="model-b"), minutes=90)["away"]
    assert notice.usd is None
    assert notice.text == "You were away 90 minutes: the next message writes 100k tokens again."


def test_a_short_prompt_is_not_worth_a_sentence():
    assert said(answer(3_000), minutes=90) == {}


def test_a_compaction_makes_the_next_prompt_unknown():
    assert said(answer(100_000), CacheEvent(2, START_MS, "compacted"), minutes=90) == {}


def test_a_request_without_an_answer_read_the_cache_too():
    asked = CacheEvent(2, START_MS + 50 * MINUTE_MS, "request")
    assert set(said(answer(100_000), asked, minutes=90)) == {"cold_in"}
    assert set(said(answer(100_000), asked, minutes=112)) == {"away"}


def test_the_end_of_an_answer_counts_not_its_beginning():
    slow = answer(100_000, life=SHORT_S, ended_ms=START_MS + 4 * MINUTE_MS)
    assert set(said(slow, minutes=6.5)) == {"cold_in"}


def test_a_few_tokens_for_five_minutes_do_not_shorten_a_prompt_kept_for_an_hour():
    events = answer(100_000), answer(100_500, 100_000, minutes=1, life=SHORT_S)
    assert set(said(*events, minutes=20)) == {"cold_in"}


def test_the_traffic_shortens_the_life_when_the_prompt_is_written_for_less():
    events = answer(100_000), answer(100_500, 10_000, minutes=62, life=SHORT_S)
    assert set(said(*events, minutes=69)) == {"away"}


def test_an_answer_that_wrote_nothing_leaves_the_life_as_it_was():
    events = answer(100_000), answer(100_000, 100_000, minutes=1, life=None)
    assert set(said(*events, minutes=20)) == {"cold_in"}


def test_the_life_of_one_model_is_not_that_of_another():
    events = answer(100_000), answer(90_000, 90_000, minutes=1, life=None, model="model-b")
    assert said(*events, minutes=90) == {}


def test_what_other_sessions_keep_warm_is_not_written_again():
    first = answer(30_000, 24_000)
    watch = watched([first, answer(152_000, 30_000, minutes=1)], price, CacheWatch.before(first))
    (notice,) = guard(watch, START_MS + 63 * MINUTE_MS, price)
    assert (notice.tokens, notice.usd) == (128_000, 1.28)


@pytest.mark.parametrize("first", [None, answer(90_000, 80_000)], ids=["unknown", "continued"])
def test_a_first_prompt_that_holds_a_history_is_not_shared(first: PromptUsage | None):
    assert CacheWatch.before(first).shared_tokens == 0


def test_another_model_shares_nothing_that_was_seen():
    first = answer(30_000, 24_000)
    watch = watched([first, answer(152_000, minutes=1, model="model-b")], price, CacheWatch.before(first))
    assert watch.written_tokens == 152_000


def test_a_prune_is_called_free_only_when_the_cache_is_cold_and_a_plan_was_made():
    prompt = answer(152_000)
    assert set(said(prompt, minutes=30, frees_tokens=70_000)) == {"cold_in"}
    assert set(said(prompt, minutes=62, frees_tokens=0)) == {"away"}
    notice = said(prompt, minutes=62, frees_tokens=70_000)["free_prune"]
    assert notice.text == "Pruning now is free and frees 70k tokens ($0.70 less to write)."
    away = said(prompt, minutes=62, frees_tokens=70_000)["away"]
    assert away.text == "You were away 62 minutes: the next message writes 82k tokens again, $0.82."


def test_prompts_written_whole_without_a_pause_are_counted_with_their_price():
    events = [answer(100_000), answer(101_000, 20_000, minutes=1), answer(102_000, 101_000, minutes=2)]
    notice = said(*events, minutes=3)["rewrites"]
    assert notice.tokens == 80_000
    assert notice.usd == pytest.approx(0.80)
    assert notice.text == "1 prompt was written whole without a pause: 80k tokens, $0.80."


def test_a_change_of_the_clients_that_was_seen_is_named():
    events = [
        answer(100_000),
        answer(101_000, minutes=1, changed="system", changed_byte=14_203),
        answer(102_000, minutes=2),
    ]
    notice = said(*events, minutes=3)["rewrites"]
    assert notice.text == (
        "Your client changed its system prompt from byte 14,203 of the request on: the provider wrote 1 prompt whole, "
        "100k tokens, $1.00."
    )
    assert (notice.tokens, notice.usd) == (100_000, 1.0)


def test_a_prompt_that_undrift_rewrote_is_not_the_clients():
    assert "rewrites" not in said(answer(100_000), answer(60_000, minutes=1, changed=OURS), minutes=3)


def test_a_rewrite_after_a_pause_is_the_pauses():
    watch = watched([answer(100_000), answer(101_000, minutes=62)], price)
    assert (watch.after_pauses.prompts, watch.after_pauses.tokens, watch.without_pause.prompts) == (1, 100_000, 0)


def test_a_change_of_the_model_is_no_rewrite_by_the_client():
    watch = watched([answer(100_000), answer(101_000, minutes=1, model="model-b")], price)
    assert (watch.after_pauses.prompts, watch.without_pause.prompts) == (0, 0)


def test_a_sum_that_lacks_a_price_is_not_said():
    events = [answer(100_000, model="model-b"), answer(101_000, minutes=1, model="model-b")]
    assert said(*events, minutes=2)["rewrites"].usd is None


@pytest.mark.parametrize(
    ("minutes", "shown"), [(61, "61 minutes"), (119.9, "119 minutes"), (120, "2 hours"), (49 * 60, "2 days")]
)
def test_times_are_rounded_down(minutes: float, shown: str):
    assert said(answer(100_000), minutes=minutes + 0.05)["away"].text.startswith(f"You were away {shown}:")


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (4_096, "4k tokens again, $0.04"),
        (1_249_000, "1.2M tokens again, $12.49"),
        (1 << 40, "tokens again, $10,995,116"),
    ],
)
def test_sizes_and_sums_are_short(tokens: int, shown: str):
    assert shown in said(answer(tokens), minutes=62)["away"].text


def test_less_than_a_cent_is_said_as_that():
    cheap = guard(watched([answer(5_000)], price), START_MS + 62 * MINUTE_MS, lambda *_: 0.1)
    assert cheap[0].text.endswith("tokens again, under $0.01.")


@pytest.mark.parametrize("at_ms", [None, 0, 1 << 80])
def test_any_time_in_a_recording_is_borne(at_ms: int | None):
    prompt = answer(100_000)
    odd = PromptUsage(2, at_ms, 100_000, 0, model=MODEL, life_seconds=HOUR_S)
    watch = watched([prompt, odd, CacheEvent(3, at_ms, "request"), prompt], price)
    assert guard(watch, START_MS, price) is not None
    assert guard(CacheWatch(at_ms, 100_000, life_seconds=HOUR_S), 1 << 80, price) is not None


def test_a_clock_that_went_back_means_no_pause():
    assert set(said(answer(100_000, minutes=600), minutes=0)) == {"cold_in"}


LEDGER = Ledger(
    everything_tokens=1_000_000, paid_tokens=464_000, rewritten_tokens=80_000, fetched_tokens=22_000, answers=9
)


def test_the_balance_is_what_was_saved_less_what_that_cost():
    balance = Balance.of([{"a": LEDGER}, {"b": LEDGER}], lambda _: 5.0)
    notice = balance.notice()
    assert notice.text == "Saved $6.16, spent $0.80 on rewrites and $0.22 on fetching again: balance +$5.14."
    assert (notice.kind, notice.tokens, notice.short) == ("balance", None, "balance +$5.14")
    assert notice.usd == pytest.approx(5.14)


def test_a_dearer_session_says_so():
    ledger = Ledger(
        everything_tokens=900_000, paid_tokens=1_000_000, fetched_tokens=5_000, promised_tokens=2_000, answers=9
    )
    assert Balance.of([{"a": ledger}], lambda _: 1.0).notice().text == (
        "Paid $0.10 more than without undrift, spent $0.00 on rewrites, under $0.01 on fetching again and under $0.01 on "
        "prunes without an answer: balance -$0.11."
    )


def test_a_balance_with_a_model_without_a_price_is_in_plain_input_tokens():
    notice = Balance.of([{"a": LEDGER, "b": LEDGER}], lambda model: 5.0 if model == "a" else None).notice()
    assert notice.text == (
        "Saved 1.2M, spent 160k on rewrites and 44k on fetching again: balance +1.0M plain input tokens."
    )
    assert (notice.usd, notice.tokens) == (None, 1_028_000)
