"""Embedders and re-rankers of a user's own: they are used, and no fault of theirs fails a search or a write."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.builders import opened
from tests.memory import parts
from tests.memory.floods import LESSER, QUESTION, SHAPES, TRUTH, failures, flood
from undrift.errors import PartError
from undrift.memory import parts as own
from undrift.memory.parts import load_part
from undrift.testing import Hold, RawUpstream, response

HERE = "tests.memory.parts"
SAID = ("The office moved to Lisbon in May.", "The office dog is called Rex.", "Lunch at the office is at noon.")


@pytest.fixture(autouse=True)
def _no_part_is_known() -> None:
    """A process keeps its parts, with their faults."""
    own._part.cache_clear()


def found(home: Path, query: str = "Where is the office?", **settings: Any) -> list[str]:
    with opened(home, **settings) as session:
        if not session.memories():
            for one in SAID:
                session.remember(one, trust="user")
        return [hit.entry.content for hit in session.search(query)]


def warned(home: Path, **settings: Any) -> tuple[list[str], tuple[str, ...]]:
    with opened(home, **settings) as session:
        for one in SAID:
            session.remember(one, trust="user")
        hits = [hit.entry.content for hit in session.search("Where is the office?")]
        return hits, session.memory.warnings()


# ------------------------------------------------------------------------------------------------------------ they work


def test_an_embedder_of_a_module_finds_by_its_own_vectors(tmp_path: Path):
    with opened(tmp_path, embedder=f"{HERE}:Bags") as session:
        for one in SAID:
            session.remember(one, trust="user")
        best = session.search("Where is the office?")[0]
        assert best.why["similarity"] > 0
        assert session.memory.warnings() == ()


def test_memories_written_without_an_embedder_get_its_vectors_at_the_next_search(tmp_path: Path):
    found(tmp_path, embedder="none")
    with opened(tmp_path, embedder=f"{HERE}:Bags") as session:
        assert all("similarity" in hit.why for hit in session.search("Where is the office?"))


def test_a_server_embeds_with_the_key_of_the_environment_and_no_key_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("UNDRIFT_EMBEDDER_KEY", "sk-verysecret")
    with parts.server() as one:
        assert found(tmp_path, embedder=f"{one.url}/v1/embeddings#small")
        assert {request.header["authorization"] for request in one.requests} == {"Bearer sk-verysecret"}
        assert {json.loads(request.body)["model"] for request in one.requests} == {"small"}
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"verysecret" not in kept
    assert b"bags" not in kept


@pytest.mark.parametrize(("model", "form"), [("", "texts"), ("#rerank-v3.5", "documents")])
def test_a_server_reorders_in_the_form_that_it_knows(tmp_path: Path, model: str, form: str):
    with parts.server() as one:
        assert (
            found(tmp_path, "office lunch moved noon", embedder="none", reranker=f"{one.url}/rerank{model}")[0]
            == SAID[0]
        )
        assert [form in json.loads(request.body) for request in one.requests] == [True]


def test_the_other_form_is_tried_once(tmp_path: Path):
    def answer(target: str, asked: dict[str, Any]) -> Any:
        return response(b"{}", status=422) if "texts" in asked else None

    with parts.server(answer) as one, opened(tmp_path, reranker=f"{one.url}/rerank") as session:
        for text in SAID:
            session.remember(text, trust="user")
        for _ in range(2):
            assert session.search("office lunch moved noon")[0].why["reranked"] == 1.0
        assert [sorted(json.loads(request.body)) for request in one.requests] == [
            ["query", "texts", "truncate"],
            *[["documents", "query", "top_n"]] * 2,
        ]


def test_a_write_asks_no_re_ranker(tmp_path: Path):
    with parts.server() as one, opened(tmp_path, reranker=f"{one.url}/rerank") as session:
        for text in SAID:
            session.remember(text)
        assert one.requests == ()


def test_a_re_ranker_reads_the_part_of_a_long_text_that_fits(tmp_path: Path):
    long = " ".join(f"Step {number} of the plan is done." for number in range(500))
    with parts.server() as one, opened(tmp_path, reranker=f"{one.url}/rerank") as session:
        session.remember(f"{long} The office moved to Lisbon. {long}", trust="user", speaker="ann")
        session.remember(SAID[1], trust="user")
        session.search("Where did the office move, to Lisbon?")
        read = max(json.loads(one.requests[0].body)["texts"], key=len)
    assert read.startswith("ann: ")
    assert "The office moved to Lisbon." in read
    assert len(read) < 1_100


# ------------------------------------------------------------------------------------------------------------- they fail

FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "broken": ({"embedder": f"{HERE}:Broken"}, "Broken failed: RuntimeError: the card is out of memory"),
    "wrong": ({"embedder": f"{HERE}:Wrong"}, "gave vectors of the shape (1, 15), not (1, 16)"),
    "no module": ({"embedder": "no_such_module:Mine"}, "No module named 'no_such_module'; install the module"),
    "no attribute": ({"embedder": f"{HERE}:Nobody"}, "the module has no Nobody"),
    "no embedder": ({"embedder": f"{HERE}:Backwards"}, "has no embed and no id and no dimension and no adds_words"),
    "no re-ranker": ({"reranker": f"{HERE}:Bags"}, "has no scores; it needs scores"),
    "no package": ({"embedder": "fastembed:BAAI/bge-small-en-v1.5"}, "the package fastembed is not installed: "),
    "nobody there": ({"reranker": "http://127.0.0.1:9/rerank"}, "http://127.0.0.1:9/rerank cannot be reached: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_and_a_write_go_on_without_a_part_that_fails(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
):
    settings, said = FAULTS[fault]
    plain = found(tmp_path / "plain", embedder="none")
    with caplog.at_level(logging.WARNING, "undrift.memory"):
        hits, warnings = warned(tmp_path / "own", **{"embedder": "none", **settings})
    assert hits == plain
    assert [said in one for one in warnings] == [True]
    assert caplog.text.count("memory search without it") == 1


STRANGE: dict[str, tuple[Any, str]] = {
    "no JSON": (response(b"<html>"), "it is no JSON"),
    "no list": ({"data": {}}, "no list of 1 embeddings"),
    "no numbers": ({"data": [{"embedding": ["a"] * 16}]}, "something that is no number"),
    "not a number": (response(b'{"data":[{"embedding":[NaN]}]}'), "something that is no number"),
    "huge": (response(b'{"data":[{"embedding":[1' + b"0" * 4_000 + b"]}]}"), "something that is no number"),
    "empty": ({"data": [{"embedding": []}]}, "no list of numbers"),
    "deep": (response(b"[" * 200_000), "it is no JSON"),
    "a redirect": (response(b"", status=302, headers={"location": "http://127.0.0.1:1/"}), "points to another address"),
    "no key": (response(b"", status=401), "refuses the key (401): set UNDRIFT_EMBEDDER_KEY"),
    "no path": (response(b"", status=404), "check its path"),
    "ill": (response(b"", status=503), "answers with status 503"),
    "no HTTP": (b"\0\0\0\r\n\r\n", "cannot be reached"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_the_answer_of_a_server_is_hostile(tmp_path: Path, kind: str):
    given, said = STRANGE[kind]
    with parts.server(lambda *_: given) as one:
        hits, warnings = warned(tmp_path, embedder=f"{one.url}/v1/embeddings")
        assert len(one.requests) == 1  # and then it rests
    assert len(hits) == 3
    assert said in warnings[0]


def test_a_server_with_another_model_behind_the_same_name_is_noticed(tmp_path: Path):
    lengths = iter((16, 16, 16, 15))

    def answer(target: str, asked: dict[str, Any]) -> Any:
        length = next(lengths, 15)
        return {"data": [{"embedding": [1.0] * length}] * len(asked["input"])}

    with parts.server(answer) as one:
        hits, warnings = warned(tmp_path, embedder=f"{one.url}/v1/embeddings")
    assert len(hits) == 3
    assert "has 15 numbers, not 16: is it the same model?" in warnings[0]


def test_a_part_that_does_not_answer_costs_one_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own, "_LOAD_S", 0.2)
    monkeypatch.setattr(own, "_SEARCH_S", 0.2)
    with RawUpstream(lambda _: [Hold()]) as one:
        hits, warnings = warned(tmp_path / "a", embedder=f"{one.url}/v1/embeddings")
        assert (len(hits), len(one.requests)) == (3, 1)
    assert "did not answer within 0 s" in warnings[0]
    hits, warnings = warned(tmp_path / "b", embedder="none", reranker=f"{HERE}:Slow")
    assert (len(hits), len(warnings)) == (3, 1)


def test_a_part_that_failed_rests_and_is_used_again_when_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):

    works: list[bool] = []
    with (
        parts.server(lambda *_: None if works else response(b"", status=503)) as one,
        opened(tmp_path, embedder=f"{one.url}/v1/embeddings") as session,
    ):
        for text in SAID:
            session.remember(text)
        works.append(True)
        assert "similarity" not in session.search("office")[0].why
        assert len(one.requests) == 1
        monkeypatch.setattr("undrift.memory.part_calls.time.monotonic", lambda: 1e12)
        assert "similarity" in session.search("office")[0].why
        assert session.memory.warnings() == ()


def test_sessions_of_one_process_wait_for_each_other_and_none_goes_without(tmp_path: Path):
    def search(number: int) -> tuple[str, ...]:
        with opened(tmp_path / str(number), embedder=f"{HERE}:Bags", reranker=f"{HERE}:Patient") as session:
            for one in SAID:
                session.remember(one)
            assert "reranked" in session.search("Where is the office?")[0].why
            return session.memory.warnings()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(search, range(4))) == {()}


def test_a_purge_needs_no_embedder(tmp_path: Path):
    found(tmp_path, embedder="none")
    with opened(tmp_path, embedder=f"{HERE}:Broken") as session:
        session._repository.scour()
        assert session.search("office")


def test_what_a_person_asks_for_gets_the_error_itself():
    with pytest.raises(PartError, match="the module has no Nobody"):
        load_part(f"{HERE}:Nobody", "embedder", may_download=False)


# ---------------------------------------------------------------------------------------------------- after a re-ranker


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("trust", LESSER)
def test_the_shares_of_each_trust_hold_after_a_hostile_re_ranker(tmp_path: Path, shape: str, trust: str):
    with opened(tmp_path / "h", embedder="none", reranker=f"{HERE}:Backwards") as session:
        session.remember(TRUTH, trust="user")
        flood(session, shape, trust, 60, 50)
        assert "reranked" in session.search(QUESTION)[0].why
        assert list(failures(session)) == []
