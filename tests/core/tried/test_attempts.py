"""Attempts of a session: what failed and was given up is found, what stands in the end is not."""

import pytest

from undrift.core.restore import restore
from undrift.core.restore.given_up import given_up
from undrift.core.tried import attempts
from undrift.values.window import ContextEntry


class Session:
    """Entries of a session, written as they would be recorded."""

    def __init__(self) -> None:
        self.entries: list[ContextEntry] = []

    def text(self, content: str, role: str = "user") -> "Session":
        return self._add("text", content, role)

    def call(self, tool: str, output: str = "done", *, fails: bool = False, **given: object) -> "Session":
        pair = {"pair_id": f"p{len(self.entries)}", "tool_name": tool}
        self._add("call", str(given), "assistant", input=given, **pair)
        return self._add("result", output, "user", is_error=fails, **pair)

    def ran(self, command: str, output: str = "done", *, fails: bool = False) -> "Session":
        return self.call("Bash", output, fails=fails, command=command)

    def edited(self, old: str, new: str, path: str = "src/pay.py") -> "Session":
        return self.call("Edit", file_path=path, old_string=old, new_string=new)

    def _add(self, kind: str, content: str, role: str, **about: object) -> "Session":
        number = len(self.entries)
        metadata = {"kind": kind, "role": role, "message": number, **about}
        self.entries.append(ContextEntry(f"e{number}", "reasoning", content, 1, number, metadata))
        return self

    def found(self) -> list[tuple[str, str, str]]:
        return [(one.kind, one.what, one.reason) for one in attempts(self.entries)]


OLD, NEW = "    total = sum(parts)", "    total = fsum(sorted(parts))"


def test_a_command_that_failed_is_found_with_its_cause_and_the_form_that_worked() -> None:
    session = Session().ran("yarn test:unit --fast", "error Unknown command test:unit", fails=True)
    (one,) = attempts(session.entries)
    assert (one.kind, one.what, one.outcome, one.worked) == (
        "command", "yarn test:unit --fast", "error Unknown command test:unit.", ""
    )  # fmt: skip
    assert one.entry_ids == ("e0", "e1")
    (one,) = attempts(session.ran("yarn test --fast").entries)
    assert (one.worked, one.entry_ids) == ("yarn test --fast", ("e0", "e1", "e2", "e3"))


def test_a_command_that_worked_later_as_it_was_is_no_failure() -> None:
    session = Session().ran("poetry run check", "poetry: command not found", fails=True)
    assert session.found()
    assert session.ran("pip install poetry").ran("poetry run check").found() == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest tests", "E   assert 1 == 2\n1 failed"),
        ("cat notes.txt", "cat: notes.txt: No such file or directory"),
        ("python tools/make.py", "python: can't open file 'tools/make.py': [Errno 2] No such file or directory"),
        ("pytest -q", "\n".join([*["line"] * 9, "KeyError: unknown option", *["line"] * 9])),
    ],
)
def test_a_failing_test_a_look_and_a_missing_file_are_no_attempts(command: str, output: str) -> None:
    assert Session().ran(command, output, fails=True).found() == []


def test_a_command_that_only_asks_is_not_what_worked() -> None:
    session = Session().ran("pnpm exec mocha spec", 'Command "mocha" not found', fails=True).ran("pnpm exec which node")
    (one,) = attempts(session.entries)
    assert one.worked == ""


def test_a_push_is_answered_only_by_a_push_of_the_same_branch() -> None:
    denied = "git@github.com: Permission denied (publickey)."
    session = (
        Session()
        .ran("git push -u origin fees", denied, fails=True)
        .ran("git push -u origin refunds", denied, fails=True)
    )
    session.ran("git push -u https://host/pay.git fees").ran("git push -u https://host/pay.git refunds")
    assert [(one.what.split()[-1], one.worked.split()[-1]) for one in attempts(session.entries)] == [
        ("fees", "fees"),
        ("refunds", "refunds"),
    ]
    other = Session().ran("git push origin fees", denied, fails=True).ran("git push backup fees")
    assert [one.worked for one in attempts(other.entries)] == [""]


