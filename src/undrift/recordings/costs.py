"""The prompt cache of recorded sessions: what was paid for prompts, what was written again, and how the cache stands now.

Law: only ever reads; figures come from the usage that the client recorded, never from the text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from undrift import transcripts
from undrift.core.guard import CacheWatch, Notice, guard, watched
from undrift.errors import TranscriptError
from undrift.settings.model_table import Model, lookup
from undrift.transcripts import HEAD_LINES, Recording
from undrift.transcripts.figures import figures
from undrift.values.usage import HOUR_S, PromptUsage

__all__ = ["RecordedCost", "cost_of", "costs_in", "prompt_usd", "written_usd"]

_LIVE_MS = 24 * 3_600_000
"""A session that was used longer ago is hardly the next one that is used."""

_HEAD_LINE_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """The cost of one recorded session.

    Args:
        folder: The folder in which it was held; empty if the client does not record it.
        model: Of the newest prompt; empty if the client does not record it.
        prompts: Prompts with recorded usage.
        usd: The price of their tokens; None if a model has no price.
    """

    path: str
    format: str
    title: str
    folder: str
    model: str
    prompts: int
    tokens: int
    usd: float | None
    watch: CacheWatch
    models: Sequence[Model] = ()

    def notices(self, now_ms: int) -> tuple[Notice, ...]:
        """Return the sentences that are true now, however long ago the session was used."""
        return guard(self.watch, now_ms, lambda model, life: written_usd(model, life, self.models))

    def is_live(self, now_ms: int) -> bool:
        """Tell whether the session was used in the last day."""
        idle_s = self.watch.idle_seconds(now_ms)
        return idle_s is not None and idle_s * 1_000 <= _LIVE_MS


def costs_in(
    paths: Iterable[Path], is_wanted: Callable[[str], bool], models: Sequence[Model] = ()
) -> Iterator[RecordedCost]:
    """Yield the costs of the sessions that were held in some folders; a file that cannot be read is passed over."""
    for path in paths:
        try:
            found = cost_of(path, models, is_wanted)
        except TranscriptError:
            continue
        if found is not None:
            yield found


def cost_of(
    path: Path, models: Sequence[Model] = (), is_wanted: Callable[[str], bool] | None = None
) -> RecordedCost | None:
    """Read the cost of a recorded session. None means: no usage, a sub-agent's session, or one that is not wanted.

    `is_wanted`: judges the folder in which it was held; None for any. Raises TranscriptError: it cannot be read.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            head = _head(file)
            if is_wanted is not None and not is_wanted(head.cwd or ""):
                return None
            file.seek(0)
            found = figures(file, format=head.format)
    except OSError as error:
        raise TranscriptError(f"{path}: cannot be read ({error.strerror or error}); check the file") from error
    if found.sub_agent or not found.prompts:
        return None
    events = [
        replace(one, model=one.model or head.model or "") if isinstance(one, PromptUsage) else one
        for one in found.in_order()
    ]
    prompts = [one for one in events if isinstance(one, PromptUsage)]
    prices = [_usd(one, models) for one in prompts]
    known = [usd for usd in prices if usd is not None]
    return RecordedCost(
        path=str(path),
        format=head.format,
        title=head.title,
        folder=head.cwd or "",
        model=prompts[-1].model,
        prompts=len(prompts),
        tokens=sum(one.prompt_tokens for one in prompts),
        usd=sum(known) if len(known) == len(prices) else None,
        watch=watched(
            events, lambda model, life: written_usd(model, life, models), CacheWatch.before(found.prompts[0])
        ),
        models=models,
    )


def _head(file: TextIO) -> Recording:
    """Read the first lines of a session: its format, folder, title and model. Raises TranscriptError: it has none."""
    lines = list(islice(iter(lambda: file.readline(_HEAD_LINE_CHARACTERS), ""), HEAD_LINES))
    return transcripts.read(lines)


def written_usd(model: str, life_seconds: int, models: Sequence[Model]) -> float | None:
    """Return the price of a million tokens that are written for so long; None: unknown."""
    return lookup(model, models).written_usd_per_million(life_seconds)


def _usd(prompt: PromptUsage, models: Sequence[Model]) -> float | None:
    """Return the price of a prompt; None: unknown."""
    causes = prompt_usd(prompt, 0, prompt.model, models)
    return None if causes is None else sum(causes)


def prompt_usd(
    prompt: PromptUsage, lost_tokens: int, model: str, models: Sequence[Model]
) -> tuple[float, float, float] | None:
    """Return the price of a prompt in US dollars: of what was read, of what is new, and of what was written again.

    `lost_tokens`: of the prompt, what stood in the cache before and was written again. None: the model has no price.
    """
    row = lookup(model, models)
    if row.input_usd_per_million is None:
        return None
    written = prompt.written_tokens + prompt.written_long_tokens
    plain = max(0, prompt.prompt_tokens - prompt.cached_tokens - written)
    fresh = plain + row.write_ratio_for(None) * prompt.written_tokens
    fresh += row.write_ratio_for(HOUR_S) * prompt.written_long_tokens
    again = fresh * min(1.0, lost_tokens / max(1, plain + written))
    rate = row.input_usd_per_million / 1_000_000
    return row.read_ratio * prompt.cached_tokens * rate, (fresh - again) * rate, again * rate
