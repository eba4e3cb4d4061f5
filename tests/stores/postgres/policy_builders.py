"""A record of every kind for one person, every reading call of the contract, and a reader who says who it is not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.stores.builders import original, prune
from tests.stores.contract.test_memory_search import Letters
from tests.stores.on_server import address_of, server
from undrift.core.tasks.life import change, tag
from undrift.errors import GoneError, RecallError, StoreError
from undrift.stores.base import Context, Document, Mark, RunChange
from undrift.stores.contract import Store
from undrift.stores.memory_contract import MemoryReading, SearchedMemories
from undrift.stores.memory_filter import ALL
from undrift.stores.memory_values import MemoryLine, MemoryLines, MemoryUpdate, Viewer, content_digest
from undrift.values.facts import FactChange, FactVersion, SessionFact, create_fact_id
from undrift.values.memory import MemoryEntry, MemoryScope, Slot
from undrift.values.readings import StretchReading
from undrift.values.scope import Scope
from undrift.values.window import Moment, Tasks

__all__ = [
    "ARCHIVED",
    "DIGESTS",
    "EVERYTHING",
    "LETTERS",
    "ME",
    "MEMORIES",
    "OUTSIDERS",
    "READS",
    "SHARED",
    "SLOT",
    "VICTIM",
    "WRITES",
    "fill",
    "forged",
    "of_everybody",
    "owner",
    "seen",
    "shown",
]

LETTERS: Any = Letters()

VICTIM = Scope(organisation="acme", person="ann", project="p1")
OUTSIDERS = {
    "organisation": replace(VICTIM, organisation="rival"),
    "person": replace(VICTIM, person="bob"),
    "project": replace(VICTIM, project="p2"),
}
ME = Viewer("main", "s")
WORDS = "the zyzzyva reads abc"
ARCHIVED = original("gone", WORDS)
PINNED = original("pin", WORDS, source="pin")
BUFFERED = original("held", WORDS, source="buffer")
REFS = [ARCHIVED.ref, PINNED.ref, BUFFERED.ref]
MEMORIES = ["of-user", "of-agent", "of-session"]
SHARED = "of-project"
SLOT = Slot("zyzzyva", "reads", "", "abc")
DIGESTS = {name: content_digest(f"{WORDS} {name}") for name in [*MEMORIES, SHARED]}
READING = StretchReading("form", "", "a" * 64, 10, b"{}")
NOTHING: tuple[Any, ...] = (None, False, 0, "", (0, 1), (0, [0]))


class Reads(NamedTuple):
    """Every reading call of the contract, by its name; each returns what it sees."""

    store: dict[str, Callable[[Store], Any]]
    memories: dict[str, Callable[[MemoryReading], Any]]
    search: dict[str, Callable[[SearchedMemories], Any]]
    documents: dict[str, Callable[[Any], Any]]


READS = Reads(
    store={
        "operations": lambda store: store.operations("s"),
        "last_seq": lambda store: store.last_seq("s"),
        "original": lambda store: [one for ref in REFS for one in looked_up(store.original, ref)],
        "by_entry": lambda store: [
            one for name in ("gone", "pin", "held") for one in looked_up(store.by_entry, "s", name)
        ],
        "buffer": lambda store: store.buffer("s"),
        "pins": lambda store: store.pins("s"),
        "find": lambda store: store.find("zyzzyva"),
        "decided": lambda store: store.decided("s"),
        "decisions": lambda store: store.decisions("s"),
        "decision": lambda store: store.decision(ARCHIVED.ref),
        "readings": lambda store: store.readings("s", "form", lambda heads: [number for number, _ in heads]),
        "tasks": lambda store: [*store.tasks("s").by_id, *store.tasks("s").tags],
        "run_records": lambda store: store.run_records("s"),
        "facts": lambda store: store.facts("s"),
        "facts_state": lambda store: store.facts_state("s"),
        "find_marks": lambda store: store.find_marks(["mark"]),
        "state": lambda store: [key for some in store.state("s").values() for key in some],
        "notes_at": lambda store: store.notes_at("s", 99),
        "sweepable": lambda store: store.sweepable(),
        "sessions": lambda store: store.sessions(),
        "newest_session": lambda store: store.newest_session(),
        "ratings": lambda store: store.ratings(10),
        "document_owners": lambda store: store.document_owners("kind"),
        "next_memory_seq": lambda store: store.next_memory_seq() > 1,
    },
    memories={
        "by_id": lambda memories: memories.by_id(MEMORIES),
        "by_slot": lambda memories: memories.by_slot([(SLOT.relation, SLOT.entity)], ME),
        "by_relation": lambda memories: memories.by_relation([SLOT.relation], ME),
        "by_digest": lambda memories: [one for name in MEMORIES for one in memories.by_digest(DIGESTS[name], ME)],
        "is_forgotten": lambda memories: memories.is_forgotten(content_digest("forgotten")),
        "count_learned": lambda memories: memories.count_learned("learned:"),
        "seen": lambda memories: [one for who in (ME, None) for one in memories.seen(who)],
        "disputing": lambda memories: memories.disputing(ME),
    },
    search={
        "match": lambda index: index.match(["zyzzyva"], 10),
        "like": lambda index: index.like(["zyzzyva"], 10),
        "ids": lambda index: index.ids(range(50)),
        "nearest": lambda index: index.nearest([1.0, 1.0, 1.0], 10, ALL),
        "passages": lambda index: index.passages([1.0, 1.0, 1.0], range(50)),
        "places": lambda index: index.places(range(50)),
        "frequencies": lambda index: index.frequencies(["zyzzyva"]),
        "speakers": lambda index: index.speakers(["eve"]),
        "visible": lambda index: index.visible(MEMORIES, ME),
    },
    documents={
        "find": lambda documents: documents.find("kind", ("a",)),
        "under": lambda documents: documents.under("kind"),
        "numbers": lambda documents: documents.numbers("kind"),
    },
)
WRITES = {"commit", "rewind", "rewind_facts", "add_marks", "change_documents", "purge", "clean", "sweep", "rebuild_search",
          "pack", "integrity", "close", "scope", "memories", "search_memories", "documents"}  # fmt: skip
"""Names of the contract that write, or that lead to those above."""
SHOWS_NOTHING = {"passages"}
"""Empty even for the owner: short texts have no passages."""


def looked_up(read: Callable[..., Any], *names: str) -> list[Any]:
    try:
        return [read(*names)]
    except (GoneError, RecallError):
        return []


def seen(read: Callable[..., Any], *of: Any) -> bool:
    """Tell whether a call shows anything; a record that cannot be opened was there."""
    try:
        found = read(*of)
    except (RecallError, GoneError, LookupError):
        return False
    except StoreError:
        return True
    return bool(found) and found not in NOTHING


def shown(store: Store) -> set[str]:
    """Return the names of the calls that show anything."""
    found = {name for name, read in READS.store.items() if seen(read, store)}
    found |= {f"memories.{name}" for name, read in READS.memories.items() if seen(read, store.memories)}

    def in_search(read: Callable[[Any], Any]) -> Any:
        with store.search_memories(LETTERS).open() as index:
            return read(index)

    def in_documents(read: Callable[[Any], Any]) -> Any:
        with store.documents("s") as documents:
            return read(documents)

    found |= {f"search.{name}" for name, read in READS.search.items() if seen(in_search, read)}
    return found | {f"documents.{name}" for name, read in READS.documents.items() if seen(in_documents, read)}


def of_everybody(who: str) -> set[str]:
    """Return what is everybody's in a project: the counter of its memories, without any of them."""
    return {"next_memory_seq"} if who == "person" else set()


