"""Lessons of a session: statements of its user, and commands that worked after one that failed."""

from undrift.core.memory.lessons import MOST_OF_TRIED, MOST_OF_USER, lessons
from undrift.values.window import ContextEntry

RULE = "Never edit the lock file by hand."


def entry(number: int, kind: str, content: str, role: str = "user", **about: object) -> ContextEntry:
    metadata = {"kind": kind, "role": role, "message": number, "line": number + 1, **about}
    return ContextEntry(f"e{number}", "reasoning", content, 1, 1_000 + number, metadata)


def spoken(number: int, content: str, role: str = "user") -> ContextEntry:
    return entry(number, "text", content, role)


def ran(number: int, command: str, output: str, *, is_error: bool) -> list[ContextEntry]:
    pair = {"pair_id": f"p{number}", "tool_name": "Bash"}
    call = entry(number, "call", command, "assistant", input={"command": command}, **pair)
    return [call, entry(number + 1, "result", output, is_error=is_error, **pair)]


def test_a_statement_has_its_line_its_time_and_the_trust_of_a_user():
    (one,) = lessons([spoken(0, "Please fix it."), spoken(4, f"Fine. {RULE}")])
    assert (one.text, one.kind, one.trust, one.type) == (RULE, "rule", "user", "user_preference")
    assert (one.line, one.entry_id, one.at_ms) == (5, "e4", 1_004)


def test_only_typed_words_count_and_each_statement_once():
    entries = [
        spoken(0, RULE, "assistant"),
        spoken(1, f"<system-reminder>{RULE}</system-reminder>"),
        spoken(2, f"My colleague wrote:\n{RULE}"),
        entry(3, "text", RULE, meta=True),
        entry(4, "result", RULE),
        spoken(4, "Always run it on Fridays."),  # beside a result
        spoken(5, "[Request interrupted by user] never do that again"),
        spoken(6, "Never push on a Friday."),
        spoken(7, "never push  on a Friday."),
    ]
    assert [(one.text, one.line) for one in lessons(entries)] == [("never push on a Friday.", 8)]  # the newest counts


def test_words_of_the_agent_that_the_user_repeats_are_not_the_users():
    proposal = spoken(0, f"I see two ways.\n2. {RULE}", "assistant")
    assert lessons([proposal, spoken(1, f"do {RULE}"), spoken(2, RULE)]) == ()
    assert len(lessons([spoken(1, RULE), proposal])) == 1


def test_a_command_that_worked_after_one_that_failed_is_a_lesson_with_the_trust_of_a_tool():
    entries = [
        *ran(0, "npm run test:unit --fast", "npm error Missing script: test:unit", is_error=True),
        *ran(2, "npm run test --fast", "3 passed", is_error=False),
    ]
    (one,) = lessons(entries)
    assert one.text == (
        "`npm run test:unit --fast` failed: npm error Missing script: test:unit. `npm run test --fast` worked."
    )
    assert (one.kind, one.trust, one.type, one.line) == ("command", "tool", "lesson_learned", 4)


def test_a_failing_test_a_search_and_another_program_teach_nothing():
    for failed, output, worked in (
        ("npm run test --fast", "1 failed", "npm run test --slow"),
        ("grep -rn x src", "grep: src: No such file or directory", "grep -rn x lib"),
        ("npm run build --fast", "npm error Missing script", "go build ./cmd"),
        ("npm run build --fast", "npm error Missing script", "npm run make --fast || true"),
        ("cd web && npm run build", "bash: cd: web: No such file or directory", "npm run build"),
    ):
        entries = [*ran(0, failed, output, is_error=True), *ran(2, worked, "", is_error=False)]
        assert lessons(entries) == (), failed


def test_the_reason_that_the_agent_gives_behind_a_failure_is_a_lesson_with_the_trust_of_an_agent():
    failed = ran(0, "open popup.html", "blocked", is_error=True)
    why = spoken(3, "Hm. The popup flow won't work in an embedded view. Let me use a page.", "assistant")
    (one,) = lessons([*failed, why])
    assert (one.text, one.kind, one.trust) == ("The popup flow won't work in an embedded view.", "failure", "assistant")
    doubt = spoken(3, "It probably won't work in an embedded view.", "assistant")
    for other in ([why], [*failed, doubt], [*ran(0, "open popup.html", "fine", is_error=False), why]):
        assert lessons(other) == ()


def test_one_session_teaches_so_much_and_no_more():
    words = [spoken(number, f"Never open port {number} to the world.") for number in range(MOST_OF_USER + 9)]
    attempts = []
    for number in range(0, 4 * MOST_OF_TRIED + 8, 4):
        attempts += ran(100 + number, f"npm run a{number} --fast", "Missing script", is_error=True)
        attempts += ran(102 + number, f"npm run b{number} --fast", "", is_error=False)
    found = lessons([*words, *attempts])
    assert [sum(one.trust == trust for one in found) for trust in ("user", "tool")] == [MOST_OF_USER, MOST_OF_TRIED]
