"""The fuzzer in small: every reader against broken files; and the fuzzer itself finds a reader that is wrong."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import fuzz_properties
from tests.fuzz.damage import broken, is_whole, survives
from tests.fuzz.fuzz_readers import feed, main
from tests.fuzz.sessions import WHOLE, WRITERS, whole
from undrift import transcripts
from undrift.transcripts import Recording, aider


def test_every_reader_has_files_to_be_fed_with():
    assert {*WRITERS, *WHOLE} == set(transcripts.FORMATS)


@pytest.mark.parametrize("name", list(transcripts.FORMATS))
@settings(
    max_examples=15,  # `make fuzz` takes its time
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(data=st.data())
def test_no_accident_raises_or_breaks_a_promise(name, data):
    survives(name, data.draw(broken(name)))


@pytest.mark.parametrize("name", list(transcripts.FORMATS))
@settings(max_examples=15)
@given(data=st.data())
def test_a_whole_file_is_taken_for_what_it_is(name, data):
    is_whole(name, data.draw(whole(name)))


def test_a_reader_that_raises_is_found(monkeypatch, capsys):
    class Careless:
        FORMAT = "aider"
        recognises = staticmethod(aider.recognises)

        @staticmethod
        def read(lines, *, count) -> Recording:
            rows = list(lines)
            if len(rows) > 5 and not rows[5].strip():
                raise KeyError("a blank row")
            return aider.read(rows, count=count)

    monkeypatch.setattr(transcripts, "FORMATS", {**transcripts.FORMATS, "aider": Careless})
    with pytest.raises(KeyError):
        feed("aider", 60)
    assert "aider: fails with seed " in capsys.readouterr().out


def test_the_fuzzer_says_how_much_it_has_fed(capsys):
    assert main(["0.5", "aider"]) == 0
    assert " broken files in 0.5 s, the slowest " in capsys.readouterr().out
    assert main(["0", "aider"]) == 1


def test_a_property_that_fails_for_few_inputs_is_found_and_its_input_is_printed(capfd):
    assert fuzz_properties.main(["120", "tests/fuzz/careless.py"]) == 1
    said = capfd.readouterr().out
    assert "test_no_number_is_a_multiple_of_31(" in said
    assert "number=" in said
    assert " fails with seed " in said


def test_a_round_ends_between_two_tests_when_its_time_is_up(capfd):
    assert fuzz_properties.main(["0.1", "tests/core/window/test_trim.py"]) == 0
    said = capfd.readouterr().out
    assert "1 passed" in said
    assert "rounds played in 0.1 s: 1, nothing was found" in said


def test_the_same_inputs_are_drawn_on_every_run():
    assert settings().derandomize
