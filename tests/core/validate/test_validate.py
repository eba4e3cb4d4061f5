"""A result summary is judged by its task's criteria and by the raw log that it is to replace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.validate_summaries import HALVES, LABELS, PAIRS, judge, read_pairs, table
from undrift.core.agent_rules import MIN_SUMMARY_CHARACTERS
from undrift.core.validate.service import (
    GROUNDING,
    READ_CHARACTERS,
    ValidationResult,
    ValidationService,
    without_annotation,
)
from undrift.errors import SummaryRejected

DOCUMENT = Path(__file__).parents[3] / "docs" / "tasks-validation.md"
SUCCESS = "\u2705 [Sigma Validation] All criteria met (Score: 1.00)"


@dataclass(frozen=True)
class Work:
    """What of a task is read."""

    acceptance_criteria: Sequence[str] = ()
    grounding: object = None
    grounding_evidence: object = None


def judged(summary: str, *criteria: str, log: str | Sequence[str] = ()) -> ValidationResult:
    return ValidationService().validate(Work(criteria), summary, [log] if isinstance(log, str) else log)


def met(criterion: str, summary: str) -> bool:
    result = judged(summary, criterion)
    assert result.missing_criteria in ((), (criterion,))
    assert result.is_valid == (not result.missing_criteria)
    return result.is_valid


def unsupported(summary: str, log: str) -> tuple[str, ...]:
    return judged(summary, log=log).unsupported


def hidden(summary: str, *logs: str) -> tuple[str, ...]:
    return judged(summary, log=logs).hidden_failures


# ------------------------------------------------------------------------------------------------------------- length
def test_a_summary_of_15_characters_passes_and_one_of_14_is_rejected_r3_16():
    assert MIN_SUMMARY_CHARACTERS == 15
    judged("x" * 15)
    with pytest.raises(SummaryRejected, match="14 characters of at least 15"):
        judged("x" * 14)


@pytest.mark.parametrize("summary", ["", "   done   \n\n          ", f"done\n\n{SUCCESS}", f"{SUCCESS}\n{SUCCESS}"])
def test_blanks_and_an_annotation_add_no_length_a3_11(summary):
    with pytest.raises(SummaryRejected):
        judged(summary)


@pytest.mark.parametrize(
    "line",
    [
        SUCCESS,
        "\u2705 [sigma validation] all good",
        "[Sigma Validation] All criteria met",
        "\u26a0 [Sigma Validation] Missing criteria: a",
        "  \u26a0\ufe0f [ Sigma  Validation ] x",
    ],
)
def test_an_annotation_or_its_look_alike_is_not_part_of_the_summary(line):
    assert without_annotation(f"Fixed the pager.\n\n{line}") == "Fixed the pager."


def test_a_summary_that_was_annotated_before_is_judged_as_before():
    first = judged("Fixed the pager in src/pager.py.", "Fix src/pager.py", "Add docs")
    again = judged("Fixed the pager in src/pager.py." + first.annotation, "Fix src/pager.py", "Add docs")
    assert first == again


# -------------------------------------------------------------------------------------------------------- annotations
def test_success_is_a_blank_line_and_the_seed_s_words_r3_15():
    result = judged("All 12 tests pass now.", "All tests must pass")
    assert result.annotation == "\n\n✅ [Sigma Validation] All criteria met (Score: 1.00)"
    assert (result.is_valid, result.score, result.missing_criteria) == (True, 1.0, ())


def test_failure_lists_what_is_missing_without_a_score_a3_12():
    result = judged("Looked at the code for a while.", "All tests must pass", "Update docs/a.md")
    assert result.annotation == "\n\n⚠️ [Sigma Validation] Missing criteria: All tests must pass, Update docs/a.md"
    assert result.annotation[2:4] == "\u26a0\ufe0f"
    assert (result.is_valid, result.is_partly_met, result.score) == (False, False, 0.0)


def test_a_partly_met_verdict_is_the_failure_with_its_score_and_not_valid_a3_10():
    done = "Changed src/a.py, src/b.py and src/c.py."
    result = judged(done, "Change src/a.py", "Change src/b.py", "Change src/c.py", "Change src/d.py")
    assert result.annotation == "\n\n⚠️ [Sigma Validation] Missing criteria: Change src/d.py (Score: 0.75)"
    assert (result.is_valid, result.is_partly_met) == (False, True)


def test_two_of_three_are_below_the_threshold():
    result = judged("Changed src/a.py and src/b.py.", "Change src/a.py", "Change src/b.py", "Change src/c.py")
    assert "Score" not in result.annotation
    assert not result.is_partly_met


def test_a_criterion_over_several_lines_stays_on_one_in_the_annotation():
    assert judged("Nothing of the kind here.", "Add\n\n  docs/x.md").missing_criteria == ("Add docs/x.md",)


@pytest.mark.parametrize("criteria", [(), ("", "  ")])
def test_without_anything_to_check_nothing_is_valid_and_nothing_is_claimed_ax_1(criteria):
    result = judged("Rewrote the pager and its tests.", *criteria)
    assert (result.is_valid, result.score, result.annotation) == (False, 0.0, "")
    assert "nothing was checked" in result.reason


# ---------------------------------------------------------------------------------------------------------- grounding
CITED = {"citations": [{"overlay": "docs", "content": "x"}], "queries_executed": []}
ASKED = {"citations": [], "queries_executed": ["pager"]}


@pytest.mark.parametrize(
    ("grounding", "evidence", "valid"),
    [
        ({"strategy": "pgc_first", "evidence_required": True}, ASKED, True),
        ({"strategy": "pgc_first", "evidence_required": True}, None, False),
        ({"strategy": "pgc_first", "evidence_required": True}, {"citations": [], "queries_executed": []}, False),
        ({"strategy": "pgc_cite"}, CITED, True),
        ({"strategy": "pgc_cite"}, ASKED, False),
        ({"strategy": "none"}, CITED, False),
        ({"strategy": "pgc_verify", "evidence_required": False}, CITED, False),
    ],
)
def test_required_grounding_is_one_check_among_the_criteria_r3_14(grounding, evidence, valid):
    result = ValidationService().validate(Work((), grounding, evidence), "Rewrote the pager and its tests.")
    assert result.is_valid == valid
    assert result.evidence_found == (evidence in (CITED, ASKED))
    needed = grounding.get("evidence_required") or grounding["strategy"] == "pgc_cite"
    assert (GROUNDING in result.missing_criteria) == (bool(needed) and not valid)


def test_a_missing_evidence_lowers_the_score_of_met_criteria():
    task = Work(["All tests must pass"], {"strategy": "pgc_cite", "evidence_required": True}, ASKED)
    result = ValidationService().validate(task, "All 12 tests pass now.")
    assert (result.score, result.missing_criteria) == (0.5, (GROUNDING,))


# ----------------------------------------------------------------------------------------------------------- criteria
@pytest.mark.parametrize(
    ("criterion", "summary"),
    [
        ("npm run ci", "`npm run ci` is green after the change."),
        ("npm run ci passes", "Ran npm run ci: passed."),
        ("All tests must pass", "All 12 tests pass now."),
        ("All tests must pass", "The test suite is green (12 tests)."),
        ("Tests must not fail", "12 tests, 0 failures after that."),
        ("mypy --strict src reports no errors", "mypy --strict src has no errors left."),
        ("Fix the crash in src/a.py", "The crash in `src/a.py` is fixed."),
        ("Fix the crash in ./src/a.py", "The crash in src/a.py is fixed."),
        ("Fix the crash in src/a.py", "The crash in ./src/a.py is fixed."),
        ("go test ./internal/httpd is ok", "go test ./internal/httpd is ok."),
        ("go vet ./... passes", "go vet ./... passes."),
        ("./gradlew :app:test passes", "./gradlew :app:test passes."),
        ("The public API must not change", "The public API did not change."),
        ("Limit is 4096 bytes", "The limit is now 4096 bytes."),
        ("Rename `old name` to `new name`", "Renamed `old name` to `new name`."),
        ("All tests must pass", "At first two tests did not pass. After the fix all tests pass."),
        ("ログを保存する", "変更後はログを保存するようになった、と確認した。"),
    ],
)
def test_a_criterion_is_met_by_what_says_so(criterion, summary):
    assert met(criterion, summary)


@pytest.mark.parametrize(
    ("criterion", "summary"),
    [
        ("All tests must pass", "Nothing must be done."),
        ("All tests must pass", "All tests must pass before the merge."),
        ("All tests must pass", "The tests do not pass."),
        ("All tests must pass", "All tests pass except two of them."),
        ("All tests must pass", "All tests pass, but later the tests did not pass."),
        ("All tests must pass", "Tests are still failing in one place."),
        ("All tests must pass", "The tests should pass now."),
        ("All tests must pass", "Wrote tests. The lint is ok."),
        ("npm run ci", "Ran npm and the rest of the ci."),
        ("npm run ci", "npm run citest is green now."),
        ("npm run ci", "npm run ci fails in the lint step."),
        ("Fix the crash in src/a.py", "The crash in src/a.pyx is fixed."),
        ("Fix the crash in src/a.py", "The crash in lib/src/a.py is fixed."),
        ("Limit is 4096 bytes", "The limit is now 40960 bytes."),
        ("Limit is 4096 bytes", "The limit is now 2048 bytes."),
        ("Use retry_count", "Now retry_counter is in use."),
        ("The public API must not change", "The public API was changed."),
        ("Add docs/x.md", "I was unable to add docs/x.md."),
        ("Add docs/x.md", "docs/x.md is yet to be added."),
    ],
)
def test_a_criterion_is_not_met_by_what_denies_hopes_or_only_sounds_like_it_a3_10(criterion, summary):
    assert not met(criterion, summary)


# ------------------------------------------------------------------------------------------------------------ raw log
LOG = """$ pytest tests/test_pager.py
src/shop/pager.py:18: in paginate_items
commit 8c1f0aa91, peak 71.3 MB, 1,204 rows
3 passed in 0.31s
$ pytest tests/test_cart.py
4 passed in 0.52s
"""


@pytest.mark.parametrize(
    "summary",
    [
        "`paginate_items` in src/shop/pager.py:18 was the cause.",
        "PaginateItems is called from pager.py as well.",
        "Commit 8c1f0aa holds it; the peak is 71 MB, 1204 rows.",
        "All 7 tests pass (3 and 4).",
        "Both took about 0.8s, JSON over HTTP/2 in UTF-8.",
        "1. Read it\n2. Changed it\n3. Ran the tests, 2 places.",
        'It says "commit with a peak" somewhere in the log.',
    ],
)
def test_what_the_log_holds_or_leads_to_is_supported(summary):
    assert unsupported(summary, LOG) == ()


@pytest.mark.parametrize(
    ("summary", "names"),
    [
        ("Fixed by `PageCursor` in the pager.", ("PageCursor",)),
        ("Moved it to src/shop/cursor.py for good.", ("src/shop/cursor.py",)),
        ("All 34 tests pass with that.", ("34",)),
        ("Commit 9d77e10 holds the change.", ("9d77e10",)),
        ("The peak fell to 12 MB with that.", ("12 MB",)),
        ("Set MAX_ROWS and page.cursor.limit for it.", ("MAX_ROWS", "page.cursor.limit")),
        ('The message is "invalid cursor position" there.', ("invalid cursor position",)),
    ],
)
def test_what_is_nowhere_in_the_log_is_named(summary, names):
    assert unsupported(summary, LOG) == names


def test_a_verdict_that_nothing_in_the_log_speaks_for_is_named():
    assert unsupported("All tests pass after the change.", "def f():\n    return 1\n") == ("passed",)
    assert unsupported("One of the tests fails now.", "def f():\n    return 1\n") == ("failed",)


def test_without_a_log_nothing_is_compared():
    assert judged("Fixed PageCursor in src/x.py, 99 tests.", log=["", " \n"]).is_faithful
    assert not judged("Fixed PageCursor in src/x.py, 99 tests.", log="x").is_faithful


def test_what_the_log_does_not_hold_leaves_the_criteria_alone_ax_1():
    result = judged("Fixed src/nowhere.py for good.", "Fix src/nowhere.py", log=LOG)
    assert result.is_valid
    assert not result.is_faithful
    assert "src/nowhere.py" in result.reason


# ---------------------------------------------------------------------------------------------------- hidden failures
FAILED = "$ pytest tests -q\nFAILED tests/test_a.py::test_one - assert 1 == 2\n1 failed, 3 passed in 0.4s\n"
PASSED = "$ pytest tests -q\n4 passed in 0.4s\n"


def test_a_failure_at_the_end_of_the_log_may_not_be_left_out():
    assert hidden("Rewrote the pager as asked.", FAILED) == ("pytest: 1 failed, 3 passed in 0.4s",)
    assert hidden("Rewrote the pager; test_one fails.", FAILED) == ()
    assert hidden("Rewrote the pager, tests do not pass.", FAILED) == ()
    assert hidden("Fixed the failing test of the pager.", FAILED) != ()


def test_the_failure_that_is_told_does_not_cover_for_another():
    other = "$ cargo test\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n"
    found = hidden("Rewrote the pager; test_one fails.", FAILED, other)
    assert len(found) == 1
    assert found[0].startswith("cargo test: ")


@pytest.mark.parametrize(
    "later",
    [
        PASSED,
        "$ pytest\n4 passed in 0.4s\n",
        "$ python -m pytest tests/test_a.py\n1 passed in 0.1s\n",
        "$ pytest tests/test_a.py::test_one\n1 passed in 0.1s\n",
        "4 passed in 0.4s\n",
    ],
)
def test_a_later_run_of_the_same_puts_a_failure_right(later):
    assert hidden("Rewrote the pager as asked.", FAILED, later) == ()


@pytest.mark.parametrize(
    "later",
    ["$ pytest tests/test_b.py\n2 passed in 0.1s\n", "$ ls\na.py\n", "$ cargo test\ntest result: ok. 1 passed\n"],
)
def test_a_later_run_of_something_else_does_not(later):
    assert hidden("Rewrote the pager as asked.", FAILED, later) != ()


def test_silence_of_the_same_command_is_a_pass():
    assert (
        hidden("Typed the chart properly.", "$ npx tsc --noEmit\na.ts(1,2): error TS2345: x\n$ npx tsc --noEmit\n")
        == ()
    )


@pytest.mark.parametrize(
    "text",
    [
        "make: *** [Makefile:22: e2e] Error 1",
        "npm ERR! code ELIFECYCLE",
        "FAIL\texample.org/edge/internal\t0.2s",
        "--- FAIL: TestX (0.00s)",
        "BUILD FAILED in 6s",
        "25 examples, 1 failure",
        "FAILED (failures=1)",
        "Found 2 errors in 2 files.",
        "1 problem (1 error, 0 warnings)",
        "Process exited with code 137",
        "Traceback (most recent call last):",
        "error[E0308]: mismatched types",
        "src/a.c:3:5: error: expected ';'",
        "fatal: not a git repository",
        "CONFLICT (content): Merge conflict in a.py",
        "\x1b[31mTests:       1 failed, 60 passed, 61 total\x1b[0m",
        "test result: FAILED. 17 passed; 1 failed",
    ],
)
def test_the_verdicts_of_common_tools_are_known(text):
    assert hidden("Rewrote the pager as asked.", f"working\n{text}\nbye\n") == (
        text.replace("\x1b[31m", "").replace("\x1b[0m", ""),
    )


@pytest.mark.parametrize(
    "text",
    [
        "37 tests, 0 failures",
        "6 ok, 0 failed",
        "exit code 0",
        "test result: ok. 18 passed; 0 failed; 0 ignored",
        "    raise ValueError('failed to parse')",
        '    return fmt.Errorf("error: %d failed", n)',
        "42\tlogger.error('request failed')",
        "./auth/session.go:88:\tif err != nil { // error path failed",
        "def test_failed_login(): ...",
        "- [ ] handle the error",
        "FAILED tests " * 50,
    ],
)
def test_code_and_good_verdicts_are_no_failures(text):
    assert hidden("Rewrote the pager as asked.", f"working\n{text}\nbye\n") == ()


def test_a_hidden_failure_speaks_against_a_criterion_of_its_command_and_no_other():
    said = "pytest tests passes and make lint passes."
    result = judged(said, "pytest tests/ must pass", "make lint passes", log=FAILED)
    assert judged(said, "The tests pass", log=FAILED).missing_criteria == ("The tests pass",)
    assert "make lint passes" not in result.missing_criteria


# ------------------------------------------------------------------------------------------------------------- always
@given(st.text(min_size=0, max_size=300), st.text(max_size=60), st.text(max_size=300))
def test_any_texts_give_one_and_the_same_verdict(summary, criterion, log):
    try:
        first = judged(summary, criterion, log=log)
    except SummaryRejected:
        assert len(without_annotation(summary)) < MIN_SUMMARY_CHARACTERS
        return
    assert first == judged(summary, criterion, log=log)
    assert 0 <= first.score <= 1
    assert first.is_valid == (bool(criterion.strip()) and not first.missing_criteria)


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "fail\n", "a_b ", "`", '"', "not and ", "no ", "(", "\x1b[1", "$ make x\n", "a/"]
)
def test_large_hostile_texts_are_read_to_the_end(piece):
    text = piece * (300_000 // len(piece))
    result = judged("x " * 20 + text, "npm run ci", log=text)
    assert result.missing_criteria == ("npm run ci",)


def test_what_stands_behind_the_first_20_000_characters_meets_nothing():
    assert READ_CHARACTERS == 20_000
    assert not met("npm run ci", "x " * READ_CHARACTERS + "npm run ci is green.")


# -------------------------------------------------------------------------------------------------------- labelled set
def test_the_labelled_set_has_at_least_60_pairs_and_every_label_in_both_halves():
    halves = [list(read_pairs(PAIRS / f"{half}.txt")) for half in HALVES]
    assert sum(map(len, halves)) >= 60
    for pairs in halves:
        assert {pair.label for pair in pairs} == set(LABELS)
        assert len({pair.name for pair in pairs}) == len(pairs)


def test_every_pair_of_the_half_that_rules_were_made_on_is_judged_right():
    for pair in read_pairs(PAIRS / "shown.txt"):
        result = judge(pair)
        assert frozenset(result.missing_criteria) == pair.missing, pair.name
        assert bool(result.hidden_failures) == pair.hides, pair.name
        assert (result.is_valid and result.is_faithful) == (pair.label == "true"), pair.name


def test_a_pair_is_judged_by_its_log():
    pair = next(pair for pair in read_pairs(PAIRS / "shown.txt") if pair.name == "pager-1")
    assert judge(pair).is_faithful
    assert not judge(replace(pair, log="nothing of it")).is_faithful


def test_the_document_holds_the_figures_that_the_benchmark_prints():
    text = DOCUMENT.read_text(encoding="utf-8")
    for half in HALVES:
        assert table(list(read_pairs(PAIRS / f"{half}.txt"))) in text, f"put the table of {half} into {DOCUMENT.name}"
