"""Every index of vectors keeps one contract: exact answers, found at once, filtered first, also from another process."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.stores.vector_builders import DIMENSION, connection_of, drop, found, made, put, truth
from undrift.errors import DimensionError
from undrift.stores import exact_index, memory_search, vectors
from undrift.stores.exact_index import Copy, ExactIndex
from undrift.stores.lance import LanceIndex
from undrift.stores.memory_filter import ALL, Filter
from undrift.stores.memory_values import MemoryLine
from undrift.stores.migrations import migrate, transaction
from undrift.stores.vectors import Batch, VectorIndex, VectorTable

np = pytest.importorskip("numpy", reason="needs the extra `vectors`")

Opener = Callable[..., VectorIndex]


def exact(table: VectorTable, _: Path) -> VectorIndex:
    return ExactIndex(table)


def lance(table: VectorTable, home: Path) -> VectorIndex:
    pytest.importorskip("lancedb", reason="needs the extra `lancedb`: make lance")
    return LanceIndex(table, home / "vectors")


@pytest.fixture(params=[pytest.param(exact, id="exact"), pytest.param(lance, id="lancedb")])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    opened: list[apsw.Connection] = []

    def connect(embedder: str = "e", dimension: int = DIMENSION) -> VectorIndex:
        connection = apsw.Connection(str(tmp_path / "undrift.db"))
        connection.set_busy_timeout(20_000)
        opened.append(connection)
        migrate(connection)
        return request.param(VectorTable(connection, embedder, dimension), tmp_path)

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def index(opener: Opener) -> VectorIndex:
    return opener()


def test_an_empty_index_finds_nothing(index: VectorIndex):
    assert index.search(made(1)[0], 5) == []
    assert index.seq == 0


@pytest.mark.parametrize("count", [1, 40, 700])
def test_the_nearest_are_found_by_the_very_next_search(index: VectorIndex, count: int):
    given = made(count)
    numbers = put(index, given)
    for query in made(5, seed=2):
        assert found(index, query, 10) == truth(given, numbers, query, 10)
    ((number, score),) = index.search(given[0], 1)
    assert (number, round(score, 5)) == (numbers[0], 1.0)
    assert index.seq == count - 1
    assert found(index, given[0], 0) == []


def test_rows_that_come_one_by_one_between_searches_are_all_found(index: VectorIndex):
    given = made(600)
    numbers: list[int] = []
    for n, vector in enumerate(given):
        numbers += put(index, vector[None], first=n)
        if n % 7 == 0:
            assert found(index, vector, 1) == [numbers[-1]]
    query = made(1, seed=3)[0]
    assert found(index, query, 25) == truth(given, numbers, query, 25)


def test_of_equals_the_newest_is_first(index: VectorIndex):
    vector = made(1)
    numbers = [put(index, vector, first=n)[0] for n in range(3)]
    assert found(index, vector[0], 5) == numbers[::-1]


def test_filters_hold_before_the_nearest_are_chosen(index: VectorIndex):
    given = made(600)
    odd = "o' OR '1'='1\ud800\0"
    near = put(index, given[:500], scope="near")
    far = put(index, given[500:], first=500, scope=odd, source="s", type="t")
    query = given[:500].sum(axis=0)
    for only, numbers, of in (
        (Filter(scopes=[odd]), far, given[500:]),
        (Filter(scopes=[odd, "near"], sources=["s"], types=["t"]), far, given[500:]),
        (Filter(until_seq=9), near[:10], given[:10]),
        (Filter(scopes=["x' OR '1'='1"]), [], given[:0]),
        (Filter(scopes=[]), [], given[:0]),
    ):
        assert found(index, query, 8, only) == truth(of, numbers, query, 8)


def test_what_was_removed_is_gone_at_once_and_for_good(index: VectorIndex):
    given = made(900)
    numbers = put(index, given)
    found(index, given[0])
    for start in range(0, 800, 10):
        drop(index, numbers[start : start + 10])
        if start % 100 == 0:
            assert found(index, given[start], 1) != [numbers[start]]
    query = made(1, seed=4)[0]
    assert found(index, query, 10) == truth(given[800:], numbers[800:], query, 10)
    index.scour()
    assert found(index, query, 10) == truth(given[800:], numbers[800:], query, 10)


def test_another_process_sees_what_was_added_and_removed(opener: Opener):
    writer, reader = opener(), opener()
    given = made(300)
    numbers = put(writer, given)
    assert found(reader, given[7], 1) == [numbers[7]]
    later = put(writer, made(300, seed=5), first=300)
    drop(writer, [numbers[7]])
    assert found(reader, given[7], 1) != [numbers[7]]
    assert found(reader, made(300, seed=5)[299], 1) == [later[299]]


def test_what_was_rolled_back_never_was(index: VectorIndex):
    given = made(3)
    (kept,) = put(index, given[:1])
    connection = connection_of(index)
    connection.execute("BEGIN IMMEDIATE")
    (number,) = memory_search.add(connection, [MemoryLine("x", "x")]).values()
    index.add([(number, given[1])])
    assert found(index, given[1], 1) == [number]
    connection.execute("ROLLBACK")
    assert found(index, given[1], 5) in ([], [kept])
    (again,) = put(index, given[2:], first=1)
    assert again == number
    assert found(index, given[2], 1) == [again]
    assert all(score < 0.99 for _, score in index.search(given[1], 5))


def test_vectors_of_two_embedders_never_mix(opener: Opener):
    first, second = opener("first"), opener("second", 32)
    given = made(20)
    numbers = put(first, given)
    with transaction(connection_of(second)):
        second.add([(numbers[3], given[3][:32])])
    assert found(second, given[3][:32], 50) == [numbers[3]]
    assert found(first, given[5], 1) == [numbers[5]]
    drop(first, [numbers[3]])
    assert found(second, given[3][:32], 50) == []


def test_a_long_text_has_the_nearest_of_its_passages_and_is_found_as_a_whole(index: VectorIndex):
    given = made(7)
    numbers = put(index, [given[:4], given[4], given[5:]])
    assert found(index, given[0], 1) == [numbers[0]]
    table = VectorTable(connection_of(index), "e", DIMENSION)
    best = table.passages(given[3] * 5, [*numbers, 99])
    assert {number: place for number, (place, _) in best.items()} == {numbers[0]: 2, numbers[2]: 0}
    assert best[numbers[0]][1] == pytest.approx(1.0, abs=0.01)
    near = float(given[3] @ given[6] / np.linalg.norm(given[3]) / np.linalg.norm(given[6]))
    assert best[numbers[2]][1] == pytest.approx(near, abs=0.01)


def test_a_vector_of_another_length_is_refused(opener: Opener, index: VectorIndex):
    (number,) = put(index, made(1))
    with pytest.raises(DimensionError, match="length 64"):
        index.search(np.zeros(63), 1)
    with pytest.raises(DimensionError), transaction(connection_of(index)):
        index.add([(number, np.zeros((2, 63)))])
    with pytest.raises(DimensionError, match="another id"):
        opener("e", 32).search(np.zeros(32), 1)


def test_vectors_without_meaning_are_kept_and_never_found(index: VectorIndex):
    put(index, [np.zeros(64), np.full(64, np.nan), np.full(64, np.inf)])
    (good,) = put(index, made(1), first=3)
    assert found(index, np.ones(64), 5) in ([], [good])
    assert found(index, np.zeros(64), 5) == []
    assert found(index, np.full(64, np.nan), 5) == []


def test_a_memory_keeps_its_vector(index: VectorIndex):
    given = made(2)
    (number,) = put(index, given[:1])
    with transaction(connection_of(index)):
        index.add([(number, given[1])])
    assert index.search(given[0], 1)[0][1] == pytest.approx(1.0)


def test_an_index_can_be_made_anew(index: VectorIndex):
    given = made(400)
    numbers = put(index, given)
    before = index.search(given[3], 20)
    index.rebuild()
    assert index.search(given[3], 20) == before
    with transaction(connection_of(index)):
        vectors.clear(connection_of(index))
    assert found(index, given[3]) == []
    with transaction(connection_of(index)):
        index.add(zip(numbers, given, strict=True))
    assert index.search(given[3], 20) == before


def test_both_indexes_give_the_same_answers_to_the_last_digit(tmp_path: Path):
    pytest.importorskip("lancedb", reason="needs the extra `lancedb`: make lance")
    connection = apsw.Connection(str(tmp_path / "undrift.db"))
    migrate(connection)
    table = VectorTable(connection, "e", DIMENSION)
    one, other = ExactIndex(table), LanceIndex(table, tmp_path / "vectors")
    numbers = put(one, made(1_000))
    drop(one, numbers[::3])
    for query in made(20, seed=6):
        assert one.search(query, 30) == other.search(query, 30)
    connection.close()


def test_many_vectors_are_chosen_by_their_signs(opener: Opener, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exact_index, "_LARGE", 1_000)
    monkeypatch.setattr(exact_index, "_CHOSEN", 500)
    index = opener()
    given = made(3_000)
    numbers = put(index, given, scope="a")
    hits = [len(set(found(index, query, 10)) & set(truth(given, numbers, query, 10))) for query in made(20, seed=7)]
    assert sum(hits) >= 170  # of 200, with 64 signs to choose a sixth by
    assert found(index, given[5], 1, Filter(until_seq=5)) == [numbers[5]]


def test_a_search_keeps_one_processor_busy():
    """A product of matrices would use them all; with one processor there is nothing to see."""
    rows = exact_index._LARGE
    given = np.random.default_rng(5).standard_normal((rows, 256)).astype(np.float32)
    copy, empty = Copy(256), [b""] * rows
    copy.append(Batch(range(rows), range(rows), [0] * rows, [1] * rows, empty, empty, empty, given))
    everyone, mine = time.process_time(), time.thread_time()
    for only in (ALL, Filter(until_seq=0)) * 5:
        copy.best(given[0], 10, only)
    assert time.thread_time() - mine > 0.8 * (time.process_time() - everyone)
