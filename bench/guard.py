"""Back-test of the cost guard over recorded sessions: ``python -m bench.guard DIR...``.

Before each recorded request it asks `undrift.core.guard` for its sentences, with the usage that was known then. The usage of
the answer says whether the prompt was written again. Sessions of Claude Code count, as no other client records the life of
its cache; usage is counted once for each message, and sub-agents are left out. A pair of requests that two files share
counts once. The other rules are the same guard: one takes every cache for one of five minutes, one is asked a minute early.
"""

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from undrift.core.guard import SURE_S, CacheWatch, guard
from undrift.hooks.costs import usd_per_million
from undrift.transcripts.figures import RecordedFigures, figures
from undrift.transcripts.lines import milliseconds
from undrift.values.usage import CacheEvent, PromptUsage

__all__ = ["RULES", "Score", "back_test", "main", "recorded"]

FIVE_MINUTES_S = 300
Event = PromptUsage | CacheEvent


@dataclass(frozen=True)
class Rule:
    """A way to ask the guard. `early_s`: so long before the moment in which it is sure."""

    name: str
    told: Callable[[Event], Event] = lambda event: event
    early_s: int = 0


def _five_minutes(event: Event) -> Event:
    if isinstance(event, CacheEvent):
        return event
    written = event.written_tokens + event.written_long_tokens
    return replace(event, written_tokens=written, written_long_tokens=0, life_seconds=FIVE_MINUTES_S)


RULES = (
    Rule("always five minutes, and a minute", _five_minutes),
    Rule("the life in the traffic, at once", early_s=SURE_S),
    Rule("the life in the traffic, and a minute"),
)


@dataclass
class Score:
    """The verdicts of one rule. `off`: how far the tokens of the true ones were from those written again, as a share."""

    pairs: int = 0
    true: int = 0
    false: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    off: list[float] = field(default_factory=list)
    usd: float = 0.0

    @property
    def precision(self) -> float:
        """The share of sentences that were true; 1 if none was said."""
        return self.true / max(1, self.true + self.false) if self.true + self.false else 1.0

    @property
    def recall(self) -> float:
        """The share of prompts written again that the guard had announced; 1 if there was none."""
        lost = self.true + sum(self.missed.values())
        return self.true / lost if lost else 1.0

    def lines(self) -> Iterator[str]:
        """Yield the report of one rule."""
        missed = sum(self.missed.values())
        yield f"  said {self.true + self.false}: {self.true} true, {self.false} false; not said {missed}"
        off = sorted(self.off) or [0.0]
        p90 = off[min(len(off) - 1, int(0.9 * len(off)))]
        yield f"  precision {self.precision:.3f}, recall {self.recall:.3f}; announced: ${self.usd:,.2f}"
        yield f"  tokens off: median {statistics.median(off):.1%}, p90 {p90:.1%}"
        for why, number in self.missed.most_common():
            yield f"  not said: {number:3} {why}"


def recorded(lines: Sequence[str]) -> tuple[RecordedFigures, dict[int, int]]:
    """Return a session's figures, and for each answer's line when it was asked for."""
    asked: dict[int, int] = {}
    last: int | None = None
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict) or record.get("isSidechain"):
            continue
        if record.get("type") in ("user", "attachment"):
            last = milliseconds(record.get("timestamp")) or last
        elif record.get("type") == "assistant" and last is not None:
            asked[number] = last
    return figures(lines, format="claude-code"), asked


def back_test(sessions: Iterable[tuple[RecordedFigures, dict[int, int]]], rule: Rule) -> Score:
    """Ask one rule before each request of the sessions."""
    score, known = Score(), set[tuple[object, ...]]()
    for found, asked in sessions:
        if found.sub_agent:
            continue
        watch = CacheWatch.before(found.prompts[0] if found.prompts else None)
        for event in found.in_order():
            if isinstance(event, PromptUsage):
                pair = (watch.at_ms, watch.tokens, event.at_ms, event.prompt_tokens)
                if watch.tokens and watch.at_ms is not None and event.at_ms is not None and pair not in known:
                    known.add(pair)
                    _judge(score, watch, event, asked.get(event.line, event.at_ms) + rule.early_s * 1_000)
            watch = watch.then(rule.told(event), usd_per_million)
    return score


def _judge(score: Score, watch: CacheWatch, event: PromptUsage, now_ms: int) -> None:
    score.pairs += 1
    said = next((one for one in guard(watch, now_ms, usd_per_million) if one.kind == "away"), None)
    lost = watch.lost_tokens(event)
    if said is not None and lost:
        score.true += 1
        score.off.append(abs((said.tokens or 0) - lost) / lost)
        score.usd += said.usd or 0.0
    elif said is not None:
        score.false += 1
    elif lost:
        score.missed[_why(watch, event, now_ms)] += 1


def _why(watch: CacheWatch, event: PromptUsage, now_ms: int) -> str:
    """Say why a prompt that was written again could not be announced."""
    idle_s, life_s = watch.idle_seconds(now_ms) or 0, watch.life_seconds
    if event.model != watch.model:
        return "the model changed with the request"
    if life_s is None:
        return "no answer had reported the life of the cache"
    if idle_s > life_s:
        return "in the minute after the life, in which four in ten caches are still warm"
    if idle_s > FIVE_MINUTES_S:
        return "after a pause shorter than the life: the provider dropped it early, or the client changed it"
    return "without a pause of five minutes: the client changed its prefix, or the provider dropped it"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the score of each rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with recorded sessions of Claude Code (*.jsonl)")
    given = parser.parse_args(arguments)
    paths = sorted(path for folder in given.folders for path in folder.rglob("*.jsonl"))
    read = [recorded(path.read_text(encoding="utf-8", errors="replace").splitlines()) for path in paths]
    sessions = [one for one in read if any(prompt.life_seconds for prompt in one[0].prompts)]
    print(f"sessions that tell the life of their cache: {len(sessions)} of {len(paths)} files")
    for rule in RULES:
        score = back_test(sessions, rule)
        print(f"{rule.name} ({score.pairs:,} pairs of requests)")
        print(*score.lines(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
