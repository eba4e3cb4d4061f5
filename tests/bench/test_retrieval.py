"""`undrift bench retrieval`: what is asked, what it costs, and that a part of the user's own is measured as it is used."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.builders import undrift
from tests.memory.parts import Bags
from undrift.bench.questions import RememberedText, asked_in, asked_of, own_questions
from undrift.bench.retrieval import RetrievalRow, configurations, measure
from undrift.core.memory.retrieve import STOP_WORDS
from undrift.core.text.words import words_of
from undrift.errors import InputError
from undrift.memory.parts import _part
from undrift.session.session import Session
from undrift.settings import Settings

HERE = "tests.bench.test_retrieval"


class Knows(Bags):
    """An embedder that knows that a pager is on call."""

    id = "knows"

    def embed(self, texts: Sequence[str]) -> Any:
        return super().embed([f"{text} rota rota rota" if "pager" in text else text for text in texts])


class Last:
    """A re-ranker."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return [float("rota" in text) for text in texts]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.json"
    texts = [
        "The on-call rota changes on Mondays.",
        {"text": "The pager battery.", "speaker": "ann"},
        "Lunch at night is served in the kitchen of the second floor until the last one leaves.",
    ]
    questions = [["Who answers the pager at night when a call comes?", [0]], ["kitchen", [2]]]
    path.write_text(json.dumps({"texts": texts, "questions": questions}))
    return path


def test_the_rows_are_words_vectors_and_the_parts_of_the_settings():
    own = Settings(embedder=f"{HERE}:Knows", reranker=f"{HERE}:Last")
    names = [name for name, _ in configurations(own)]
    assert [name for name in names if name != "vectors"] == ["words", "your embedder", "your re-ranker"]
    assert [name for name, _ in configurations(Settings(embedder="none"))] == ["words"]


def test_parts_are_measured_with_their_difference_and_the_home_stays_as_it_was(file: Path, tmp_path: Path):
    _part.cache_clear()
    home = tmp_path / "home"
    result = undrift(
        *("bench", "retrieval", str(file), "--home", str(home), "--json"),
        *("--embedder", f"{HERE}:Knows", "--reranker", f"{HERE}:Last"),
    )
    assert result.exit_code == 0, result.stderr
    (found,) = json.loads(result.stdout)["sets"]
    rows = {row["name"]: row for row in found["rows"]}
    assert (found["texts"], found["questions"]) == (3, 2)
    assert rows["words"]["any@1"] == 0.5
    assert rows["your re-ranker"]["any@1"] == 1.0
    assert (rows["your embedder"]["without"], rows["your embedder"]["fault"]) == (0, "")
    last = found["differences"][-1]
    assert (last["name"], last["against"], len(last["by"])) == ("your re-ranker", "your embedder", 3)
    assert not home.exists()


