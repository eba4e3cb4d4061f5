"""Count what the prompts of a session cost, and how full its window was. Pure.

Recorded figures count if there are any; else prompts are estimated from the texts of the recording, without the
system prompt and the tool definitions, which no client records.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from undrift.core.autopsy.findings import AutopsyBill, CompactionCost, Point
from undrift.core.autopsy.steps import Step
from undrift.core.cost import COLD_MS, OUTPUT_PRICE, Prices

__all__ = [
    "LONG_WRITE_PRICE",
    "SentPrompt",
    "bill_of",
    "compaction_cost",
    "estimated_prompts",
    "everything_cost",
    "line_of",
    "placed",
    "timeline_of",
]

LONG_WRITE_PRICE = 2.0
"""A token written to a cache of one hour, as a multiple of the plain input price; only Claude Code records such."""

_COLD_SHARE = 0.5
_FIXED_MOST_SHARE = 0.25
"""Texts of more than this share of the first prompt: their estimate's error would drown the rest."""


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """One prompt of a session, with its token counts.

    `written_tokens`: of these, written to the cache of five minutes. `written_long_tokens`: of these, written to the
    cache of an hour. `line`: where its answer stands in the recording, from 1.
    """

    at_ms: int | None
    tokens: int
    cached_tokens: int
    written_tokens: int
    written_long_tokens: int = 0
    call: int = 0
    line: int = 0


def placed(prompts: Sequence[SentPrompt], steps: Sequence[Step]) -> tuple[SentPrompt, ...]:
    """Give the recorded prompts with the calls before each, by their lines."""
    by_line = sorted((line_of(step), step.call - (step.kind == "call")) for step in steps)
    found: list[SentPrompt] = []
    place = calls = 0
    for prompt in sorted(prompts, key=lambda prompt: prompt.line):
        while place < len(by_line) and by_line[place][0] <= prompt.line:
            calls = max(calls, by_line[place][1])
            place += 1
        found.append(
            SentPrompt(
                prompt.at_ms,
                prompt.tokens,
                prompt.cached_tokens,
                prompt.written_tokens,
                prompt.written_long_tokens,
                calls,
                prompt.line,
            )
        )
    return tuple(found)


def estimated_prompts(steps: Sequence[Step], natives: dict[int, tuple[int, int]]) -> tuple[SentPrompt, ...]:
    """Give a prompt for each message of the agent, its tokens from the texts alone.

    `natives`: index of each compaction -> tokens of what the client kept and put in, and the index behind that.
    """
    prompts: list[SentPrompt] = []
    window = cached = skip_to = 0
    before_ms: int | None = None
    message: object = None
    for step in steps:
        if step.index in natives:
            window, skip_to = natives[step.index]
            cached = 0
        if step.kind in ("said", "call"):
            number = (step.entry.metadata or {}).get("message")
            if number != message:
                message = number
                at_ms = step.entry.timestamp or None
                if at_ms is not None and before_ms is not None and at_ms - before_ms > COLD_MS:
                    cached = 0
                prompts.append(
                    SentPrompt(
                        at_ms,
                        window,
                        cached,
                        window - cached,
                        call=step.call - (step.kind == "call"),
                        line=line_of(step),
                    )
                )
                cached, before_ms = window, at_ms if at_ms is not None else before_ms
        if step.kind != "silent" and step.index >= skip_to:
            window += step.entry.token_count
    return tuple(prompt for prompt in prompts if prompt.tokens)


