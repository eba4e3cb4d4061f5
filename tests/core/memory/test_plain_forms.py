"""Turns of phrase, times and dates in one form."""

import pytest

from undrift.core.memory.plain_forms import in_plain_form


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("at half past seven in the evening", "at 19:30"),
        ("at 7:30 pm", "at 19:30"),
        ("at a quarter to nine", "at a 08:45"),
        ("at noon", "at 12:00"),
        ("on 14/03", "on 14 March"),
        ("on 03/14/2026", "on 14 March 2026"),
        ("on 03/04", "on 03/04"),  # of March or of April
        ("on the first of May", "on the 1 May"),
        ("a backup of the catalogue of the museum", "a museum catalogue backup"),
        ("48 GB of memory", "48 GB of memory"),
        ("no file is deleted unless I am asked first", "I am asked before file is deleted"),
        ("tabs because I like them", "tabs"),
        ("we picked tea over milk", "we picked tea and not milk"),
    ],
)
def test_one_thing_has_one_form(text: str, plain: str):
    assert in_plain_form(text) == plain
