"""The recordings of real programs are read whole: the question, the calls with their results, the answer, the compaction."""

import json
import re

import pytest

from tests.clients.record import masked
from tests.clients.recordable import FAILED, FOUND, NOTE, READS, RECORDABLE, SUMMARY, TASK
from tests.transcripts.builders import meta
from tests.transcripts.recordings import FOLDER, RECORDED_FROM, fixture, rows
from undrift import transcripts
from undrift.values.window import ContextEntry

WITH_CALLS = sorted(set(RECORDABLE) - {"aider"})
"""aider has no tools: its user runs the commands."""
LEAST_SPECIFIC = "openai-messages"
"""Asked last, it takes any list of messages."""


def kinds(entries: tuple[ContextEntry, ...], kind: str) -> list[ContextEntry]:
    return [entry for entry in entries if meta(entry)["kind"] == kind]


def test_each_fixture_says_from_which_program_and_version_it_was_recorded():
    assert set(RECORDED_FROM) == set(RECORDABLE)
    assert {path.stem for path in FOLDER.iterdir()} == {*RECORDED_FROM, "versions"}
    for name, about in RECORDED_FROM.items():
        assert (about["program"], about["package"]) == (RECORDABLE[name].title, RECORDABLE[name].package)
        assert re.fullmatch(r"\d+\.\d+\.\d+(?:[.-]?\w+)*", about["version"])


@pytest.mark.parametrize("name", sorted(RECORDABLE))
def test_each_is_read_by_its_own_reader_alone_and_holds_nothing_unknown(name: str):
    lines = rows(name)
    asked = [known for known, reader in transcripts.FORMATS.items() if reader.recognises(lines[:64])]
    assert [known for known in asked if known != LEAST_SPECIFIC] == [name]
    found = transcripts.read(lines)
    assert found.format == name
    assert not found.unfinished
    assert not [reason for reason in found.skipped if reason.startswith(("unknown", "malformed", "cut", "nested"))]


@pytest.mark.parametrize("name", sorted(RECORDABLE))
def test_each_begins_with_the_question_and_ends_with_the_answer(name: str):
    texts = [entry.content for entry in transcripts.read(rows(name)).entries]
    (asked,) = (number for number, text in enumerate(texts) if TASK in text)
    answered = [number for number, text in enumerate(texts) if FOUND in text]
    assert answered
    assert asked < answered[0]


@pytest.mark.parametrize("name", WITH_CALLS)
def test_each_call_has_its_result_and_the_failed_one_says_so(name: str):
    entries = transcripts.read(rows(name)).entries
    calls, results = kinds(entries, "call"), kinds(entries, "result")
    assert READS in calls[0].content
    assert NOTE in results[0].content
    assert meta(results[0])["is_error"] is False
    assert [call.pair_id for call in calls] == [result.pair_id for result in results]
    assert all(call.pair_id for call in calls)
    assert {meta(result)["tool_name"] for result in results[:2]} == {meta(calls[0])["tool_name"]}
    failed = [result for result in results if FAILED in result.content]
    assert len(failed) == 1


@pytest.mark.parametrize("name", sorted(RECORDABLE))
def test_a_compaction_is_found_where_one_was_recorded_and_only_there(name: str):
    found = transcripts.read(rows(name))
    assert len(found.compactions) == RECORDABLE[name].compacts
    for index in found.compactions:
        summaries = kinds(found.entries[index:], "summary")
        assert SUMMARY in summaries[0].content


@pytest.mark.parametrize("name", sorted(RECORDABLE))
def test_no_fixture_holds_prose_that_is_not_of_the_script(name: str):
    text = fixture(name).read_text(encoding="utf-8")
    assert masked(text) == text


def test_what_a_client_wrote_is_masked_and_the_script_stays():
    words = "You are an agent that helps people with all that they ask for."
    assert masked(json.dumps({"a": words})) == f'{{\n "a": "[{len(words)} characters of the client]"\n}}\n'
    both = masked(json.dumps({"a": f"<x>{TASK} {words}", "b": json.dumps({"c": [words]})}))
    assert TASK in both
    assert words not in both
    tool = {"name": "Read", "parameters": {"type": "object"}, "description": "Reads."}
    assert json.loads(masked(json.dumps({"tools": [tool]}))) == {"tools": [{"name": "Read"}]}
