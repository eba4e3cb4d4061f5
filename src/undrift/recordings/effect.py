"""The use of what undrift's hooks gave back, and compactions with and without them. Pure.

Law: means with their counts, of one client in one project. No claim about causes; below `LEAST_SESSIONS` on a side
there is no comparison.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from undrift.core.autopsy.findings import Compaction, Held
from undrift.recordings.autopsy import Postmortem

__all__ = ["EffectComparison", "EffectSide", "EffectSums", "LEAST_SESSIONS", "compared", "summed"]

LEAST_SESSIONS = 5
"""Fewer sessions with a compaction on one side are too few to say anything."""


@dataclass(frozen=True, slots=True)
class EffectSums:
    """Sums over the compactions after which a hook gave something back; sizes in tokens.

    Args:
        used: Names and lines that the agent used again afterwards.
        held: Of these, those in the texts that were given back.
        alone: Of these, those that neither the summary held nor a new reading showed.
        results: The results that had shown `alone`: the agent did not read them again.
        fetches: Results that the agent did read again, of `fetched_tokens`.
        usd: The price of the texts in all prompts; None if a model has no price.
        result_usd, fetched_usd: The input price of `result_tokens` and `fetched_tokens`, read once; None as above.
    """

    compactions: int = 0
    tokens: int = 0
    used: int = 0
    held: int = 0
    alone: int = 0
    results: int = 0
    result_tokens: int = 0
    fetches: int = 0
    fetched_tokens: int = 0
    usd: float | None = None
    result_usd: float | None = None
    fetched_usd: float | None = None


@dataclass(slots=True)
class EffectSide:
    """The compactions with the hooks, or those without them.

    Args:
        used: Names and lines that the agent used again after compactions whose summary can be read.
        known: Of these, those in the window right after the compaction.
    """

    compactions: int = 0
    fetches: int = 0
    fetched_tokens: int = 0
    used: int = 0
    known: int = 0
    sessions: set[str] = field(default_factory=set)

    def add(self, session: str, one: Compaction) -> None:
        """Count one compaction."""
        self.sessions.add(session)
        self.compactions += 1
        self.fetches += len(one.fetches_in_window)
        self.fetched_tokens += one.fetched.tokens
        if not one.encrypted:
            self.used += one.identifiers + one.lines
            self.known += _both(one.native if one.given is None else one.given.together)

    def merge(self, other: "EffectSide") -> None:
        """Add another side to this one."""
        self.compactions += other.compactions
        self.fetches += other.fetches
        self.fetched_tokens += other.fetched_tokens
        self.used += other.used
        self.known += other.known
        self.sessions |= other.sessions

    @property
    def mean_fetches(self) -> float:
        """Results read again after a compaction."""
        return self.fetches / self.compactions if self.compactions else 0.0

    @property
    def mean_fetched_tokens(self) -> float:
        """Tokens read again after a compaction."""
        return self.fetched_tokens / self.compactions if self.compactions else 0.0

    @property
    def share(self) -> float | None:
        """The part of what was used that stood in the window; None: nothing was used, or it cannot be read."""
        return self.known / self.used if self.used else None


@dataclass(frozen=True, slots=True)
class EffectComparison:
    """The compactions of one client before its hooks gave something back, and those after which they did.

    Args:
        format: The client's recording format.
        missed: Compactions since then after which nothing was given back; on neither side.
    """

    format: str
    without: EffectSide
    with_hooks: EffectSide
    missed: int = 0

    @property
    def is_enough(self) -> bool:
        """True if both sides have enough sessions to compare them."""
        return min(len(self.without.sessions), len(self.with_hooks.sessions)) >= LEAST_SESSIONS


def summed(found: Iterable[Postmortem]) -> EffectSums:
    """Add up the compactions after which something was given back; repeated ones count once."""
    sums = EffectSums(usd=0.0, result_usd=0.0, fetched_usd=0.0)
    for session in found:
        for one in session.autopsy.compactions:
            if one.given is None or one.repeated:
                continue
            sums = EffectSums(
                compactions=sums.compactions + 1,
                tokens=sums.tokens + one.given.tokens,
                used=sums.used + one.identifiers + one.lines,
                held=sums.held + _both(one.given.held),
                alone=sums.alone + _both(one.given.alone),
                results=sums.results + one.given.results,
                result_tokens=sums.result_tokens + one.given.alone.tokens,
                fetches=sums.fetches + len(one.fetches_in_window),
                fetched_tokens=sums.fetched_tokens + one.fetched.tokens,
                usd=_plus(sums.usd, session.usd(one.given.cost)),
                result_usd=_plus(sums.result_usd, session.usd(one.given.alone.tokens)),
                fetched_usd=_plus(sums.fetched_usd, session.usd(one.fetched.tokens)),
            )
    return sums


def compared(
    found: Iterable[Postmortem], since_ms: Mapping[str, int], project_of: Callable[[Postmortem], str]
) -> tuple[EffectComparison, ...]:
    """Compare compactions with and without the hooks, by client. A project counts if it has both, or if it is the only one.

    Args:
        since_ms: Format -> when the hooks first gave something back in that client.
        project_of: A session -> its project.
    """
    pairs: dict[str, dict[str, EffectComparison]] = {}
    for session in found:
        start_ms = since_ms.get(session.format)
        if start_ms is not None:
            projects = pairs.setdefault(session.format, {})
            project = project_of(session)
            before = projects.get(project, EffectComparison(session.format, EffectSide(), EffectSide()))
            projects[project] = _with_session(before, session, start_ms)
    return tuple(_pooled(name, list(projects.values())) for name, projects in pairs.items())


def _with_session(pair: EffectComparison, session: Postmortem, start_ms: int) -> EffectComparison:
    """Count the compactions of a session on the side on which they are."""
    missed = pair.missed
    for one in session.autopsy.compactions:
        if one.repeated or one.at_ms is None or not one.window_calls:
            continue
        if one.given is not None:
            pair.with_hooks.add(session.path, one)
        elif one.at_ms < start_ms:
            pair.without.add(session.path, one)
        else:
            missed += 1
    return EffectComparison(pair.format, pair.without, pair.with_hooks, missed)


def _pooled(format_name: str, projects: Sequence[EffectComparison]) -> EffectComparison:
    both = [one for one in projects if one.without.compactions and one.with_hooks.compactions]
    without, with_hooks = EffectSide(), EffectSide()
    for one in projects if len(projects) == 1 else both:
        without.merge(one.without)
        with_hooks.merge(one.with_hooks)
    return EffectComparison(format_name, without, with_hooks, sum(one.missed for one in projects))


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _both(held: Held) -> int:
    return held.identifiers + held.lines
