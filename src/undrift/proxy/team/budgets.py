"""The limits of people and projects: requests in a minute, tokens and dollars in a day.

Law: a budget refuses requests once it is used up; a running answer is never cut. A fault of a counter refuses no request.
"""

import asyncio
import json
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from undrift.errors import StoreError
from undrift.proxy.team.buckets import Buckets
from undrift.values.member import DayCounts, Member
from undrift.values.serving import Limit, ServeConfig
from undrift.values.shown import many

__all__ = ["LocalDayCounts", "MemberAllowance", "TeamRefusal"]

_log = logging.getLogger("undrift.proxy")

_NEWS_S = 5.0  # so old may the total be that other gateways add to
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class TeamRefusal:
    """The refusal of a request by a limit.

    `reason`: ``rate`` or ``budget``. `message`: for people. `wait_s`: after so many seconds the client may come back.
    """

    reason: str
    message: str
    wait_s: int


class LocalDayCounts:
    """Counters of this process alone, for one gateway; they start again with it. Any thread may use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[str, tuple[str, int]] = {}

    def add(self, key: str, day: str, amount: int) -> int:
        """Add to a counter, and return its total. See `DayCounts`."""
        with self._lock:
            known, total = self._totals.get(key, (day, 0))
            total = amount + (total if known == day else 0)  # what was counted on another day is asked for no more
            if amount and known <= day:  # one that was late at midnight takes nothing from the new day
                self._totals[key] = day, total
            return total


@dataclass(frozen=True, slots=True)
class _DayBudget:
    """One budget of one owner: its counter, its limit, and how its amounts are written."""

    counter: str
    owner: str
    most: int
    is_money: bool

    def shown(self, amount: int) -> str:
        return f"${amount / _MICRO:,.2f}" if self.is_money else f"{amount:,} tokens"


class MemberAllowance:
    """The limits of all members, and what they have used. `wall_s`: Unix seconds; `clock`: seconds that only grow."""

    def __init__(
        self,
        config: ServeConfig,
        counts: DayCounts,
        *,
        wall_s: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counts = counts
        self._wall_s, self._clock = wall_s, clock
        self._limits = {"person": config.person_limit, "project": config.project_limit}
        self._buckets = {kind: Buckets(limit.requests_per_minute, limit.burst) for kind, limit in self._limits.items()}
        self._totals: dict[str, tuple[str, float, int]] = {}  # by counter: the day, when it was asked for, the total

    async def refusal(self, member: Member) -> TeamRefusal | None:
        """Count a request of a member; return why it is not carried out. None means: it may be."""
        now_s = self._clock()
        owners = {kind: _owner(kind, member) for kind in self._limits}
        waits = {
            kind: self._buckets[kind].wait_s(f"{member.organisation}/{owner}", now_s) for kind, owner in owners.items()
        }
        if (wait_s := max(waits.values())) > 0:
            kind = max(waits, key=lambda one: waits[one])
            limit = many(self._limits[kind].requests_per_minute or 0, "request")
            message = f"{owners[kind]} may send {limit} a minute; try again in {math.ceil(wait_s)} s"
            return TeamRefusal("rate", message, math.ceil(wait_s))
        for budget in self._budgets(member):
            total = await self._total(budget.counter, now_s)
            if total >= budget.most:
                return self._over(budget, total)
        for kind, owner in owners.items():
            self._buckets[kind].take(f"{member.organisation}/{owner}", now_s)
        return None

    def spent(self, member: Member, tokens: int, usd: float | None) -> None:
        """Count what an answer used; a worker calls it. `usd`: None: the model's price is not known."""
        day = self._day()
        for budget in self._budgets(member):
            amount = round((usd or 0.0) * _MICRO) if budget.is_money else tokens
            if not amount:
                continue
            try:
                total = self._counts.add(budget.counter, day, amount)
            except StoreError as error:
                _say_fault(error)
            else:
                if self._totals.get(budget.counter, ("",))[0] <= day:
                    self._totals[budget.counter] = day, self._clock(), total

    def _budgets(self, member: Member) -> Iterator[_DayBudget]:
        for kind, limit in self._limits.items():
            yield from _budgets_of(limit, kind, member)

    async def _total(self, counter: str, now_s: float) -> int:
        """Return the total of today; it is asked for again when it is old."""
        day = self._day()
        known, then_s, total = self._totals.get(counter, ("", -math.inf, 0))
        if known == day and now_s - then_s < _NEWS_S:
            return total
        try:
            total = await asyncio.to_thread(self._counts.add, counter, day, 0)
        except StoreError as error:
            _say_fault(error)
            total = total if known == day else 0
        self._totals[counter] = day, now_s, total
        return total

    def _over(self, budget: _DayBudget, total: int) -> TeamRefusal:
        now = datetime.fromtimestamp(self._wall_s(), UTC)
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        message = (
            f"{budget.owner} has used {budget.shown(total)} of {budget.shown(budget.most)} today; the budget starts "
            "again at 00:00 UTC"
        )
        return TeamRefusal("budget", message, max(1, math.ceil((midnight - now).total_seconds())))

    def _day(self) -> str:
        return datetime.fromtimestamp(self._wall_s(), UTC).date().isoformat()


def _name(kind: str, member: Member) -> str:
    return member.person if kind == "person" else member.project


def _owner(kind: str, member: Member) -> str:
    return f"{kind} {_name(kind, member)}"


def _budgets_of(limit: Limit, kind: str, member: Member) -> Iterator[_DayBudget]:
    counter, owner = f"{kind}:{member.organisation}/{_name(kind, member)}", _owner(kind, member)
    if limit.tokens_per_day is not None:
        yield _DayBudget(f"{counter}:tokens", owner, limit.tokens_per_day, is_money=False)
    if limit.usd_per_day is not None:
        yield _DayBudget(f"{counter}:usd", owner, round(limit.usd_per_day * _MICRO), is_money=True)


def _say_fault(error: StoreError) -> None:
    _log.error("%s", json.dumps({"event": "fault", "reason": "budget", "at": str(error)[:300]}))
