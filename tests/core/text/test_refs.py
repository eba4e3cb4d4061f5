"""References: opaque, of one length, and another one for another name."""

import re

from hypothesis import given
from hypothesis import strategies as st

from undrift.core.text.refs import message_id, ref_of

names = st.text(st.characters(), max_size=20)  # lone surrogates included


@given(names, names)
def test_a_reference_is_16_hexadecimal_characters_whatever_the_names(session_id, entry_id):
    assert re.fullmatch("[0-9a-f]{16}", ref_of(session_id, entry_id))
    assert ref_of(session_id, entry_id) == ref_of(session_id, entry_id)


@given(names, names, names)
def test_nothing_moves_between_session_and_entry(a, b, c):
    assert (ref_of(a + b, c) == ref_of(a, b + c)) is (b == "")


def test_a_reference_is_the_same_in_every_run():
    assert ref_of("s", "e") == "c0db376296841e0e"
    assert message_id("", b"x") == "2d711642b726b04401627ca9fbac32f5"


@given(st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_the_same_message_id_means_the_same_history(digests, data):
    def chain(parts: list[bytes]) -> list[str]:
        ids = [""]
        for part in parts:
            ids.append(message_id(ids[-1], part.ljust(32, b".")))
        return ids[1:]

    changed = data.draw(st.integers(0, len(digests) - 1))
    other = [*digests[:changed], digests[changed] + b"!", *digests[changed + 1 :]]
    ids, others = chain(digests), chain(other)
    assert ids[:changed] == others[:changed]
    assert not set(ids[changed:]) & set(others[changed:])
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)
