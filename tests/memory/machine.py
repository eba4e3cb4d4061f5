"""A session's memory, played at random beside a plain model that keeps a copy of everything after each operation.

Law: the model knows nothing of how going back is done. What a session answers after it went back is held against what it
answered right after the operation that it went back to; of what two sessions changed, against a replay of those operations
of both that count. ``python -m tests.memory.machine EXAMPLES [words|vectors|lance]... [--seed=N] [--shrink]`` plays longer.
"""

import sys
import tempfile
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests import machines
from tests.builders import Json, assistant, body, call, result, user
from undrift.core.memory.restatements import RESTATED
from undrift.errors import RecallError, TaskError
from undrift.memory.parts import embedder_of
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.memory import MemoryEntry, reopened

__all__ = ["MACHINES", "LanceMachine", "MemoryMachine", "VectorMachine", "main", "play"]

START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
QUERIES = (
    "Which database does the billing service use?",
    "port of the gateway",
    "tests parser",
    "What did Ada say about the database?",
    "timeout",
)
SAID = (
    "The billing service uses PostgreSQL.",
    "The billing service uses SQLite.",
    "the  billing service uses   sqlite.",
    "Correction: the billing service uses MySQL, not SQLite.",
    "We may move the billing service to CockroachDB.",
    "The gateway listens on port 8080.",
    "The gateway listens on port 9090.",
    "The gateway no longer listens on port 8080.",
    "The tests run with pytest.",
    "The tests do not run with pytest.",
    "Which database is best?",
    "The parser reads one line of the tests at a time.",
    "The timeout is 30 seconds.",
    "The timeout is 60 seconds.",
    "Ada reviewed the parser.",
)
SUMMARY = "It was done as it was asked for; every file was read."
FIXED = body(user("Read the files."))
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what reaches the disk is another test's subject


@dataclass(frozen=True)
class Reading:
    """All that a session answers at one moment; the window is asked for where nothing is written by it any more."""

    memories: tuple[MemoryEntry, ...]
    hits: tuple[tuple[tuple[str, float], ...], ...] | None  # not known any more, once something was purged
    conflicts: tuple[tuple[str, str, str], ...]
    tasks: tuple[Any, ...]
    notes: str
    state: dict[str, dict[str, bytes]] | None  # likewise
    window: str | None


@dataclass
class Actor:
    """One session as the model has it."""

    session: Session
    body: list[Json]
    after: dict[int, Reading] = field(default_factory=dict)
    counted: tuple[int, ...] = ()
    counted_after: dict[int, tuple[int, ...]] = field(default_factory=lambda: {0: ()})
    others_after: dict[int, tuple[int, ...]] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    rewinds: list[tuple[int, int]] = field(default_factory=list)  # not taken back: its number, the one before