EVERYTHING = {
    *READS.store,
    *(f"memories.{name}" for name in READS.memories),
    *(f"search.{name}" for name in READS.search.keys() - SHOWS_NOTHING),
    *(f"documents.{name}" for name in READS.documents),
}


def fill(store: Store, *, shares: bool = False) -> None:
    """Write a record of every kind; `shares`: also a memory for everybody in the project."""
    context = Context(store.scope.of("s"), 1)
    made = change(Tasks(), "t", "main", {"content": "do t", "status": "in_progress"}, Moment("m0", 0))
    _, tags = tag(made.tasks, "main", [("c1", "bash")])
    fact = FactVersion(
        1, SessionFact(create_fact_id("b", "is", "green"), "b", "is", "green", tags=("test",), valid_from=5, run_id="s")
    )
    store.commit(context, "prune", [ARCHIVED, PINNED, BUFFERED, prune(ARCHIVED), *made.updates, *tags, READING,
                                    FactChange(None, fact), RunChange("run", None, {"a": 1})],
                 payload={"scratchpad": "notes"})  # fmt: skip
    store.commit(context, "rate_search", payload={"returned": 2, "useful": 1})
    store.add_marks("s", [Mark("mark", "turn")])
    store.change_documents("s", lambda now: now.put("kind", Document(("a",), {}, b"x")), at_ms=1, payload={})
    owners: dict[str, MemoryScope] = {
        "of-user": "user",
        "of-agent": "agent",
        "of-session": "session",
        SHARED: "project",
    }
    entries = [
        MemoryEntry(
            name,
            f"{WORDS} {name}",
            scope=scope,
            agent="main",
            session_id="s",
            slots=(SLOT,),
            source="learned:x",
            speaker="eve",
            seq=5,
            metadata={"learned": True, "conflicts": ["other"]},
        )
        for name, scope in owners.items()
        if shares or name != SHARED
    ]
    lines = [MemoryLine(one.id, one.content, source=one.source, speaker=one.speaker, seq=5) for one in entries]
    vectors = LETTERS.embed([one.content for one in entries])
    updates = [MemoryUpdate(None, one) for one in entries]
    store.commit(context, "remember", [*updates, MemoryLines(lines, "letters", 3, vectors)])
    forgotten = MemoryEntry("forgotten", "forgotten", scope="user", session_id="s")
    store.commit(context, "remember", [MemoryUpdate(None, forgotten)])
    store.commit(context, "forget", [MemoryUpdate(forgotten, None)])


class Forged:
    """A server that takes every statement of another person, and says who really asks."""

    def __init__(self, real: Any, caller: Any) -> None:
        self.address, self.calls = real.address, 0
        self._real, self._caller = real, caller

    def read(self, _: Any, *statements: Any) -> Any:
        return self._real.read(self._caller, *statements)

    def write(self, _: Any, *statements: Any, is_durable: bool = True) -> Any:
        return self._real.write(self._caller, *statements, is_durable=is_durable)

    def transaction(self, _: Any) -> Any:
        return self._real.transaction(self._caller)

    def close(self) -> None:
        """The real one is closed by its own store."""


@contextmanager
def forged(victim: Any, outsider: Any) -> Iterator[Any]:
    """Yield a store with all the victim's numbers and keys, whose connection is the outsider's."""
    from undrift.stores.postgres.store import PostgresStore

    home = replace(victim._home, server=Forged(outsider._home.server, outsider._home.caller))
    yield PostgresStore(home, victim.scope)


@contextmanager
def owner(home: Path) -> Iterator[Any]:
    """Yield a connection that no policy concerns, with the home's schema first."""
    import psycopg

    from undrift.stores.postgres.address import ServerAddress

    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f"SET search_path TO {ServerAddress.parsed(address_of(home)).schema}")
        yield connection
