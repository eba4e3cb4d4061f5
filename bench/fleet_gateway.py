"""Sessions sent turn by turn through the code of `undrift serve`, without HTTP, with the recordings' clock."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.commits import Change, heard_commits
from bench.fleet_sessions import ReplaySession, ReplayTurn
from undrift import Settings
from undrift.proxy import GatewayConfig
from undrift.proxy.ask import Ask, Bypass, ManagedBody
from undrift.proxy.sessions import OpenSessions
from undrift.proxy.team.places import MemberStores
from undrift.stores.postgres.store import PostgresStore
from undrift.values.member import Member

__all__ = ["Replay", "ReplayGateway", "replayed"]

_CACHE_MS = 300_000


@dataclass(slots=True)
class Replay:
    """The figures of some sessions, sent turn by turn. Times are CPU milliseconds of this process."""

    turns: int = 0
    body_bytes: int = 0
    first: list[float] = field(default_factory=list)
    quiet: list[float] = field(default_factory=list)
    quiet_of_larger: list[float] = field(default_factory=list)
    pruning: list[float] = field(default_factory=list)
    calls: dict[str, list[int]] = field(default_factory=lambda: {"first": [], "quiet": [], "pruning": []})
    changes: list[Change] = field(default_factory=list)


class ReplayGateway:
    """The sessions of `undrift serve`, without HTTP, with the recordings' clock."""

    def __init__(self, home: str, files: Path, budget: int | str) -> None:
        self.now_ms = 0
        self._sent: dict[str, tuple[int, int]] = {}
        self.stores = MemberStores(home, files)
        settings = Settings(home=str(files), budget_tokens=budget, embedder="none")
        config = GatewayConfig(settings=settings, keeps_notes=False, clock=lambda: self.now_ms)
        self.open = OpenSessions(config, self.stores)

    @property
    def calls(self) -> int:
        """The round trips to the server so far."""
        homes = [getattr(one, "_home", None) for one in self.stores._stores.values()]
        return sum(one.server.calls for one in homes if one is not None)

    def send(self, session: ReplaySession, turn: ReplayTurn, answer: bytes = b"") -> None:
        """Prepare a request, and record its answer; without one, an answer with the usage of a provider that caches."""
        self.now_ms = turn.at_ms
        place = self.stores.place_for(Member(session.person, "shop", "fleet"))
        ask = Ask("anthropic", turn.body, None, "", "", time.monotonic() + 600, project=place, has_turn=True)
        with suppress(Bypass):
            managed = self.open.prepare(ask)
            self.open.record(managed, "anthropic", answer or self._answer(session, turn, managed))

    def _answer(self, session: ReplaySession, turn: ReplayTurn, managed: ManagedBody) -> bytes:
        """Return an answer: what stood in the last prompt was read from the cache, unless it was rewritten or five minutes passed."""
        last_ms, last = self._sent.get(session.name, (0, 0))
        tokens = managed.tokens_after
        read = last if last <= tokens and turn.at_ms - last_ms <= _CACHE_MS else 0
        self._sent[session.name] = (turn.at_ms, tokens)
        usage = {
            "input_tokens": 0,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": tokens - read,
            "output_tokens": 200,
        }
        return json.dumps({"type": "message", "role": "assistant", "content": [], "usage": usage}).encode()


def replayed(home: str, files: Path, sessions: Sequence[ReplaySession], budget: int | str) -> Replay:
    """Send every request of some sessions, and return what each took."""
    found, gateway = Replay(), ReplayGateway(home, files, budget)
    with heard_commits(PostgresStore, found.changes):
        for session in sessions:
            middle = len(session.turns[-1].body) / 2
            for number, turn in enumerate(session.turns):
                calls, commits, began = gateway.calls, len(found.changes), time.process_time()
                gateway.send(session, turn)
                spent = 1_000 * (time.process_time() - began)
                pruned = any(one.is_prune for one in found.changes[commits:])
                kind = "first" if not number else "pruning" if pruned else "quiet"
                getattr(found, kind).append(spent)
                found.calls[kind].append(gateway.calls - calls)
                if kind == "quiet" and len(turn.body) > middle:
                    found.quiet_of_larger.append(spent)
                found.turns, found.body_bytes = found.turns + 1, found.body_bytes + len(turn.body)
    gateway.open.close()
    return found
