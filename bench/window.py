"""What one added entry costs in a window that is full, by the number of entries in it."""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from random import Random

from bench.figures import Figure, Report, cpu_ms, interleaved, ratio_claim
from undrift import ContextEntry, Settings, TieredMemoryManager
from undrift.core.text.refs import ref_of
from undrift.core.window.incremental import IncrementalWindow
from undrift.core.window.prune import prune
from undrift.stores.base import Context
from undrift.stores.contract import Store
from undrift.stores.opening import open_store
from undrift.values.scope import Scope
from undrift.values.window import Original

__all__ = ["measure"]

SIZES = (1_000, 10_000, 100_000)
RESCANNED = (1_000, 10_000)  # 100,000 take a second a call, and show nothing more
KEEP_TOOL_RESULTS = 5
ADDS = 2_000  # into the window alone, a round
STORED_ADDS = 100  # into the buffer over a real store, a round
GROWTH_LIMIT = 3.0
RESCAN_LEAST = (100.0, 1_000.0)  # at 1,000 and at 10,000 entries

_TYPES = ("reasoning", "tool_result", "reasoning", "summary", "reasoning", "tool_result")
_CONTENT = "def test_the_token_of_a_session_is_refreshed_before_it_ends(session, clock):  # line {}\n" * 4


def entries(seed: int) -> Iterator[ContextEntry]:
    """Yield entries without end: three kinds, a hundred to four hundred tokens, some in pairs, time going on."""
    random = Random(seed)
    for number in itertools.count():
        metadata = {"pair_id": f"p{number // 6}"} if number % 6 in (0, 1) else None
        yield ContextEntry(
            f"e{number}",
            _TYPES[number % 6],  # type: ignore[arg-type]
            _CONTENT.format(number, number, number, number),
            random.randint(100, 400),
            number,
            metadata,
        )


def measure(rounds: int = 9) -> Report:
    """Measure the window alone, the buffer over a store, and the plain re-scan."""
    report = Report()
    names = {f"add and prune, window of {n:,}": _window(n) for n in SIZES}
    scans = {f"prune by full re-scan of {n:,}": _scan(n) for n in RESCANNED}
    found = {f.name: f for f in interleaved(rounds, {**names, **scans}, "us")}
    report.figures += found.values()
    small, middle, large = (found[name] for name in names)
    report.claims.append(ratio_claim("added entry, window of 100,000 against 1,000", large, small, limit=GROWTH_LIMIT))
    for name, incremental, least in zip(scans, (small, middle), RESCAN_LEAST, strict=True):
        report.claims.append(ratio_claim(f"{name} against an added entry", found[name], incremental, least=least))
    stored = _stored(rounds)
    report.figures += stored
    report.claims.append(
        ratio_claim("TieredMemoryManager.add_entry, 100,000 against 1,000", stored[-1], stored[0], limit=GROWTH_LIMIT)
    )
    return report


def _window(size: int) -> Callable[[], float]:
    """A window of `size` entries whose budget is full: each added entry drives out about one."""
    stream = entries(size)
    window = IncrementalWindow(keep_tool_results=KEEP_TOOL_RESULTS, entries=itertools.islice(stream, size))
    budget = window.total_tokens

    def act(fresh: list[ContextEntry]) -> None:
        for entry in fresh:
            window.add(entry)
            window.prune(budget)

    def measure_once() -> float:
        fresh = list(itertools.islice(stream, ADDS))
        cost = 1_000 * cpu_ms(lambda: act(fresh)) / ADDS
        if not 0.9 * size < len(window) < 1.1 * size:
            raise AssertionError(f"no steady state: {len(window)} entries, not about {size}")
        return cost

    measure_once()  # the first round pays for what is new to the interpreter
    return measure_once


def _scan(size: int) -> Callable[[], float]:
    """The plain rule on `size` entries and one more, as the seed runs it after each added entry."""
    window = list(itertools.islice(entries(size), size + 1))
    budget = sum(e.token_count for e in window[1:])
    calls = max(1, 5_000 // size)

    def act() -> None:
        for _ in range(calls):
            prune(window, budget, keep_tool_results=KEEP_TOOL_RESULTS)

    return lambda: 1_000 * cpu_ms(act) / calls


def _stored(rounds: int) -> list[Figure]:
    """The whole way of an entry: masked, written, added, and what it drives out written as well."""
    with tempfile.TemporaryDirectory() as home, open_store(home, Scope()) as store:
        measures = {f"add_entry over a store, buffer of {n:,}": _manager(store, n) for n in SIZES}
        return interleaved(rounds, measures, "us")


def _manager(store: Store, size: int) -> Callable[[], float]:
    session_id, stream = f"of-{size}", entries(size)
    known = list(itertools.islice(stream, size))
    for start in range(0, size, 10_000):
        batch = [Original(ref_of(session_id, e.id), session_id, "buffer", e) for e in known[start : start + 10_000]]
        store.commit(Context(Scope(session_id), time.time_ns() // 1_000_000), "add", batch)
    settings = Settings(
        prune_threshold_tokens=sum(e.token_count for e in known),
        prune_target_ratio=1,  # the dearest: every added entry prunes
        keep_tool_results=KEEP_TOOL_RESULTS,
    )
    manager = TieredMemoryManager(session_id=session_id, settings=settings, store=store)
    if len(manager.entries) != size:
        raise AssertionError(f"the buffer holds {len(manager.entries)} entries, not {size}")

    def act(fresh: list[ContextEntry]) -> None:
        for entry in fresh:
            manager.add_entry(entry)

    def measure_once() -> float:
        fresh = list(itertools.islice(stream, STORED_ADDS))
        return 1_000 * cpu_ms(lambda: act(fresh)) / STORED_ADDS

    measure_once()
    return measure_once
