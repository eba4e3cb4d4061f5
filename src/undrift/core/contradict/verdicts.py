"""Judge two memories about one thing: one wins, or both stay as an open conflict. Pure.

Law: low confidence, a lower tier of trust, another speaker, another scope and a pin never supersede: then both stand. So does an
older statement that says several things. A long text, a list, code and a quotation contradict nothing as a whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from undrift.core.contradict.changes import home_in
from undrift.core.contradict.reading import StatementClause, read_statement
from undrift.core.contradict.rules import compare
from undrift.core.contradict.words import is_plain
from undrift.core.text.words import speaker_key, stems_of
from undrift.values.memory import TRUST_TIERS, MemoryEntry, Slot

__all__ = ["HOME", "LONGEST_STATEMENT", "OPEN_BECAUSE", "SUPERSEDE_CONFIDENCE", "Verdict", "judge", "slots_of"]

SUPERSEDE_CONFIDENCE = 0.8
"""Below this a contradiction is an open conflict."""
LONGEST_STATEMENT = 350
"""The most characters of a text that can contradict another. In whole conversations, 216 memories were closed, none of
them rightly; in 205 of those pairs a text was longer than this (docs/contradiction.md)."""

HOME = "home"
"""The relation of a slot that says where its speaker lives or works."""

OPEN_BECAUSE: Mapping[str, str] = {
    "confidence": "it is not clear whether they do",
    "trust": "the newer one is trusted less",
    "pinned": "the older one is pinned",
    "scope": "they have different scopes",
    "speaker": "two people said them",
    "several": "the older one says more than one thing",
    "time": "neither of them is the later one",
}
"""The reasons of an open conflict, in words."""

_ENVIRONMENTS = frozenset({
    "production", "prod", "staging", "development", "dev", "local", "tests", "test", "ci", "demo", "preview",
    "sandbox", "legacy", "canary", "qa", "uat",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The relation between two entries.

    `kind`: ``supersede``: the winner holds instead of the loser. ``open_conflict``: they exclude each other, and
    nothing here decides. ``reinforce``: they say the same. `winner_id`: of the entry that holds later in time; of a
    reinforcement the newer one. `reason`: why a contradiction did not supersede: ``confidence``, ``trust``, ``pinned``,
    ``scope``, ``speaker``, ``several`` or ``time``; else empty.
    """

    kind: Literal["supersede", "open_conflict", "reinforce"]
    winner_id: str
    loser_id: str
    rule: str
    evidence: tuple[str, str]
    confidence: float
    reason: str = ""


def judge(new: MemoryEntry, candidates: Iterable[MemoryEntry]) -> tuple[Verdict, ...]:
    """Compare a new entry with those that were nominated, as they were before it is stored.

    Which statement is the later one is a matter of valid time, not of arrival. Only entries that can see each other are
    compared, and the new entry is never compared with itself.

    `candidates`: entries that share a slot's relation, words, or enough of a vector with it; the rules decide.
    """
    found = (_judge(new, one) for one in candidates if one.id != new.id and _meet(new, one))
    return tuple(verdict for verdict in found if verdict is not None)


def slots_of(text: str) -> tuple[Slot, ...]:
    """Return what a statement states about keyed things: for each value its place, relation and environment.

    A clause that denies, considers, asks or reports the past states nothing.
    """
    found = [slot for clause in read_statement(text) for slot in _slots(clause)]
    home = home_in(text)
    return tuple(dict.fromkeys([*found, *([Slot("speaker", HOME, "", home)] if home else [])]))


def _slots(clause: StatementClause) -> list[Slot]:
    if clause.denies or clause.cues & {"tentative", "past"}:
        return []
    environments = stems_of(_ENVIRONMENTS)
    entity = " ".join(sorted(clause.frame - environments))
    scope = " ".join(sorted(clause.frame & environments))
    return [Slot(entity, one.relation, scope, one.value) for one in clause.values if not one.qualifies]


def _judge(new: MemoryEntry, old: MemoryEntry) -> Verdict | None:
    winner, loser = (new, old) if _position(old) <= _position(new) else (old, new)
    finding = compare(loser.content, winner.content)
    if finding.kind == "none":
        return None
    evidence = (finding.older, finding.newer)
    if finding.kind == "reinforce":
        return Verdict("reinforce", winner.id, loser.id, finding.rule, evidence, finding.confidence)
    texts = winner.content, loser.content
    if max(map(len, texts)) > LONGEST_STATEMENT or not all(map(is_plain, texts)):
        return None
    if finding.rule.startswith("change:") and speaker_key(winner.speaker) != speaker_key(loser.speaker):
        return None  # it rests on little, and each speaks of the own things
    reason = _obstacle(winner, loser, finding.confidence)
    kind: Literal["supersede", "open_conflict"] = "open_conflict" if reason else "supersede"
    return Verdict(kind, winner.id, loser.id, finding.rule, evidence, finding.confidence, reason)


def _obstacle(winner: MemoryEntry, loser: MemoryEntry, confidence: float) -> str:
    """Return what keeps the winner from superseding the loser; empty if nothing does."""
    if loser.pinned:
        return "pinned"
    if TRUST_TIERS[winner.trust] < TRUST_TIERS[loser.trust]:
        return "trust"
    if _owner(winner) != _owner(loser):
        return "scope"
    if speaker_key(winner.speaker) != speaker_key(loser.speaker):
        return "speaker"  # each speaks of the own things: "I have two dogs"
    if len(read_statement(loser.content)) > 1:
        return "several"  # to close it would close what else it says
    if winner.valid_from_ms == loser.valid_from_ms and not (_is_undated(winner) and _is_undated(loser)):
        return "time"  # two sources say different things of one moment
    return "confidence" if confidence < SUPERSEDE_CONFIDENCE else ""


def _position(entry: MemoryEntry) -> tuple[int, tuple[int, int], int]:
    return entry.valid_from_ms, entry.task_position, entry.seq


def _is_undated(entry: MemoryEntry) -> bool:
    """True if no start was given: the entry holds since it arrived, and the order of arrival decides which is later."""
    return entry.valid_from_ms == entry.created_at_ms


def _owner(entry: MemoryEntry) -> tuple[str, str]:
    return entry.scope, {"agent": entry.agent, "session": entry.session_id}.get(entry.scope, "")


def _meet(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Tell whether some reader sees both entries: what is private to two owners never meets."""
    if one.scope == other.scope:
        return _owner(one) == _owner(other)
    if not {"project", "user"}.isdisjoint((one.scope, other.scope)):
        return True
    return one.agent == other.agent