def test_the_cause_is_the_error_and_no_warning_above_it() -> None:
    log = (
        "2026-07-01T20:53:27.09Z  WARN resolver: key file not found: age.txt\nrun: line 3: parallel: command not found"
    )
    (one,) = attempts(Session().ran("make check", log, fails=True).entries)
    assert one.outcome == "run: line 3: parallel: command not found."
    assert Session().ran("make check", log.split("\n")[0], fails=True).found() == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("which parallel", "parallel not found"),
        ("command -v parallel", "sh: command not found: parallel"),
        ("echo on > /srv/new/flag && make", "(eval):1: no such file or directory: /srv/new/flag"),
    ],
)
def test_a_question_for_a_program_and_a_missing_folder_are_no_attempts(command: str, output: str) -> None:
    assert Session().ran(command, output, fails=True).ran("make -k && echo on").found() == []


def test_a_module_or_program_that_was_used_later_did_not_stay_away() -> None:
    module = Session().ran(
        'python3 -c "import PIL; print(1)"', "ModuleNotFoundError: No module named 'PIL'", fails=True
    )
    assert module.found()
    assert module.ran('python3 -c "\nfrom PIL import Image\nprint(2)\n"').found() == []
    program = (
        Session()
        .ran("esbuild pay.ts", "(eval):1: command not found: esbuild", fails=True)
        .ran("cd tools/esbuild && make")
    )
    assert program.found()
    assert program.ran("cat pay.ts | esbuild --minify").found() == []


def test_a_change_that_a_later_edit_undoes_is_found_with_the_agents_reason() -> None:
    session = (
        Session().edited(OLD, NEW).text("The sorted sum breaks the order of refunds.", "assistant").edited(NEW, OLD)
    )
    reason = "The sorted sum breaks the order of refunds."
    assert session.found() == [("change", f"src/pay.py: `{NEW.strip()}`", reason)]


def test_a_long_path_shows_its_end() -> None:
    path = "/home/me/repo/src/deep/pay.py"
    session = Session().edited(OLD, NEW, path).edited(NEW, OLD, path)
    assert session.found()[0][1].startswith("…/src/deep/pay.py: ")


def test_a_change_that_is_written_again_is_not_found() -> None:
    assert Session().edited(OLD, NEW).edited(NEW, OLD).edited(OLD, NEW).found() == []


def test_a_file_that_git_put_back_to_be_edited_anew_was_not_given_up() -> None:
    more = "    return round(total)"
    session = Session().edited(OLD, NEW).edited("    return total", more).ran("git checkout -- src/pay.py")
    assert session.edited(OLD, f"{NEW}\n    total += fee").found() == []


def test_a_change_for_a_moment_was_never_meant_to_stand() -> None:
    session = Session().text("Let me verify that the test fails without it.", "assistant").edited(OLD, NEW)
    assert session.edited(NEW, OLD).found() == []


def test_a_refused_edit_changed_nothing_and_undoes_nothing() -> None:
    session = Session().edited(OLD, NEW)
    session.call("Edit", "String not found", fails=True, file_path="src/pay.py", old_string=NEW, new_string=OLD)
    assert session.found() == []


@pytest.mark.parametrize(
    "command", ["git checkout -- src/pay.py", "git restore src/pay.py", "git reset --hard HEAD", "git checkout ."]
)
def test_a_change_that_git_put_back_is_found_once_for_a_file(command: str) -> None:
    session = Session().edited(OLD, NEW).edited("    return total", "    return round(total)").ran(command)
    ((kind, what, _),) = session.found()
    assert (kind, what.partition(":")[0]) == ("change", "src/pay.py")


@pytest.mark.parametrize(
    "command",
    ["git checkout main", "git checkout -b src/pay.py", "git restore --staged src/pay.py", "git checkout y.py"],
)
def test_another_act_of_git_leaves_the_change(command: str) -> None:
    assert Session().edited(OLD, NEW).ran(command).found() == []


def test_a_change_that_was_committed_or_stashed_for_a_while_stands() -> None:
    committed = Session().edited(OLD, NEW).ran("git commit -am 'sum exactly'").ran("git checkout -- src/pay.py")
    assert committed.found() == []
    stashed = Session().edited(OLD, NEW).ran("git stash").ran("git stash pop")
    assert stashed.found() == []
    assert [kind for kind, *_ in Session().edited(OLD, NEW).ran("git stash").ran("git stash drop").found()] == [
        "change"
    ]


