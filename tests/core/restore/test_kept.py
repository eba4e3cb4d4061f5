"""What a client gives back by itself is not chosen again; what is not certain counts as lost."""

import pytest

from tests.core.restore.test_restore import Recorded
from undrift.core.restore import restore, restore_words
from undrift.core.text.tokens import characters_per_4
from undrift.profiles import GivenBack

FILES = GivenBack(files=2, file_tokens=1_000)
TEXTS = GivenBack(user_tokens=1_000)


def lines(name: str, count: int = 12) -> list[str]:
    return [f"def {name}_{number}(argument): return rate_{number}_of_{name}" for number in range(count)]


def text(session: Recorded, gives: GivenBack) -> str:
    return restore(session.entries, budget_tokens=2_500, count=characters_per_4, gives_back=gives).text


def worked() -> Recorded:
    session = Recorded().user("Find the rate. Never change old.py.")
    for name in ("old", "mid", "new"):
        session.read(f"/repo/src/{name}.py", lines(name)).said(f"rate_3_of_{name} is next.")
    return session


def test_lines_of_the_files_that_the_client_attaches_are_not_chosen():
    session = worked()
    assert all(f"def {name}_3(" in text(session, GivenBack()) for name in ("old", "mid", "new"))
    assert "def old_3(" in text(session, FILES)
    assert "def mid_" not in text(session, FILES)
    assert "def new_" not in text(session, FILES)


def test_a_file_that_a_shell_printed_is_not_attached_and_takes_a_place():
    session = worked().call("Bash", "\n".join(lines("late")), command="cat /repo/src/late.py")
    given = text(session, FILES)
    assert "def late_3(" in given
    assert "def mid_3(" in given
    assert "def new_" not in given


@pytest.mark.parametrize("grown", [0, 1])
def test_a_large_file_is_not_attached(grown: int):
    session = worked()
    if grown:
        session.edit("/repo/src/new.py", "def new_0(", "\n".join(lines("added", 60)))
        assert "def new_3(" in text(session, FILES)
    else:
        session.read("/repo/src/huge.py", lines("huge", 90))
        assert "def huge_3(" in text(session, FILES)


def test_a_part_of_a_file_does_not_show_how_large_it_is():
    session = Recorded().user("Find the rate.")
    session.call("Read", "\n".join(lines("part")), file_path="/repo/src/part.py", offset=1, limit=12)
    assert "def part_3(" in text(session, FILES)


def test_texts_of_the_user_that_the_client_keeps_are_not_said_again():
    session = worked()
    assert "Never change old.py." in text(session, GivenBack())
    assert "Never change old.py." not in text(session, TEXTS)
    assert "def new_3(" in text(session, TEXTS)


def test_texts_beyond_what_the_client_keeps_come_back():
    session = Recorded().user("Never change old.py.").said("Right.").user("Always read first. " * 300)
    rules = restore_words(session.entries, budget_tokens=100, count=characters_per_4, gives_back=TEXTS)
    assert "Never change old.py." in rules.text
    kept = Recorded().user("Never change old.py.")
    assert restore_words(kept.entries, budget_tokens=100, count=characters_per_4, gives_back=TEXTS).text == ""


def test_what_stands_in_the_new_window_already_is_not_chosen_again():
    session = worked()
    summary = "The work is in new.py.\n/repo/src/mid.py"
    attached = "/repo/src/new.py\n" + "\n".join(lines("new"))
    given = restore(session.entries, budget_tokens=2_500, put_back=(summary, attached)).text
    assert "def new_3(" not in given
    assert "def mid_3(" in given  # it came back by its name alone
    assert "def old_3(" in given


def test_what_is_known_to_stand_in_the_window_counts_in_place_of_the_clients_rule():
    session = worked()
    given = restore(session.entries, budget_tokens=2_500, gives_back=FILES, put_back=("Nothing of the files.",)).text
    assert "def new_3(" in given
    assert given == restore(session.entries, budget_tokens=2_500, put_back=("Nothing of the files.",)).text


def test_texts_in_the_window_are_read_in_linear_time_and_leave_the_size_as_it_is():
    session = worked()
    hostile = ("a" * 3_000_000, "\n" * 500_000, "")
    given = restore(session.entries, budget_tokens=500, count=characters_per_4, put_back=hostile)
    assert 0 < given.tokens <= 500


NEWEST = GivenBack(newest_tokens=1_000)


def test_the_newest_answer_and_its_results_are_not_said_again_if_the_client_keeps_them():
    session = (
        worked().said("The rate is wrong in late.py.").call("Bash", "\n".join(lines("late")), command="cat late.py")
    )
    assert "def late_3(" in text(session, GivenBack())
    given = text(session, NEWEST)
    assert "def late_3(" not in given
    assert "def new_3(" in given  # the answer before it is gone


def test_a_newest_answer_that_is_too_large_counts_as_lost():
    session = worked().call("Bash", "\n".join(lines("late", 90)), command="cat late.py")
    assert "def late_3(" in text(session, NEWEST)


def test_the_last_words_of_the_agent_are_not_said_again_if_the_client_keeps_them():
    session = worked().said("The rate is wrong in the late file.")
    assert "The rate is wrong in the late file." in text(session, GivenBack())
    assert "The rate is wrong in the late file." not in text(session, NEWEST)