def bill_of(
    prompts: Sequence[SentPrompt], prices: Prices, *, recorded: bool, first_texts_tokens: int | None
) -> AutopsyBill:
    """Add up what the prompts cost.

    `first_texts_tokens`: tokens of the recorded texts that the first prompt held, or None if that is not known.
    """
    fixed = _fixed(prompts, first_texts_tokens) if recorded else None
    cost = cold_cost = fixed_cost = 0.0
    pauses = cold_prompts = 0
    before: SentPrompt | None = None
    for prompt in prompts:
        price = _price(prompt, prices)
        cost += price
        if fixed is not None:
            cached = min(fixed, prompt.cached_tokens)
            fixed_cost += cached * prices.read + (fixed - cached) * prices.write
        if before and prompt.at_ms is not None and before.at_ms is not None and prompt.at_ms - before.at_ms > COLD_MS:
            pauses += 1
            if prompt.cached_tokens < _COLD_SHARE * min(prompt.tokens, before.tokens):
                cold_prompts += 1
                cold_cost += price
        before = prompt
    return AutopsyBill(
        recorded=recorded,
        prompts=len(prompts),
        input_tokens=sum(prompt.tokens for prompt in prompts),
        cost=cost,
        pauses=pauses,
        cold_prompts=cold_prompts,
        cold_cost=cold_cost,
        fixed_tokens=fixed,
        fixed_cost=None if fixed is None else fixed_cost,
    )


def compaction_cost(
    after: Sequence[SentPrompt], prices: Prices, *, window_tokens: int, summary_tokens: int, restore_tokens: int
) -> CompactionCost:
    """Add up what a compaction cost, and what undrift's text would have cost.

    Args:
        after: The prompts up to the next compaction; if there are none, only the summary's call was paid.
        window_tokens: The prompt that was summarised.
        restore_tokens: The text that undrift gives back.
    """
    summary = prices.read * window_tokens + OUTPUT_PRICE * summary_tokens
    if not after:
        return CompactionCost(summary)
    first = after[0]
    is_long = first.written_long_tokens > first.written_tokens
    write = LONG_WRITE_PRICE if is_long else prices.write
    rewritten = _price(first, prices) - prices.read * first.cached_tokens
    return CompactionCost(summary, rewritten, (write + prices.read * (len(after) - 1)) * restore_tokens)


def everything_cost(prompts: Sequence[SentPrompt], prices: Prices, cuts: Sequence[tuple[int, int]]) -> float:
    """Estimate what the prompts would have cost without any compaction.

    `cuts`: the line before each compaction, and the tokens that it dropped, in order. A prompt that read less than half of
    itself from the cache found it cold, and would have written what was dropped too.
    """
    total, dropped, place, whole = 0.0, 0, 0, 0
    for prompt in prompts:
        is_first = False
        while place < len(cuts) and cuts[place][0] < prompt.line:
            dropped += cuts[place][1]
            place, is_first = place + 1, True
        is_warm = prompt.cached_tokens >= _COLD_SHARE * prompt.tokens
        write = LONG_WRITE_PRICE if prompt.written_long_tokens > prompt.written_tokens else prices.write
        if is_first:  # without the compaction its beginning would have been the prompt before
            new = max(0, prompt.tokens + dropped - whole)
            total += prices.read * (prompt.tokens + dropped - new) + write * new
        else:
            total += _price(prompt, prices) + (prices.read if is_warm else write) * dropped
        whole = prompt.tokens + dropped
    return total


def timeline_of(prompts: Sequence[SentPrompt]) -> tuple[Point, ...]:
    """Give how full the window was, the last prompt of each call."""
    return tuple(Point(call, last.tokens, last.at_ms) for call, last in {p.call: p for p in prompts}.items())


def _price(prompt: SentPrompt, prices: Prices) -> float:
    plain = max(0, prompt.tokens - prompt.cached_tokens - prompt.written_tokens - prompt.written_long_tokens)
    return (
        prices.read * prompt.cached_tokens
        + prices.write * prompt.written_tokens
        + LONG_WRITE_PRICE * prompt.written_long_tokens
        + plain
    )


def _fixed(prompts: Sequence[SentPrompt], texts_tokens: int | None) -> int | None:
    """Tell what the first prompt held beside the recorded texts; at most the smallest prompt."""
    if not prompts or texts_tokens is None or texts_tokens > _FIXED_MOST_SHARE * prompts[0].tokens:
        return None
    return max(0, min(prompts[0].tokens - texts_tokens, min(prompt.tokens for prompt in prompts)))


def line_of(step: Step) -> int:
    """Return the line of the recording that a step stands on; 0 if it is not known."""
    line = (step.entry.metadata or {}).get("line")
    return line if isinstance(line, int) else 0
