"""The causes of a session's price: each token of each prompt has exactly one.

Law: the causes of a prompt sum up to its price, which is that of the provider's own counts. If a recording does not
show a cause, its tokens are in the others, and the figures say for how many prompts.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from undrift.core.guard import CacheWatch
from undrift.errors import StoreError
from undrift.recordings.costs import prompt_usd
from undrift.settings.model_table import Model
from undrift.values.clock import day_of
from undrift.values.usage import CacheEvent, PromptUsage
from undrift.web.left import left_rows
from undrift.web.read_again import ReadAgain, first_texts_tokens, read_again, system_and_tools_tokens
from undrift.web.source import PageSource
from undrift.web.watching import WatchedSession

__all__ = [
    "CAUSES",
    "CausedPrompt",
    "REASONS",
    "Sums",
    "caused_prompts",
    "causes",
    "day_sums",
    "price_so_far",
    "priced_prompts",
    "read_again_usd",
    "session_bill",
    "summed",
]

CAUSES = ("work", "history", "fetched", "rewritten", "tools")
"""New texts; older texts that were read from the cache; results read again after a compaction; texts written to the cache
again. The last one is system prompt and tool definitions, read or written."""

REASONS = ("compaction", "pause", "prune", "change")
"""Why texts were written to the cache again; `prune`: undrift removed something before them; `change`: no pause ended the cache."""

Sums = dict[str, float]
"""Prompts, tokens and US dollars by a name and a cause or reason, as in ``usd work``."""

_DEAREST = 5
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class CausedPrompt:
    """A prompt, and its tokens and US dollars by cause; no dollars: its model has no price.

    `reason`: why a part of it was written again; empty: none was.
    """

    usage: PromptUsage
    model: str
    tokens: Mapping[str, int]
    usd: Mapping[str, float] | None
    reason: str = ""


def causes(source: PageSource, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the price of a session and its causes. `query`: ``key``."""
    return session_bill(source, source.session(query.get("key", "")))


def session_bill(source: PageSource, one: WatchedSession) -> dict[str, Any]:
    """Return what the prompts of a session cost, why, and the dearest of them."""
    prompts = list(_of_session(source, one))
    sums = _sums(source, one, prompts)
    dearest = sorted((-sum(row.usd.values()), n, row) for n, row in enumerate(prompts, 1) if row.usd)[:_DEAREST]
    return {
        **summed(sums),
        "fixed_tokens": _fixed_tokens(source, one),
        "dearest": [_dear(n, row) for _, n, row in dearest],
    }


def summed(sums: Sums) -> dict[str, Any]:
    """Return sums for the page: the price is the sum of its causes; null where no prompt has one."""
    prompts, unpriced = int(sums.get("prompts", 0)), int(sums.get("unpriced", 0))

    def usd_of(name: str) -> float | None:
        return round(sums.get(f"usd {name}", 0.0), _DIGITS) if prompts > unpriced else None

    def tokens_of(name: str) -> int:
        return int(sums.get(f"tokens {name}", 0))

    unknown = {cause: int(sums.get(f"unknown {cause}", 0)) for cause in ("fetched", "tools")}
    found = {}
    for cause in CAUSES:
        is_known = not prompts or unknown.get(cause, 0) < prompts
        found[cause] = {"tokens": tokens_of(cause), "usd": usd_of(cause)} if is_known else {"tokens": None, "usd": None}
    reasons = {
        one: {"prompts": int(sums.get(f"prompts {one}", 0)), "tokens": tokens_of(one), "usd": usd_of(one)}
        for one in REASONS
    }
    return {
        "prompts": prompts,
        "unpriced": unpriced,
        "tokens": int(sums.get("tokens", 0)),
        "usd": round(sum(row["usd"] or 0.0 for row in found.values()), _DIGITS) if prompts > unpriced else None,
        "causes": found,
        "rewritten": reasons,
        "unknown": unknown,
    }


