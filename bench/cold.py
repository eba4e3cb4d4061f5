"""The share of warm caches that the engine takes for cold ones: ``python -m bench.cold DIR... [--restarts]``.

Every recorded prompt goes through the real knowledge of the cache of a real session, with the clock of the recording: what
the request asks for, the verdict, and the usage of its answer. That usage also judges the verdict: a prompt of which less
than half of the one before was read has been written again. Sessions of Claude Code and of Codex count. System prompt and tools
are not recorded; the smallest prompt of the session counts as them.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from undrift import Session, Settings
from undrift.core.window.learned_cache import Expected
from undrift.session.cache import CacheTraffic, LastRequest
from undrift.settings.model_table import lookup, model_key
from undrift.transcripts import codex
from undrift.transcripts.figures import figures
from undrift.values.usage import PromptUsage
from undrift.wire.form import ProviderReply

__all__ = ["Verdicts", "judged", "main", "prompts_of"]

_READ_SHARE = 0.5
_SHORTEST = 8_000
"""A shorter prompt is mostly what stands beside the history."""


@dataclass
class Verdicts:
    """Pairs of requests. `lost`: taken for warm, and written again, by the length of the pause."""

    pairs: int = 0
    cold: int = 0
    cold_but_read: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Verdicts") -> None:
        """Add the verdicts of another session."""
        self.pairs, self.cold = self.pairs + other.pairs, self.cold + other.cold
        self.cold_but_read += other.cold_but_read
        self.lost += other.lost

    def __str__(self) -> str:
        lost = ", ".join(f"{number} {pause}" for pause, number in self.lost.most_common()) or "none"
        share = self.cold_but_read / max(1, self.cold)
        said = f"{self.pairs:,} pairs: {self.cold} taken for cold, {self.cold_but_read} of them warm ({share:.1%})"
        return f"{said}; taken for warm, but written again: {lost}"


def prompts_of(lines: Sequence[str]) -> tuple[bool, list[tuple[int, PromptUsage]]]:
    """Return whether Codex recorded it, and its runs of prompts, each with the number of its run.

    A compaction ends a run. A request without a recorded answer has no tokens.
    """
    is_codex = any('"session_meta"' in line for line in lines[:4])
    found = figures(lines, format=codex.FORMAT if is_codex else "claude-code")
    run, prompts, model = 0, list[tuple[int, PromptUsage]](), ""
    for event in () if found.sub_agent else found.in_order():
        if isinstance(event, PromptUsage):
            model = event.model
            prompts += [(run, event)] if event.at_ms is not None else []
        elif event.kind == "compacted":
            run += 1
        elif event.at_ms is not None:
            prompts.append((run, PromptUsage(event.line, event.at_ms, 0, 0, model=model)))
    return is_codex, prompts


def judged(prompts: Sequence[tuple[int, PromptUsage]], home: Path, *, restarts: bool = False) -> Verdicts:
    """Return the verdicts about one session. `restarts`: the process is killed before each request."""
    found, now = Verdicts(), [0]
    settings = Settings(token_counter="characters/4")
    fixed = min((one.prompt_tokens for _, one in prompts if one.prompt_tokens), default=0)
    session = Session.open("s", home=home, settings=settings, clock=lambda: now[0])
    traffic = CacheTraffic(session._context)
    run_before, before = -1, PromptUsage(0, None, 0, 0)
    for run, one in prompts:
        if restarts:
            session = Session.open("s", home=home, settings=settings, clock=lambda: now[0])
            traffic = CacheTraffic(session._context)
        now[0] = max(now[0], one.at_ms or 0)
        model, key = lookup(one.model), model_key(one.model)
        cache = traffic.of(model, key, one.life_seconds)
        idle_ms = session._context.log.times.idle_ms(key, now[0])
        is_pair = run == run_before and before.model == one.model and before.prompt_tokens >= _SHORTEST
        kept = min(before.prompt_tokens, one.prompt_tokens) if is_pair else 0
        if is_pair and one.prompt_tokens:
            _judge(found, kept, one, cache.is_cold(idle_ms), (one.at_ms or 0) - (before.at_ms or 0), cache.seconds)
        expected = Expected(
            one.prompt_tokens,
            fixed,
            max(0, kept - fixed),
            None if idle_ms is None else idle_ms // 1_000,
            cache.is_cold(idle_ms),
        )
        sent = LastRequest(model, one.prompt_tokens, one.life_seconds, now[0], key=key, expected=expected)
        traffic.asked(sent, is_large=True)
        reply = ProviderReply(
            one.prompt_tokens,
            one.cached_tokens,
            cache_seconds=one.life_seconds,
            is_promised=one.life_seconds is not None,
        )
        if one.prompt_tokens:
            traffic.answered(sent, reply)
            run_before, before = run, one
    session.close()
    return found


def _judge(found: Verdicts, kept: int, one: PromptUsage, is_cold: bool, pause_ms: int, life_s: int) -> None:
    was_read = one.cached_tokens >= _READ_SHARE * kept
    found.pairs += 1
    found.cold += is_cold
    found.cold_but_read += is_cold and was_read
    if not is_cold and not was_read:
        pause_s = pause_ms / 1_000
        found.lost[
            "within five minutes" if pause_s <= 300 else "within the life" if pause_s <= life_s else "just after it"
        ] += 1


def _sessions(folders: Sequence[Path]) -> Iterator[tuple[bool, list[tuple[int, PromptUsage]]]]:
    known = set[tuple[object, ...]]()
    for path in sorted(path for folder in folders for path in folder.rglob("*.jsonl")):
        is_codex, prompts = prompts_of(path.read_text(encoding="utf-8", errors="replace").splitlines())
        fresh = []
        for run, one in prompts:
            if (one.at_ms, one.prompt_tokens) not in known:  # a resumed session repeats the one before
                known.add((one.at_ms, one.prompt_tokens))
                fresh.append((run, one))
        if fresh:
            yield is_codex, fresh


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the verdicts, by client."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with recorded sessions (*.jsonl)")
    parser.add_argument("--restarts", action="store_true", help="kill the process before each request")
    given = parser.parse_args(arguments)
    totals = {False: Verdicts(), True: Verdicts()}
    for is_codex, prompts in _sessions(given.folders):
        with tempfile.TemporaryDirectory() as home:
            totals[is_codex].add(judged(prompts, Path(home), restarts=given.restarts))
    for is_codex, found in totals.items():
        print(f"{'Codex' if is_codex else 'Claude Code'}: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