def test_the_table_fits_80_columns_and_a_long_name_stands_alone(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = undrift("bench", "retrieval", str(file), "--embedder", f"{HERE}:Knows").stdout
    assert all(len(line) <= 80 or HERE in line for line in shown.splitlines())
    assert "your embedder, against " in shown
    assert f"export UNDRIFT_EMBEDDER={HERE}:Knows" in shown


def test_a_search_without_its_part_is_counted(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Last, "scores", lambda *_: [])
    _part.cache_clear()
    report = measure("x", asked_in(file), Settings(embedder="none", reranker=f"{HERE}:Last"), progress=lambda _: None)
    assert report.rows[-1].without == 1
    assert "must give one number for each" in report.rows[-1].fault


def test_a_part_that_cannot_be_loaded_is_an_error(file: Path):
    result = undrift("bench", "retrieval", str(file), "--embedder", f"{HERE}:Nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the module has no Nobody" in result.stderr


def test_without_a_file_the_questions_come_from_the_memories_and_from_undrift(tmp_path: Path):
    with Session.open("s", home=tmp_path) as session:
        for place in range(30):
            session.remember(
                f"Service number{place} alpha{place} keeps beta{place} gamma{place} delta{place} epsilon{place} safe."
            )
    before = sorted(path.read_bytes() for path in tmp_path.rglob("*.db"))
    result = undrift("bench", "retrieval", "--home", str(tmp_path), "--embedder", "none")
    assert result.exit_code == 0, result.stderr
    assert "A person asks in other words" in " ".join(result.stdout.split())
    assert "60 questions about" in result.stdout
    assert sorted(path.read_bytes() for path in tmp_path.rglob("*.db")) == before


# ----------------------------------------------------------------------------------------------------------- questions


def test_a_question_from_a_memory_is_not_in_the_text_that_it_asks_for():
    long = "The office moved to Lisbon in the spring. The dog of the office is called Rex since May. Yes."
    short = "The billing service stores customer invoices inside encrypted PostgreSQL tables nightly."
    made = asked_of([RememberedText(long, "a", "ann", "user"), RememberedText(short), RememberedText("Too short.")])
    assert made == asked_of(
        [RememberedText(long, "a", "ann", "user"), RememberedText(short), RememberedText("Too short.")]
    )
    by_place = {min(right): question for question, right in made.questions}
    assert sorted(by_place) == [0, 1]
    assert by_place[0] in long
    assert by_place[0] not in made.texts[0].text
    assert (made.texts[0].source, made.texts[0].speaker, made.texts[0].trust) == ("a", "ann", "user")
    words = set(words_of(short)) - STOP_WORDS
    assert 2 <= len(by_place[1].split()) < len(words) - 1
    assert made.texts[1].text == short


def test_the_questions_of_undrift_share_few_words_with_their_answers():
    (one,) = own_questions()
    assert (len(one.texts), len(one.questions)) == (79, 60)
    shared = [
        bool((set(words_of(question)) & set(words_of(one.texts[place].text))) - STOP_WORDS)
        for question, right in one.questions
        for place in right
    ]
    assert sum(shared) <= 12


def test_both_public_forms_are_read(tmp_path: Path):
    talk = {"session_1": [{"dia_id": "D1:1", "speaker": "Ann", "text": "Hi"}], "session_1_date_time": "today"}
    asked = [
        {"question": "q", "evidence": ["D1:1; D9:9"], "category": 1},
        {"question": "no", "evidence": ["D1:1"], "category": 5},
    ]
    (tmp_path / "l.json").write_text(json.dumps([{"conversation": talk, "qa": asked}]))
    (one,) = asked_in(tmp_path / "l.json")
    assert (one.texts[0].speaker, one.questions) == ("Ann", [("q", frozenset({0}))])
    folder = tmp_path / "beam/1"
    folder.mkdir(parents=True)
    (folder / "chat.json").write_text(
        json.dumps([{"turns": [[{"id": 7, "content": "Hello ->-> 1,2", "role": "user"}]]}])
    )
    rows = {"kind": [{"question": "q", "source_chat_ids": {"a": [7]}}, {"question": "none", "source_chat_ids": [8]}]}
    (folder / "probing_questions.json").write_text(json.dumps(rows))
    (one,) = asked_in(tmp_path / "beam")
    assert (one.texts[0].text, one.questions) == ("Hello", [("q", frozenset({0}))])


@pytest.mark.parametrize(
    "text", ["[]", "{", "[1]", '{"texts": ["a"], "questions": [["q", [3]]]}', "[" * 99_999, "null"]
)
def test_a_file_of_another_form_says_what_to_give(tmp_path: Path, text: str):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json|places of its texts"):
        asked_in(tmp_path / "x.json")


def test_the_shares_are_of_all_questions():
    row = RetrievalRow("x", [(True, True, True), (False, True, True), (False, False, True)], 1.0, 1.0)
    assert row.shares == pytest.approx((1 / 3, 2 / 3, 1.0))