class MemoryMachine(RuleBasedStateMachine):
    """One home and two sessions; each is compared with itself as it was."""

    played: ClassVar[int] = 0
    """How often a session was taken back, or forward again, by all machines so far."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=_MEMORY)
        self.settings = Settings(token_counter="characters/4", embedder="none")
        self.now_ms = START_MS
        self.calls = 0
        self.log: dict[int, dict[str, MemoryEntry | None]] = {}
        self.known: dict[str, MemoryEntry] = {}
        self.actors = [Actor(self.opened(name), [user("Read the files.")]) for name in ("s", "other")]
        for actor in self.actors:
            actor.labels["start"] = actor.session.checkpoint("start")
            self.keep(actor)

    def teardown(self) -> None:
        for actor in getattr(self, "actors", ()):
            actor.session.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def opened(self, session_id: str) -> Session:
        return Session.open(session_id, home=self.folder.name, settings=self.settings, clock=self.clock)

    def clock(self) -> int:
        self.now_ms += 1_000
        return self.now_ms

    # ------------------------------------------------------------------------------------------------------- the model

    def read(self, actor: Actor, *, window: bool) -> Reading:
        session = actor.session
        shown = str(session.prepare(FIXED).body) if window else None
        found = [session.search(query, k=8) for query in QUERIES]
        return Reading(
            session.memories(),
            tuple(tuple((hit.entry.id, hit.decayed_score) for hit in hits) for hits in found),
            tuple((one.newer.id, one.older.id, one.reason) for one in session.conflicts()),
            session.tasks(),
            session.scratchpad.read(),
            session._store.state(session.id, None),
            shown,
        )

    def all_known(self) -> dict[str, MemoryEntry]:
        return {entry.id: entry for actor in self.actors for entry in actor.session.memories()}

    def log_news(self, actor: Actor, to: int | None = None) -> None:
        """Take in what the newest operations of a session did to the memories; `to` where they went back."""
        new = [one.seq for one in actor.session.history() if one.seq not in actor.counted_after]
        for seq in new:
            actor.counted = (*actor.counted, seq) if to is None else actor.counted_after[to]
            actor.counted_after[seq] = actor.counted
        if to is None and new:
            now = self.all_known()
            changed: dict[str, MemoryEntry | None] = dict.fromkeys(one for one in self.known if one not in now)
            changed |= {one: entry for one, entry in now.items() if self.known.get(one) != entry}
            assert not (changed and len(new) > 1)
            self.log[new[-1]] = changed
            self.known = now

    def replayed(self) -> dict[str, MemoryEntry]:
        """The active memories by the operations of all sessions that count, one after the other."""
        found: dict[str, MemoryEntry] = {}
        for seq in sorted(seq for actor in self.actors for seq in actor.counted if seq in self.log):
            for one, entry in self.log[seq].items():
                if entry is None:
                    found.pop(one, None)
                else:
                    found[one] = entry
        return found

    def keep(self, actor: Actor) -> None:
        """Copy everything as it is right after the newest operation, and again after those that windows cause."""
        for window in (False, True):
            if window:
                self.settle(actor)
            self.log_news(actor)
            seq = actor.session.history()[-1].seq
            reading = self.read(actor, window=window)
            assert seq == actor.session.history()[-1].seq
            actor.after[seq] = reading
            actor.others_after[seq] = self.other(actor).counted

    def settle(self, actor: Actor) -> None:
        """Prepare both windows until nothing is decided about them any more."""
        for _ in range(6):
            before = actor.session.history()[-1].seq
            actor.session.prepare(body(*actor.body))
            actor.session.prepare(FIXED)
            if actor.session.history()[-1].seq == before:
                return
        raise AssertionError("the same windows are decided about again and again")

    def other(self, actor: Actor) -> Actor:
        return self.actors[1 - self.actors.index(actor)]

    # ------------------------------------------------------------------------------------------------- what is written

    @rule(
        who=st.sampled_from([0, 0, 1]),
        content=st.sampled_from(SAID),
        trust=st.sampled_from(["tool", "assistant", "user", "spec"]),
        scope=st.sampled_from(["project", "project", "agent", "session"]),
        source=st.sampled_from(["", "plan", "talk"]),
        speaker=st.sampled_from([None, "Ada"]),
        since=st.sampled_from([None, None, 0, 5, 10]),
        until=st.sampled_from([None, None, 20]),
    )
    def remember(
        self, who: int, content: str, trust: Any, scope: Any, source: str, speaker: Any, since: Any, until: Any
    ) -> None:
        actor = self.actors[who]
        at = None if since is None else START_MS + since * HOUR_MS
        end = None if until is None else START_MS + until * HOUR_MS
        before = {entry.id: entry for entry in actor.session.memories()}
        stored = actor.session.remember(
            content, trust=trust, scope=scope, source=source, speaker=speaker, valid_from_ms=at, valid_to_ms=end
        )
        after = {entry.id: entry for entry in actor.session.memories()}
        assert after[stored.id] == stored
        assert after.keys() == before.keys() | {stored.id}
        for one, entry in before.items():  # of what was there, marks and the end of validity alone may have changed
            assert after[one].content == entry.content
            assert not entry.is_contradicted or after[one].contradicted_by_entry_id == entry.contradicted_by_entry_id
        for hit in actor.session.search(content, k=20):
            assert hit.entry == after[hit.entry.id]
        self.keep(actor)

    @rule(
        who=st.sampled_from([0, 0, 1]),
        label=st.sampled_from(["a", "b", ""]),
        notes=st.sampled_from([None, "", "# notes\n", "## plan\nread on\n"]),
    )
    def checkpoint(self, who: int, label: str, notes: str | None) -> None:
        actor = self.actors[who]
        if notes is not None:
            actor.session.scratchpad.write(notes)
        actor.labels[label] = actor.session.checkpoint(label)
        assert actor.labels[label] == actor.session.history()[-1].seq
        self.keep(actor)

    @rule(who=st.sampled_from([0, 0, 1]), text=st.sampled_from(["Keep it small.", "Use tabs."]))
    def pin(self, who: int, text: str) -> None:
        self.actors[who].session.pin("requirements", text)
        self.keep(self.actors[who])

    @rule(who=st.sampled_from([0, 0, 1]), task=st.sampled_from(["t1", "t2"]), calls=st.integers(0, 2))
    def task(self, who: int, task: str, calls: int) -> None:
        """Take a task up and call tools, or complete the one in progress."""
        actor = self.actors[who]
        under_way = [one.id for one in actor.session.tasks() if one.status == "in_progress"]
        try:
            if under_way:
                task = under_way[0]
                actor.session.complete_task(task, SUMMARY)
            else:
                actor.session.start_task(task)
        except TaskError:
            return
        actor.tasks[task] = actor.session.history()[-1].seq
        for _ in range(0 if under_way else calls):
            self.calls += 1
            name = f"c{self.calls}"
            actor.body += [assistant(call(name, path="a.py")), user(result(name, "7 passed " * 40))]
        self.keep(actor)

    @rule()
    def restart(self) -> None:
        before = [self.read(actor, window=True) for actor in self.actors]
        for actor in self.actors:
            actor.session.close()
        for actor in self.actors:
            actor.session = self.opened(actor.session.id)
        assert [self.read(actor, window=True) for actor in self.actors] == before

    @rule()
    def make_the_search_anew(self) -> None:
        before = [self.read(actor, window=False) for actor in self.actors]
        self.actors[0].session._repository.rebuild()
        assert [self.read(actor, window=False) for actor in self.actors] == before

    # --------------------------------------------------------------------------------------------------- back in time

    @rule(who=st.sampled_from([0, 0, 1]), place=st.floats(0, 1), twice=st.booleans())
    def rewind(self, who: int, place: float, twice: bool) -> None:
        actor = self.actors[who]
        known = sorted({0, *actor.after})
        self.goes_back(actor, known[int(place * (len(known) - 1))], twice=twice)

    @rule(who=st.sampled_from([0, 0, 1]), label=st.sampled_from(["start", "a", "b", "t1", "t2"]))
    def rewind_to_a_name(self, who: int, label: str) -> None:
        actor = self.actors[who]
        if label in actor.labels or label in actor.tasks:
            expected = (actor.labels if label in actor.labels else actor.tasks)[label]
            self.goes_back(actor, label, expected)

    @rule(who=st.sampled_from([0, 0, 1]), place=st.floats(0, 1))
    def known_at(self, who: int, place: float) -> None:
        """What was known then is told without going back."""
        actor = self.actors[who]
        known = sorted(actor.after)
        seq = known[int(place * (len(known) - 1))]
        expected = actor.after[seq]
        assert actor.session.memories(known_at=seq) == expected.memories
        found = tuple((one.newer.id, one.older.id, one.reason) for one in actor.session.conflicts(known_at=seq))
        assert found == expected.conflicts
        for word in ("timeout", "parser", "gateway"):
            hits = {hit.entry.id for hit in actor.session.search(word, k=100, known_at=seq)}
            assert hits <= {entry.id for entry in expected.memories}
            assert hits >= {entry.id for entry in expected.memories if word in entry.content}

    @rule(who=st.sampled_from([0, 0, 1]))
    def undo(self, who: int) -> None:
        actor = self.actors[who]
        if not actor.rewinds:
            try:
                actor.session.undo_rewind()
            except RecallError:
                return
            raise AssertionError("there was nothing to take back")
        _, before = actor.rewinds.pop()
        done = actor.session.undo_rewind()
        assert done.to_seq == before
        self.check(actor, before)

    @rule(who=st.sampled_from([0, 0, 1]), place=st.floats(0, 1), really=st.sampled_from([False, False, True]))
    def purge(self, who: int, place: float, really: bool) -> None:
        """A memory is destroyed: no moment has it any more, and what was said beside it stays."""
        actor = self.actors[who]
        entries = actor.session.memories()
        if not entries or not really:
            return
        gone = entries[int(place * (len(entries) - 1))].id
        assert actor.session.purge(gone).kind == "memory"
        for changed in self.log.values():
            changed.pop(gone, None)
            for one, entry in changed.items():
                changed[one] = None if entry is None else without(entry, gone)
        self.known = {one: without(entry, gone) for one, entry in self.known.items() if one != gone}
        for each in self.actors:
            each.after = {seq: purged(reading, gone) for seq, reading in each.after.items()}
            each.session.prepare(FIXED)
        self.log_news(actor)
        assert self.known == self.replayed() == self.all_known()
        self.keep(actor)

    def goes_back(self, actor: Actor, to: int | str, expected: int | None = None, *, twice: bool = False) -> None:
        before = actor.session.history()[-1].seq
        done = actor.session.rewind(to)
        assert done.to_seq == (to if expected is None else expected)
        actor.rewinds.append((done.seq, before))
        if twice:
            first = self.read(actor, window=False)
            again = actor.session.rewind(to)
            assert (again.to_seq, again.closed, again.opened) == (done.to_seq, {}, {})
            assert self.read(actor, window=False) == first
            actor.rewinds.append((again.seq, done.seq))
        self.check(actor, done.to_seq)

    def check(self, actor: Actor, to: int) -> None:
        """Hold what is answered now against what was answered then."""
        type(self).played += 1
        self.log_news(actor, to)
        self.known = self.all_known()
        assert self.known == self.replayed()
        expected = actor.after.get(to)
        same = expected is not None and actor.others_after[to] == self.other(actor).counted
        found = self.read(actor, window=False)
        names = [
            one.name for one in fields(Reading) if expected is not None and getattr(expected, one.name) is not None
        ]
        names = [name for name in names if name != "window"]
        if not same:
            names = ["tasks", "notes"]
        if expected is not None:
            assert {name: getattr(found, name) for name in names} == {name: getattr(expected, name) for name in names}
            if expected.window is not None:
                assert str(actor.session.prepare(FIXED).body) == expected.window
        self.keep(actor)


class VectorMachine(MemoryMachine):
    """The same, and memories are also found by their vectors; the model is loaded once."""

    embedder: ClassVar[Any] = None

    def opened(self, session_id: str) -> Session:
        session = super().opened(session_id)
        if VectorMachine.embedder is None:
            VectorMachine.embedder = embedder_of("wordllama")
        session._repository._search.embedder = VectorMachine.embedder
        return session


class LanceMachine(VectorMachine):
    """The same, with LanceDB's index of the vectors; it gets them four at a time."""

    def opened(self, session_id: str) -> Session:
        from undrift.stores import lance

        lance._BATCH = 4
        self.settings = replace(self.settings, vector_index="lance")
        return super().opened(session_id)