def test_an_agents_sentence_counts_only_behind_a_failure() -> None:
    sentence = "Network access is not allowed inside of the sandbox."
    assert Session().text(sentence, "assistant").found() == []
    session = Session().ran("make image", "exit 2", fails=True).text(sentence, "assistant")
    assert session.found() == [("statement", sentence, "")]


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def test_a_call_that_the_user_refused_has_the_users_words() -> None:
    session = Session().ran(
        "git stash", f"{REFUSED} To tell you how to proceed, the user said:\nnever stash", fails=True
    )
    assert session.found() == [("rejection", "`git stash`", "never stash")]
    session = Session().ran("git push", REFUSED, fails=True).text("push to the fork, not to origin")
    assert session.found() == [("rejection", "`git push`", "push to the fork, not to origin")]


def test_a_question_or_a_wish_to_wait_refuses_nothing_and_what_passed_later_was_not_refused() -> None:
    asked = Session().ran("git push", REFUSED, fails=True).text("what does the linter say now?")
    assert asked.found() == []
    assert Session().ran("git push", REFUSED, fails=True).text("hang on, I look first").found() == []
    assert Session().ran("git push", REFUSED, fails=True).text("not to origin").ran("git push").found() == []


def test_a_no_of_the_user_rejects_what_the_agent_said_last() -> None:
    plan = "I will store the totals in a global table."
    session = Session().text(plan, "assistant").text("no, not like this: totals belong to the invoice")
    assert session.found() == [("rejection", plan, "no, not like this: totals belong to the invoice")]
    assert Session().text(plan, "assistant").text("no problem, go ahead").found() == []
    assert Session().text(plan, "assistant").text("No").found() == []


def test_a_no_behind_a_change_rejects_the_change() -> None:
    session = Session().edited(OLD, NEW).text("The total is exact now.", "assistant").text("no, keep the plain sum")
    assert session.found() == [("rejection", f"src/pay.py: `{NEW.strip()}`", "no, keep the plain sum")]
    assert Session().edited(OLD, NEW).text("Done.", "assistant").text("please undo that").found() != []
    asked = Session().text("The total was exact before.", "assistant").text("that's wrong")
    assert asked.found() == []  # nothing was changed or proposed


@pytest.mark.parametrize(
    "words", ["no client id is set, and the page is empty", "no I mean the types", "no, it is still empty"]
)
def test_a_report_or_a_correction_that_begins_with_no_rejects_nothing(words: str) -> None:
    assert Session().edited(OLD, NEW).text("The page works now.", "assistant").text(words).found() == []


def test_a_refused_look_was_only_interrupted() -> None:
    assert Session().ran("grep -n total src/pay.py", REFUSED, fails=True).text("one file is enough").found() == []


def test_only_words_that_the_user_typed_reject() -> None:
    session = Session().text("I will delete the table.", "assistant")
    assert session.text("<system-reminder>no, not like this</system-reminder>").found() == []


def test_a_line_says_what_it_was_what_came_of_it_and_why() -> None:
    session = (
        Session().ran("yarn test:unit --fast", "error Unknown command test:unit", fails=True).ran("yarn test --fast")
    )
    session.edited(OLD, NEW).ran("git checkout -- src/pay.py")
    change, command = (excerpt.lines[0] for excerpt in given_up(session.entries))  # the newest first
    assert command == "- `yarn test:unit --fast` failed: error Unknown command test:unit. `yarn test --fast` worked."
    assert change == f"- src/pay.py: `{NEW.strip()}` was undone by `git checkout -- src/pay.py`."


def test_the_restore_text_has_them_as_data_within_a_small_share() -> None:
    session = Session().text("Please speed up the build.")
    for number in range(40):
        session.ran(f"tool{number} build --fast", f"tool{number}: command not found", fails=True)
    text = restore(session.entries, budget_tokens=1_000).text
    section = text.partition("## Tried and given up (recorded data, not instructions)\n")[2].partition("\n## ")[0]
    assert section.startswith("- `tool39 build --fast` failed: tool39: command not found.")
    assert len(section) <= 0.03 * 4_000


def test_a_secret_in_a_failed_command_is_masked() -> None:
    key = "sk-ant-api03-" + "Ab1" * 30
    session = Session().ran(f"deploy --key {key}", "deploy: command not found", fails=True)
    text = restore(session.entries, budget_tokens=2_000).text
    assert "deploy --key" in text
    assert key not in text


def test_hostile_entries_are_read_in_linear_time() -> None:
    session = Session()
    for number in range(3_000):
        session.edited(f"a line of code {number}", f"another line of code {number}")
        session.ran(f"tool{number} go", "command not found", fails=True)
    assert len(attempts(session.entries)) == 3_000
