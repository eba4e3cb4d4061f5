"""The file of a store: pages swapped, copied, blanked, cut off and overwritten, and a schema that is another one.

An input begins with ``store``; then comes a JSON list of what happens to a copy of a small home: ``["swap", 3, 5]``. What
is left is opened, read, searched and prepared from. Numbers count from the end of the file or of its pages as well.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
from hypothesis import strategies as st

from tests.builders import body, rounds, user
from tests.fuzz.surface import MEMORY, Surface, Take, head_of
from tests.paste_settings import PasteSettings
from tests.stores.builders import raw
from undrift.errors import RecallError, StoreError, UndriftError
from undrift.session.session import Session
from undrift.stores.sqlite import SqliteStore

__all__ = ["STORE_SURFACE"]

_PAGE_BYTES = 4_096
_FILES = ("undrift.db", "undrift.db-wal", "undrift.db-shm", "undrift.newest", "undrift.wal")
_SETTINGS = PasteSettings(
    budget_tokens=2_000, keep_tool_results=1, keep_user_text_tokens=40, token_counter="characters/4"
)
_HISTORY = [user("Read them. value 0"), *rounds(12, characters=2_000), user("And now?")]
_PIN = "The port is 8080."


def _filled(home: Path) -> dict[str, str]:
    """A home with a session that has let something go; what can be recalled from it, by reference."""
    with Session.open("s", home=home, settings=_SETTINGS, clock=lambda: 1_000) as session:
        pinned = session.pin("requirements", _PIN)
        prepared = session.prepare(body(*_HISTORY))
        session.remember("The deploy host is prod-1.", source="user")
        session.start_task("fix-login", content="Fix it.")
        refs = {action.ref for action in prepared.actions if action.ref} | {pinned}
        return {ref: session.recall(ref) for ref in sorted(refs)}


class _Store:
    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self._truth = _filled(folder / "whole")
        self._whole = {path.name: path.read_bytes() for path in (folder / "whole").iterdir() if path.is_file()}

    def take(self, data: bytes) -> None:
        words, rest = head_of(data)
        try:
            steps = json.loads(rest)
        except (ValueError, RecursionError):
            return
        if words != ["store"] or not isinstance(steps, list):
            return
        self._number += 1
        home = self._folder / f"home-{self._number}"
        home.mkdir(mode=0o700)
        for name, content in self._whole.items():
            (home / name).write_bytes(content)
        try:
            for step in steps[:8]:
                if isinstance(step, list) and step and isinstance(step[0], str):
                    _happens(home, step[0], step[1:])
            self._read(home)
            self._session(home)
            beside = {path.name for path in self._folder.iterdir()} - {"whole", home.name}
            assert not beside, f"written beside the home: {beside}"
        finally:
            for path in sorted(home.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            home.rmdir()

    def _read(self, home: Path) -> None:
        """Everything that the store gives out is true, or it is refused."""
        with suppress(StoreError), SqliteStore.open(home) as store:
            for ref, content in self._truth.items():
                with suppress(StoreError):
                    assert store.original(ref).entry.content == content, f"another content under {ref}"
            with suppress(StoreError):
                assert all(pin.entry.content == _PIN for pin in store.pins("s")), "another pin"
            for read in (store.decisions, store.buffer, store.tasks):
                with suppress(StoreError):
                    read("s")
            with suppress(StoreError):
                store.find("answer", limit=20)
            with suppress(StoreError):
                assert isinstance(store.integrity(), list | tuple)

    def _session(self, home: Path) -> None:
        """A session on it prepares, or says why not."""
        given = body(*_HISTORY)
        before = json.dumps(given)
        with suppress(UndriftError), Session.open("s", home=home, settings=_SETTINGS, clock=lambda: 2_000) as session:
            with suppress(UndriftError):
                prepared = session.prepare(given)
                for action in prepared.actions if prepared.body is not given else ():
                    with suppress(RecallError, StoreError):
                        content = session.recall(action.ref)
                        assert content == self._truth.get(action.ref, content), f"another content of {action.ref}"
            assert json.dumps(given) == before, "the request was changed in place"
            for ask in (
                lambda: session.search("deploy host"),
                lambda: session.brief("deploy host", 200),
                lambda: session.find("answer"),
                lambda: session.tasks(),
                lambda: session.history(),
                lambda: session.remember("Another line.", source="user"),
                lambda: session.complete_task("fix-login", "Fixed, and all is well now."),
            ):
                with suppress(UndriftError):
                    ask()


def _happens(home: Path, what: str, given: list[Any]) -> None:
    """Let one accident happen; one that makes no sense does nothing."""
    numbers = [one for one in given if type(one) is int] + [0, 0, 0]
    if what == "sql":
        with suppress(apsw.Error, ValueError), closing(raw(home)) as connection:
            connection.execute(str(given[0]) if given else "")
        return
    name = next((one for one in given if one in _FILES), "undrift.db")
    path = home / name
    content = bytearray(path.read_bytes() if path.is_file() else b"")
    if what == "remove":
        path.unlink(missing_ok=True)
        return
    _hurt(content, what, numbers, next((one for one in given if isinstance(one, str) and one not in _FILES), ""))
    path.write_bytes(content)


def _hurt(content: bytearray, what: str, numbers: list[int], text: str) -> None:
    pages = max(1, len(content) // _PAGE_BYTES)
    one, other = (slice(at % pages * _PAGE_BYTES, (at % pages + 1) * _PAGE_BYTES) for at in numbers[:2])
    place = numbers[0] % max(1, len(content))
    if what == "swap":
        content[one], content[other] = content[other], content[one]
    elif what == "copy":
        content[other] = content[one]
    elif what == "blank":
        content[one] = bytes(len(content[one]))
    elif what == "cut":
        del content[place:]
    elif what == "flip" and content:
        content[place] ^= 1 << numbers[1] % 8
    elif what == "put":
        new = text.encode("utf-8", "replace")
        content[place : place + len(new)] = new
    elif what == "append":
        content += text.encode("utf-8", "replace") * max(1, numbers[0] % 5_000)


@contextmanager
def _opened() -> Iterator[Take]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield _Store(Path(folder)).take


_numbers = st.integers(-70, 70) | st.integers(0, 300_000)
_sql = st.sampled_from(
    [
        "PRAGMA user_version = 99999",
        "PRAGMA user_version = 3",
        "PRAGMA user_version = -1",
        "PRAGMA application_id = 7",
        "UPDATE originals SET content = 'forged'",
        "UPDATE originals SET ref = session_id || ref",
        "UPDATE originals SET place = place + 1",
        "UPDATE originals SET place = 9223372036854775807",
        "UPDATE originals SET segment = 99",
        "UPDATE originals SET token_count = 'many', timestamp = 1e300",
        "UPDATE originals SET metadata = '{', masked = '['",
        "DELETE FROM originals",
        "DROP TABLE originals",
        "DROP TABLE decisions",
        "DROP TABLE operations",
        "DROP TABLE segments",
        "DROP TABLE memories",
        "UPDATE segments SET content = x'00'",
        "UPDATE segments SET content = zeroblob(1000000)",
        "UPDATE segments SET codec = 7",
        "UPDATE segments SET raw_bytes = 9223372036854775807",
        "UPDATE figures SET record = 'null'",
        "UPDATE search SET text = 'x'",
        "UPDATE decisions SET detail = '{'",
        "UPDATE decisions SET detail = x'ff'",
        "UPDATE decisions SET kind = 'no such kind'",
        "UPDATE operations SET payload = '['",
        "UPDATE operations SET payload = NULL",
        "UPDATE operations SET kind = 7, at_ms = 'noon'",
        "UPDATE operations SET seq = seq + 9000000000000000000",
        "UPDATE tasks SET record = '[]'",
        "UPDATE memories SET record = '{}'",
        "ALTER TABLE originals ADD COLUMN more",
        "ALTER TABLE originals RENAME TO others",
        "CREATE TRIGGER t AFTER INSERT ON operations BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER t AFTER INSERT ON operations BEGIN DELETE FROM originals; END",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA encoding = 'UTF-16'",
        "DELETE FROM scopes",
        "UPDATE scopes SET project = 'another'",
        "UPDATE readings SET record = x'ff', length = -1",
    ]
)
_step = st.one_of(
    st.tuples(st.sampled_from(["swap", "copy", "blank", "cut", "flip"]), _numbers, _numbers).map(list),
    st.tuples(st.sampled_from(["swap", "blank", "cut", "flip", "remove"]), st.sampled_from(_FILES), _numbers).map(list),
    st.tuples(st.sampled_from(["put", "append"]), _numbers, st.text(max_size=40), st.sampled_from(_FILES)).map(list),
    st.tuples(st.just("sql"), _sql).map(list),
)
STORE_SURFACE = Surface(
    "store", _opened, st.lists(_step, min_size=1, max_size=4).map(lambda steps: b"store\n" + json.dumps(steps).encode())
)
"""The file of a store, and what lies beside it."""
