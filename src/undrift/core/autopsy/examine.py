"""One session, from its entries to its findings. Pure; linear but for a second look at each compaction's window."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from undrift.core.autopsy import rules
from undrift.core.autopsy.bill import (
    SentPrompt,
    bill_of,
    compaction_cost,
    estimated_prompts,
    everything_cost,
    line_of,
    placed,
    timeline_of,
)
from undrift.core.autopsy.fetches import ReadBefore
from undrift.core.autopsy.findings import Autopsy, Compaction, Held, LostRule
from undrift.core.autopsy.given import given_texts, use_of
from undrift.core.autopsy.native import CompactionRecord, NativeTexts, native_texts
from undrift.core.autopsy.steps import Step, steps_of
from undrift.core.autopsy.used import WINDOW_CALLS, Learned, count_held, window_of
from undrift.core.cost import Prices
from undrift.core.text.tokens import characters_per_4
from undrift.values.window import ContextEntry

__all__ = ["Restore", "autopsy"]

Restore = Callable[[Sequence[ContextEntry]], str]
"""Returns the text that gives an agent back what its compaction removed."""


@dataclass(slots=True)
class _Examined:
    steps: tuple[Step, ...]
    records: Mapping[int, CompactionRecord]
    prompts: tuple[SentPrompt, ...]
    restore: Restore | None
    prices: Prices
    learned: Learned = field(default_factory=Learned)
    read: ReadBefore = field(default_factory=ReadBefore)
    sent: tuple[SentPrompt, ...] = ()
    """The prompts as the client counted them, else as estimated."""


def autopsy(
    entries: Sequence[ContextEntry],
    compactions: Sequence[int],
    *,
    records: Mapping[int, CompactionRecord] | None = None,
    prompts: Sequence[SentPrompt] = (),
    prices: Prices,
    restore: Restore | None = None,
) -> Autopsy:
    """Find what the compactions of a session removed, and what that cost.

    Args:
        compactions: Ascending indices into `entries`; those before the first call are only counted.
        prompts: The recorded prompts; empty to estimate them from the texts.
    """
    steps = steps_of(entries)
    session = _Examined(steps, records or {}, placed(prompts, steps), restore, prices)
    places = [index for index in sorted(set(compactions)) if any(step.kind == "call" for step in steps[:index])]
    natives = {index: native_texts(steps, index, session.records.get(index)) for index in places}
    sent = session.prompts or estimated_prompts(steps, {i: (n.tokens, n.place) for i, n in natives.items()})
    session.sent = sent
    found: list[Compaction] = []
    taken = 0
    for number, index in enumerate(places, 1):
        for step in steps[taken:index]:
            session.learned.take(step)
            session.read.take(step)
        end = places[number] if number < len(places) else len(steps)
        found.append(_compaction(session, number, steps[taken:index], steps[index:end], natives[index]))
        taken = index
    times = [entry.timestamp for entry in entries if entry.timestamp]
    bill = bill_of(sent, prices, recorded=bool(prompts), first_texts_tokens=_first_texts(session) if prompts else None)
    if found and sent:
        cuts = [(line_of(steps[index - 1]), one.dropped_tokens) for index, one in zip(places, found, strict=True)]
        bill = replace(
            bill,
            summaries=sum(one.cost.summary for one in found),
            everything=everything_cost(sent, prices, cuts),
        )
    return Autopsy(
        calls=steps[-1].call if steps else 0,
        duration_ms=times[-1] - times[0] if times else 0,
        compactions=tuple(found),
        bill=bill,
        timeline=timeline_of(sent),
        timeline_recorded=bool(prompts),
        early_compactions=len(set(compactions)) - len(places),
    )


def _compaction(
    session: _Examined, number: int, before: Sequence[Step], after: Sequence[Step], native: NativeTexts
) -> Compaction:
    index = before[-1].index + 1
    record = session.records.get(index, CompactionRecord())
    calls_before = before[-1].call
    window = window_of(after)
    given = given_texts(after)
    own = native.own | given.places
    used = session.learned.used_in(window, own)
    held = session.learned.references_held(used, native.texts, strict=False)
    at_ms = record.at_ms or before[-1].entry.timestamp or None
    fetches = session.read.again(
        [step for step in after if step.index not in own], native.texts, at_ms=at_ms, calls_before=calls_before
    )
    window_calls = min(WINDOW_CALLS, window[-1].call - calls_before) if window else 0
    text = None if session.restore is None else session.restore([s.entry for s in session.steps[:index]])
    ours = frozenset() if text is None else session.learned.references_held(used, [text], strict=True)
    ours_tokens = characters_per_4(text or "")
    stated = rules.rules_of(session.steps[:index])
    usual_tokens, usual_calls = session.read.usual(before)
    tokens_before, tokens_after, recorded = _sizes(session, before, after, record)
    cost, given_cost = (
        compaction_cost(
            _sent_between(session, before, after),
            session.prices,
            window_tokens=tokens_before,
            summary_tokens=native.summary_tokens,
            restore_tokens=tokens,
        )
        for tokens in (0 if text is None else ours_tokens, given.tokens)
    )
    return Compaction(
        number=number,
        at_ms=at_ms,
        trigger=record.trigger,
        calls_before=calls_before,
        calls_after=after[-1].call - calls_before if after else 0,
        window_calls=window_calls,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        recorded=recorded,
        encrypted=record.encrypted,
        identifiers=used.count("identifier"),
        lines=used.count("line"),
        native=count_held(held, native.tokens),
        ours=None if text is None else count_held(ours, ours_tokens),
        together=None if text is None else count_held(held | ours, native.tokens + ours_tokens),
        fetched=_fetched(count_held(used.fetched, 0), sum(f.known_tokens for f in fetches if f.call <= window_calls)),
        fetches=fetches,
        usual_tokens=usual_tokens,
        usual_calls=usual_calls,
        rules=len(stated),
        lost_rules=_lost_rules(session, stated, index, native, calls_before),
        cost=cost,
        given=use_of(
            given,
            session.learned,
            used,
            native=held,
            before=session.steps[:index],
            cost=given_cost.restore,
        ),
    )


def _sent_between(session: _Examined, before: Sequence[Step], after: Sequence[Step]) -> list[SentPrompt]:
    """Give the prompts between a compaction and the next one, by the lines of their answers."""
    last = max((line_of(step) for step in after), default=0)
    return [prompt for prompt in session.sent if line_of(before[-1]) < prompt.line <= last]


def _fetched(counted: Held, tokens: int) -> Held:
    return Held(counted.identifiers, counted.lines, tokens)


def _lost_rules(
    session: _Examined, stated: Sequence[LostRule], index: int, native: NativeTexts, calls: int
) -> tuple[LostRule, ...]:
    """Give the rules that neither the summary nor anything after it mentions, to the session's end."""
    later = session.steps[index:]
    if not any(step.kind in ("said", "call") for step in later):
        return ()  # nothing followed: it is too early to say
    said = [step.entry.content for step in later if step.kind not in ("result", "silent")]
    results = [step.entry.content for step in later if step.kind == "result"]
    return rules.lost(stated, [*native.texts, *said], results, calls=calls)


def _sizes(
    session: _Examined, before: Sequence[Step], after: Sequence[Step], record: CompactionRecord
) -> tuple[int, int | None, bool]:
    """Give the prompt before and after, and whether the client counted both."""
    earlier = [p.tokens for p in session.prompts if record.line and p.line < record.line]
    later = [p.tokens for p in session.prompts if record.line and p.line > record.line]
    counted = record.tokens_before or (earlier[-1] if earlier else None)
    if counted is not None and (later or not after):
        return counted, later[0] if later else None, True
    texts = sum(step.entry.token_count for step in before if step.kind != "silent")
    return counted or texts, later[0] if later else None, False


def _first_texts(session: _Examined) -> int | None:
    """Estimate the recorded texts of the first prompt; None if the file opens in the middle of a session."""
    first = session.prompts[0]
    tokens = 0
    for step in session.steps:
        if step.kind in ("said", "call"):
            return tokens
        if step.kind == "summary":
            return None
        tokens += step.entry.token_count if step.kind != "system" else 0
    return tokens if first.tokens else None