MACHINES: dict[str, type[MemoryMachine]] = {"words": MemoryMachine, "vectors": VectorMachine, "lance": LanceMachine}


def without(entry: MemoryEntry, gone: str) -> MemoryEntry:
    """Return a memory without what it tells of one that was purged; what only said the same in other words is active."""
    if entry.contradicted_by_entry_id == gone and entry.contradiction_rule == RESTATED:
        entry = reopened(entry)
    if "conflicts" not in entry.metadata:
        return entry
    kept = [one for one in entry.metadata["conflicts"] if one["with"] != gone]
    return replace(entry, metadata={**entry.metadata, "conflicts": kept})


def purged(reading: Reading, gone: str) -> Reading:
    """Return what is still known of a moment, once a memory was purged."""
    entries = tuple(without(entry, gone) for entry in reading.memories if entry.id != gone)
    conflicts = tuple(one for one in reading.conflicts if gone not in one)
    return replace(reading, memories=entries, conflicts=conflicts, hits=None, state=None)


def play(name: str, examples: int, first_seed: int, steps: int = 40, *, shrinks: bool = False) -> int:
    """Play a machine; return how often it went back.

    Raises:
        AssertionError: An answer differs; Hypothesis has printed the steps, this prints the seed.
    """
    machine = MACHINES[name]
    before = machine.played
    machines.play(machine, first_seed, examples=examples, steps=steps, shrinks=shrinks, said=f"{name}: ")
    return machine.played - before


def main(arguments: list[str]) -> int:
    """Play all machines, or those named, so many examples each; print a line for each."""
    shrinks = "--shrink" in arguments
    first_seed, (examples, *names) = machines.asked_for(arguments)
    for name in names or ["words"]:
        count = play(name, int(examples), first_seed, shrinks=shrinks)
        print(f"{name}: {count} times back or forward, 0 differences", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