def day_sums(source: PageSource, one: WatchedSession) -> Mapping[tuple[str, str], Sums]:
    """Return the sums of a session by day and model; prompts without a time have an empty day."""

    def by_day_and_model() -> dict[tuple[str, str], Sums]:
        groups: dict[tuple[str, str], list[CausedPrompt]] = {}
        for row in _of_session(source, one):
            day = day_of(row.usage.at_ms) if row.usage.at_ms else ""
            groups.setdefault((day, row.model), []).append(row)
        return {key: _sums(source, one, rows) for key, rows in groups.items()}

    return source.noted(one, "day sums", one.last_ms, by_day_and_model)


def price_so_far(source: PageSource, one: WatchedSession) -> tuple[float | None, int]:
    """Return the price of a session's prompts, and how many have none; None: no prompt has one."""

    def found() -> tuple[float | None, int]:
        prices = [prompt_usd(row, 0, row.model or one.model, source.models) for row in one.figures.prompts]
        known = [sum(row) for row in prices if row is not None]
        return (sum(known) if known else None), len(prices) - len(known)

    return source.noted(one, "price", one.last_ms, found)


def read_again_usd(source: PageSource, one: WatchedSession) -> Mapping[str, float | None]:
    """Return what each result that was read again cost, by the id of its entry; null: no price, or not sent yet."""
    found: dict[str, float | None] = {}
    results = read_again(source, one) or ()
    prompts = list(_of_session(source, one)) if results else []
    whole = _by_prompt(results)
    for result in results:
        usd = prompts[result.prompt].usd if result.prompt is not None and result.prompt < len(prompts) else None
        all_tokens = whole.get(result.prompt or 0, 0)
        found[result.entry_id] = None if usd is None else usd["fetched"] * result.known_tokens / max(1, all_tokens)
    return found


def priced_prompts(
    one: WatchedSession, models: Sequence[Model]
) -> Iterator[tuple[PromptUsage, tuple[float, ...] | None]]:
    """Yield each prompt with the parts of its price; None: its model has no price."""
    for row in caused_prompts(one, models):
        yield row.usage, None if row.usd is None else tuple(row.usd.values())


def caused_prompts(
    one: WatchedSession,
    models: Sequence[Model],
    fixed_tokens: int = 0,
    fetched_tokens: Mapping[int, int] | None = None,
    pruned_tokens: Mapping[int, int] | None = None,
) -> Iterator[CausedPrompt]:
    """Yield each prompt of a session with its causes.

    `fixed_tokens`: of system prompt and tools, in every prompt. `fetched_tokens`: of results read again, by the prompt's place.
    `pruned_tokens`: of what undrift removed for a prompt, by its place: what stood in the cache and stays was written again.
    """
    pruned = pruned_tokens or {}
    watch = CacheWatch.before(one.figures.prompts[0] if one.figures.prompts else None)
    place, is_after_compaction = 0, False
    for event in one.figures.in_order():
        if isinstance(event, CacheEvent):
            is_after_compaction = is_after_compaction or event.kind == "compacted"
        else:
            lost = watch.lost_tokens(event)
            reason = "compaction" if is_after_compaction else _reason(watch, event) if lost else ""
            if place in pruned and reason not in ("compaction", "pause"):
                lost = max(0, watch.tokens - pruned[place] - event.cached_tokens)
                reason = "prune"
            again = (fetched_tokens or {}).get(place, 0)
            tokens = _split(event, fixed_tokens, lost, again, is_whole=is_after_compaction)
            model = event.model or one.model
            usd = _priced(event, tokens, fixed_tokens, prompt_usd(event, 0, model, models))
            yield CausedPrompt(event, model, tokens, usd, reason if tokens["rewritten"] else "")
            place, is_after_compaction = place + 1, False
        watch = watch.then(event, lambda *_: None)


def _of_session(source: PageSource, one: WatchedSession) -> Iterator[CausedPrompt]:
    again = _by_prompt(read_again(source, one) or ())
    return caused_prompts(one, source.models, _fixed_tokens(source, one) or 0, again, _pruned(source, one))


def _pruned(source: PageSource, one: WatchedSession) -> Mapping[int, int]:
    """Return the tokens that undrift removed for each prompt, by its place."""
    times = [prompt.at_ms or 0 for prompt in one.figures.prompts]
    found: Counter[int] = Counter()
    with suppress(StoreError):  # a recording has its price without the records
        for row in left_rows(source, one):
            found[bisect_left(times, row["at_ms"])] += row["tokens_saved"]
    return found


