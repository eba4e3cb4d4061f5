"""The kept inputs of every surface again, each within its bar; and the fuzzer itself finds a surface that is wrong."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import strategies as st

from tests.fuzz import gateway
from tests.fuzz.fuzz_surfaces import SURFACES, feed, main
from tests.fuzz.surface import CORPUS, Surface, Take, bounded, kept

MOST_FILES, MOST_BYTES = 200, 4_096


@pytest.mark.parametrize("name", list(SURFACES))
def test_no_kept_input_breaks_a_promise(name: str):
    with SURFACES[name].opened() as take:
        for file, data in kept(name).items():
            try:
                bounded(take, data)
            except BaseException as error:
                error.add_note(f"on the kept input {name}/{file}")
                raise


def test_the_corpus_is_small_and_of_known_surfaces():
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(SURFACES)
    assert len(files) <= MOST_FILES
    assert max(path.stat().st_size for path in files) <= MOST_BYTES


def test_a_surface_that_raises_is_found_and_its_input_is_kept(tmp_path, capsys):
    def take(data: bytes) -> None:
        if b"null" in data:
            raise KeyError("nobody catches it")

    @contextmanager
    def opened() -> Iterator[Take]:
        yield take

    careless = Surface("wires", opened, st.just(b'request anthropic\n{"messages": []}'))
    with pytest.raises(KeyError):
        feed(careless, 60, tmp_path)
    (path,) = tmp_path.iterdir()
    assert b"null" in path.read_bytes()
    assert "wires: fails with seed " in capsys.readouterr().out


def test_the_fuzzer_says_how_much_it_has_fed(capsys):
    assert main(["0.5", "wires"]) == 0
    assert " inputs in 0.5 s, the slowest " in capsys.readouterr().out
    assert main(["0", "wires"]) == 1


@pytest.mark.skipif(not gateway.can_be_another(), reason="only root can be another user as well")
def test_a_request_that_is_not_a_strangers_is_found_among_those_of_strangers(monkeypatch):
    monkeypatch.setattr(gateway, "STRANGER", os.geteuid())
    with SURFACES["gateway"].opened() as take, pytest.raises(AssertionError, match="reached the provider"):
        take(kept("gateway")["stranger-with-length"])
