"""A long text is cut where nothing that is looked for can stand, so that the pieces hold what the text holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text import pieces as module
from undrift.core.text import prefilter
from undrift.core.text.pieces import pieces
from undrift.core.text.readings import readings
from undrift.core.text.secrets import mask

WORDS = [
    "AKIA",
    "a" * 30,
    "x" * 14 + "=",
    "\\u003d",
    "\\x1b[31m",
    "%253D",
    "\x1b[0m",
    "sk-ant-",
    "=",
    "/",
    "é",
    "😀",
    "\n" + "aB1" * 8 + "\n",
    "YXBpX2tleT1hMUIyYTFCMmExQjI=",
]
TEXTS = st.lists(st.one_of(st.sampled_from([*WORDS, "\n", " ", '"', ","]), st.text(max_size=4)), max_size=60).map(
    "".join
)


@pytest.fixture(params=[1, 7])
def size(request, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_CHARACTERS", request.param)
    return request.param


@pytest.mark.parametrize("text", ["", "a", "a b", "ab" * 100_000, "ab," * 100_000, "\n" * 200_000])
def test_the_pieces_are_the_text_and_none_is_short(text):
    found = list(pieces(text))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end - start > module._LEAST_CHARACTERS for start, end in found[:-1])


def test_a_long_text_is_cut_and_one_without_a_place_for_it_is_not():
    assert len(list(pieces("ab " * 100_000))) == 5
    assert len(list(pieces("ab" * 100_000))) == 1


@given(text=TEXTS)
def test_the_pieces_hold_the_same_runs_escapes_and_secrets_as_the_text(text):
    runs = prefilter._RUN.findall(text)
    read, masked = list(readings(text)), mask(text)
    with pytest.MonkeyPatch.context() as patch:
        for least in (1, 7):
            patch.setattr(module, "_LEAST_CHARACTERS", least)
            assert list(prefilter.runs(text)) == runs
            assert list(readings(text)) == read
            assert mask(text) == masked


def test_a_secret_in_any_piece_is_masked(size):
    token = "AKIA" + "Q7R2" * 4  # a made-up one
    for before in range(20):
        assert (
            mask(f"{'-' * before} {token} {'z ' * 20}").text == f"{'-' * before} [masked:aws-access-key-id] {'z ' * 20}"
        )