def _fixed_tokens(source: PageSource, one: WatchedSession) -> int | None:
    return system_and_tools_tokens(one, first_texts_tokens(source, one))


def _by_prompt(results: Sequence[ReadAgain]) -> Counter[int]:
    found: Counter[int] = Counter()
    for result in results:
        if result.prompt is not None:
            found[result.prompt] += result.known_tokens
    return found


def _reason(watch: CacheWatch, prompt: PromptUsage) -> str:
    idle_s = None if prompt.at_ms is None else watch.idle_seconds(prompt.at_ms)
    is_known = idle_s is not None and watch.life_seconds is not None
    return "pause" if is_known and idle_s > watch.life_seconds else "change"  # type: ignore[operator] # both are known


def _split(
    prompt: PromptUsage, fixed_tokens: int, lost_tokens: int, fetched_tokens: int, *, is_whole: bool
) -> dict[str, int]:
    """Return a prompt's tokens by cause: system prompt and tools stand first in it, then what was in the cache.

    `is_whole`: all that is not read was written again, as after a compaction.
    """
    cached = min(prompt.cached_tokens, prompt.prompt_tokens)
    uncached = prompt.prompt_tokens - cached
    fixed_read, fixed_written = _fixed_parts(prompt, fixed_tokens)
    rest = uncached - fixed_written
    rewritten = rest if is_whole else min(rest, max(0, lost_tokens - fixed_written))
    fetched = min(rest - rewritten, fetched_tokens)
    return {
        "work": rest - rewritten - fetched,
        "history": cached - fixed_read,
        "fetched": fetched,
        "rewritten": rewritten,
        "tools": fixed_read + fixed_written,
    }


def _fixed_parts(prompt: PromptUsage, fixed_tokens: int) -> tuple[int, int]:
    """Return the tokens of system prompt and tools that were read from the cache, and the others."""
    cached = min(prompt.cached_tokens, prompt.prompt_tokens)
    read = min(fixed_tokens, cached)
    return read, min(fixed_tokens - read, prompt.prompt_tokens - cached)


def _priced(
    prompt: PromptUsage, tokens: Mapping[str, int], fixed_tokens: int, usd: tuple[float, float, float] | None
) -> dict[str, float] | None:
    """Return a prompt's price by cause: a read token at the price of reading, each other one at the mean price of those."""
    if usd is None:
        return None
    cached = min(prompt.cached_tokens, prompt.prompt_tokens)
    read = usd[0] / max(1, cached)
    uncached = usd[1] / max(1, prompt.prompt_tokens - cached)
    fixed_read, fixed_written = _fixed_parts(prompt, fixed_tokens)
    found = {cause: tokens[cause] * uncached for cause in CAUSES}
    return found | {"history": tokens["history"] * read, "tools": fixed_read * read + fixed_written * uncached}


def _sums(source: PageSource, one: WatchedSession, rows: Sequence[CausedPrompt]) -> Sums:
    """Return the sums of some prompts of a session."""
    sums: Sums = defaultdict(float, prompts=len(rows))
    sums["unknown tools"] = len(rows) if _fixed_tokens(source, one) is None else 0
    sums["unknown fetched"] = len(rows) if read_again(source, one) is None else 0
    for row in rows:
        sums["tokens"] += row.usage.prompt_tokens
        sums["unpriced"] += row.usd is None
        for cause in CAUSES:
            sums[f"tokens {cause}"] += row.tokens[cause]
            sums[f"usd {cause}"] += row.usd[cause] if row.usd else 0.0
        if row.reason:
            sums[f"prompts {row.reason}"] += 1
            sums[f"tokens {row.reason}"] += row.tokens["rewritten"]
            sums[f"usd {row.reason}"] += row.usd["rewritten"] if row.usd else 0.0
    return sums


def _dear(number: int, row: CausedPrompt) -> dict[str, Any]:
    usd = row.usd or {}
    cause = max(usd, key=lambda name: usd[name])
    return {
        "turn": number,
        "at_ms": row.usage.at_ms,
        "usd": round(sum(usd.values()), _DIGITS),
        "cause": cause,
        "cause_usd": round(usd[cause], _DIGITS),
        "reason": row.reason if cause == "rewritten" else "",
    }
