"""Contradictions: what each rule takes for one, what it leaves alone, and how often it is right on labelled pairs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.contradiction import PAIRS, TUNING, count, read_pairs, wilson_lower
from undrift.core.contradict.lexicon import relation_of
from undrift.core.contradict.rules import compare
from undrift.core.contradict.verdicts import LONGEST_STATEMENT, SUPERSEDE_CONFIDENCE, judge, slots_of
from undrift.values.memory import MemoryEntry, Slot


def found(older: str, newer: str) -> tuple[str, str]:
    finding = compare(older, newer)
    return finding.kind, finding.rule


@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [
        ("Use PostgreSQL", "Use SQLite", "value:database"),
        ("Run the API on port 8080.", "Run the API on port 9090.", "value:port"),
        ("Retry 3 times.", "Retry five times.", "value:count"),
        ("The cache TTL is 5 min.", "The cache TTL is 1 hour.", "value:duration"),
        ("Dark mode is enabled.", "Dark mode is not enabled.", "value:switch"),
        ("The project targets Python 3.11.", "The project targets Python 3.12.", "value:version"),
        ("The mirror host is atlas-1.", "The mirror host is atlas-2.", "value:name"),
        ("Ann leads the search team.", "Bob leads the search team.", "value:role"),
        ("The sync job locks the table.", "The sync job does not lock the table.", "polarity"),
        ("Use luxon for dates.", "Use day.js instead of luxon for dates.", "correction:displaced"),
        ("The demo uses Lua.", "The demo no longer uses Lua.", "polarity"),
    ],
)
def test_a_contradiction_names_its_rule_and_what_it_rests_on(older: str, newer: str, rule: str) -> None:
    finding = compare(older, newer)
    assert (finding.kind, finding.rule) == ("contradiction", rule)
    assert finding.older
    assert finding.newer
    assert finding.confidence >= SUPERSEDE_CONFIDENCE


@pytest.mark.parametrize("number", ["{}. ", "### {}. ", "  {}) ", "- ({}) ", "> **{}.** ", "## 1.{}. "])
def test_the_number_of_a_heading_or_of_a_lists_item_is_no_value(number: str) -> None:
    older, newer = (
        f"Steps of the release:\n{number.format(n)}{what}" for n, what in ((1, "Tag it"), (2, "Announce it"))
    )
    assert found(older, newer)[0] == "none"
    assert slots_of(newer) == ()
    text = f"{number.format(3)}The retry limit is 5."
    assert [slot.value for slot in slots_of(text)] == ["5"]
    assert found(text, f"{number.format(4)}The retry limit is 7.") == ("contradiction", "value:number")


@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [
        ("The parser demo is on 12 May.", "The parser demo slipped to the 26th.", "value"),
        ("Exports get stopped after two hours.", "The exporter lets exports run up to nine hours now.", "value"),
        ("The archive disk costs 40 euros a month.", "The archive disk costs 55 a month since June.", "value"),
        ("All lamp settings live in /opt/lamp/conf.", "The lamp settings were moved under /srv/lamp/conf.", "value"),
        (
            "The wiki is at https://wiki.quarry.example.",
            "The address of the wiki is now https://w.quarry.example.",
            "value",
        ),
        ("Ask Mira about the importer.", "The importer belongs to Jonas these days, leave Mira alone.", "value"),
        ("The table is called user_rows.", "user_rows became account_rows.", "named"),
        ("I've never used Terraform.", "We have been on Terraform since May.", "denial"),
        ("Dark mode is not supported in the viewer.", "The viewer has had dark mode since March.", "denial"),
        ("I live in Lyon", "I moved to Porto last month", "home"),
    ],
)
def test_a_change_is_found_without_a_list_of_values_and_closes_nothing(older: str, newer: str, rule: str) -> None:
    finding = compare(older, newer)
    assert (finding.kind, finding.rule) == ("contradiction", f"change:{rule}")
    assert finding.confidence < SUPERSEDE_CONFIDENCE


def test_a_year_and_a_leading_no_are_read() -> None:
    assert found("The report is due on 3 May 2026.", "The report is due on 2026-05-03.") == ("reinforce", "same")
    assert found("The report is due on 3 May 2026.", "The report is due on 2026-05-04.") == (
        "contradiction",
        "value:date",
    )
    assert found("No direct commits to main.", "Direct commits to main.") == ("contradiction", "polarity")
    assert found("Take care of yourself.", "No worries, take care of yourself.")[0] != "contradiction"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We use Terraform for the AWS accounts.", "We use Terraform for the Azure accounts."),
        ("Emma approves expenses over 500 euros.", "Emma approves expenses up to 500 dollars."),
        ("User has given up on Vim and edits in Helix.", "Helix has replaced Vim as the editor."),
        ("We bought a licence for IntelliJ.", "They dropped IntelliJ at the office."),
    ],
)
def test_two_scopes_two_bounds_and_what_was_said_before_close_nothing(older: str, newer: str) -> None:
    assert compare(older, newer).confidence < SUPERSEDE_CONFIDENCE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The parser demo is on 12 May.", "The printer demo slipped to 26 May."),
        ("The left sensor reads 4 volts.", "The right sensor reads 9 volts now."),
        ("Redis is on 6379 in dev.", "Redis in CI has been on 6380 since June."),
        ("Mira maintains the importer.", "Mira asked Jonas to look at the importer yesterday."),
        ("I've never used Terraform.", "My brother has been on Terraform since May."),
        ("Never run the migration without a backup.", "I ran the migration after the backup."),
        ("The lobby holds 16 players.", "I'd suggest that the lobby holds 32 players now."),
        ("The import job runs in Oslo.", "The import job used to run in Turin."),
        ("The course has twenty pupils from Oslo.", "There are nine pupils from Turin in the course."),
        ("Job A runs on Node 20.", "Job B runs on Node 22."),
        ("CI runs on Node 22.", "CI runs on Node 22.4 on Linux runners."),
        ("The report is due on 3 May 2026.", "The report is due on 3 May."),
        ("Thanks, Mira! Your support means a lot.", "Thanks, Jonas! Your support has been great lately."),
    ],
)
def test_what_changes_nothing_is_left_alone(older: str, newer: str) -> None:
    assert found(older, newer)[0] == "none"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Use PostgreSQL in production.", "Use SQLite in the tests."),  # another environment
        ("Redis is used for caching.", "PostgreSQL is used for storage."),  # another purpose
        ("The SDK supports Python.", "The SDK supports Go."),  # many values
        ("We use PostgreSQL.", "We also use Redis."),  # additive
        ("Use PostgreSQL", "Should we use SQLite?"),  # a question
        ("Use PostgreSQL", "We considered SQLite."),  # tentative
        ("We host on GCP.", "We used to host on AWS."),  # the past
        ("Task 3 took 20 minutes.", "Task 4 took 35 minutes."),  # another thing
        ("The old parser does not stream.", "The new parser streams."),
        ("Use Redis for the queue.", "Use Redis for the queue, not for sessions."),  # a refinement
        ("The house is at the river.", "The horse is at the stable."),  # no relation that anybody declared
        ("", "Use SQLite"),
        ("...", "!?"),
    ],
)
def test_what_is_no_contradiction_is_left_alone(older: str, newer: str) -> None:
    assert found(older, newer)[0] == "none"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Use PostgreSQL", "Use Postgres."),
        ("The request timeout is 30 minutes.", "The request timeout is 30 min."),
        ("Uploads are not allowed.", "Uploads are forbidden."),
        ("Never use mocks.", "Never use mocks."),
    ],
)
def test_a_repeat_reinforces(older: str, newer: str) -> None:
    assert found(older, newer) == ("reinforce", "same")


def test_slots_are_what_is_stated_with_its_place_and_environment() -> None:
    assert slots_of("Use Postgres for the ledger in production") == (Slot("ledger", "database", "prod", "postgresql"),)
    assert slots_of("Use SQLite") == (Slot("", "database", "", "sqlite"),)
    assert slots_of("Maybe use SQLite") == slots_of("We don't use SQLite") == slots_of("We used to use SQLite") == ()


def test_an_undeclared_relation_has_many_values() -> None:
    assert relation_of("likes").cardinality == "many"
    assert relation_of("database").cardinality == relation_of("count:time").cardinality == "one"
    assert (relation_of("licence").volatility, relation_of("switch").volatility) == ("static", "fast")


# --------------------------------------------------------------------------------------------------------- the verdict


def entry(id: str, content: str, at: int, **fields: object) -> MemoryEntry:
    return MemoryEntry(id, content, created_at_ms=at, **fields)  # type: ignore[arg-type]


def verdict(old: MemoryEntry, new: MemoryEntry) -> tuple[str, str, str]:
    (one,) = judge(new, [old])
    return one.kind, one.winner_id, one.reason


def test_the_later_statement_supersedes_whichever_arrives_first() -> None:
    first, second = entry("a", "Use PostgreSQL", 1), entry("b", "Use SQLite", 2)
    assert verdict(first, second) == verdict(second, first) == ("supersede", "b", "")


def test_of_two_statements_in_one_millisecond_the_one_recorded_later_is_the_later() -> None:
    assert verdict(entry("a", "Use PostgreSQL", 1, seq=1), entry("b", "Use SQLite", 1, seq=2)) == ("supersede", "b", "")


def test_two_dated_statements_about_one_moment_stay_open() -> None:
    first = entry("a", "Use PostgreSQL", 5, valid_from_ms=1)
    assert verdict(first, entry("b", "Use SQLite", 6, valid_from_ms=1)) == ("open_conflict", "b", "time")


TIERS = ["tool", "assistant", "task", "user"]


@pytest.mark.parametrize("old", TIERS)
@pytest.mark.parametrize("new", TIERS)
def test_a_lower_tier_never_supersedes_a_higher_one(old: str, new: str) -> None:
    kind, _, reason = verdict(entry("a", "Use PostgreSQL", 1, trust=old), entry("b", "Use SQLite", 2, trust=new))
    weaker = TIERS.index(new) < TIERS.index(old)
    assert (kind, reason) == (("open_conflict", "trust") if weaker else ("supersede", ""))


def test_a_user_and_a_specification_supersede_each_other() -> None:
    assert (
        verdict(entry("a", "Use PostgreSQL", 1, trust="spec"), entry("b", "Use SQLite", 2, trust="user"))[0]
        == "supersede"
    )
    assert (
        verdict(entry("a", "Use PostgreSQL", 1, trust="user"), entry("b", "Use SQLite", 2, trust="spec"))[0]
        == "supersede"
    )


def test_a_pin_is_never_superseded() -> None:
    assert verdict(entry("a", "Use PostgreSQL", 1, pinned=True), entry("b", "Use SQLite", 2))[::2] == (
        "open_conflict",
        "pinned",
    )


def test_low_confidence_never_supersedes() -> None:
    old, new = entry("a", "Local runs use SQLite.", 1), entry("b", "Local Dockerised runs use MySQL.", 2)
    (one,) = judge(new, [old])
    assert one.confidence < SUPERSEDE_CONFIDENCE
    assert (one.kind, one.reason) == ("open_conflict", "confidence")


def test_a_narrower_scope_does_not_supersede_a_wider_one_and_private_ones_never_meet() -> None:
    wide = entry("a", "Use PostgreSQL", 1)
    mine = entry("b", "Use SQLite", 2, scope="session", session_id="s1")
    theirs = entry("c", "Use MySQL", 3, scope="session", session_id="s2")
    assert verdict(wide, mine) == ("open_conflict", "b", "scope")
    assert judge(theirs, [mine]) == ()
    assert verdict(mine, entry("d", "Use MySQL", 3, scope="session", session_id="s1"))[0] == "supersede"


def test_a_long_text_neither_closes_a_statement_nor_is_closed_by_one() -> None:
    padded = ("Use SQLite. " + "It is a file that is easy to copy, " * 20)[:LONGEST_STATEMENT]
    assert verdict(entry("a", "Use PostgreSQL", 1), entry("b", padded, 2))[0] == "supersede"
    longer = padded + "."
    assert judge(entry("b", longer, 2), [entry("a", "Use PostgreSQL", 1)]) == ()
    assert judge(entry("b", "Use PostgreSQL", 2), [entry("a", longer, 1)]) == ()
    assert verdict(entry("a", longer, 1), entry("b", longer, 2))[0] == "reinforce"


@pytest.mark.parametrize("form", ["- {}\n- Keep it small", "```\n{}\n```", "> {}", 'Ann wrote "well, {} from now on"'])
def test_a_list_code_and_a_quotation_contradict_nothing(form: str) -> None:
    old, new = entry("a", "Use PostgreSQL", 1), entry("b", form.format("Use SQLite"), 2)
    assert verdict(old, replace(new, content="Use SQLite"))[0] == "supersede"
    assert judge(new, [old]) == judge(old, [new]) == ()


def test_a_statement_of_several_things_is_not_closed_for_one_of_them() -> None:
    old = entry("a", "Use PostgreSQL. Deploy on Fridays.", 1)
    assert verdict(old, entry("b", "Use SQLite", 2)) == ("open_conflict", "b", "several")


def test_a_change_is_looked_for_only_between_statements_of_one_speaker() -> None:
    old = entry("a", "The demo is on 12 May.", 1, speaker="Ann")
    new = entry("b", "The demo slipped to the 26th.", 2, speaker="Ann")
    assert verdict(old, new) == ("open_conflict", "b", "confidence")
    assert judge(replace(new, speaker="Bob"), [old]) == ()


def test_what_another_speaker_says_closes_nothing() -> None:
    anns = entry("a", "The API listens on port 8080.", 1, speaker="Ann")
    for name in ("Bob", ""):
        later = entry("b", "The API listens on port 9090.", 2, speaker=name)
        assert verdict(anns, later) == ("open_conflict", "b", "speaker")
        assert verdict(later, replace(anns, id="c", valid_from_ms=3))[2] == "speaker"
    assert verdict(anns, entry("b", "The API listens on port 9090.", 2, speaker=" ANN"))[0] == "supersede"


def test_an_entry_is_never_compared_with_itself() -> None:
    assert judge(entry("a", "Use SQLite", 2), [entry("a", "Use PostgreSQL", 1)]) == ()


# ------------------------------------------------------------------------------------------------------- how often right


def test_the_labelled_set_is_balanced_and_half_of_it_is_set_aside() -> None:
    pairs = read_pairs(PAIRS)
    assert len(pairs) >= 300
    assert len({pair.id for pair in pairs}) == len(pairs)
    for half in ("dev", "held"):
        of_half = [pair for pair in pairs if pair.half == half]
        assert 0.45 < sum(pair.is_contradiction for pair in of_half) / len(of_half) < 0.55


def test_on_the_half_set_aside_nine_of_ten_contradictions_found_are_ones() -> None:
    tally = count(pair for pair in read_pairs(PAIRS) if pair.half == "held")["all"]
    assert tally.precision >= 0.9
    assert wilson_lower(tally.hits, tally.hits + tally.false_alarms) >= 0.85
    assert tally.recall >= 0.8


def test_on_the_pairs_that_the_rules_were_made_with_nearly_all_are_right() -> None:
    tally = count([pair for pair in read_pairs(PAIRS) if pair.half == "dev"] + read_pairs(TUNING))["all"]
    assert tally.precision >= 0.97
    assert tally.recall >= 0.95


# ------------------------------------------------------------------------------------------------------- hostile input


@given(st.text(), st.text())
def test_any_text_gets_an_answer(older: str, newer: str) -> None:
    assert compare(older, newer).kind in ("contradiction", "reinforce", "none")
    slots_of(older)


@given(
    st.lists(
        st.sampled_from(
            [
                "Use",
                "PostgreSQL",
                "SQLite",
                "is",
                "not",
                "port",
                "80",
                "²",
                "٣",
                "1:2",
                "=",
                ":",
                ",",
                ".",
                ";",
                "instead",
                "of",
                "from",
                "to",
                "no",
                "longer",
                "Go",
                "C",
                "C++",
                "3.1",
                "$5",
                "%",
                "every",
                "hour",
                "�",
                "\x00",
                "March",
                "99999999999999999999",
                "v1",
                "2025-01-01",
                "12:30",
                "5pm",
            ]
        )
    ).map(" ".join)
)
def test_any_mixture_of_what_the_rules_look_for_gets_an_answer(text: str) -> None:
    compare("The API is on port 8080 of PostgreSQL 16.", text)
    compare(text, "Use SQLite instead of PostgreSQL.")


def test_a_huge_text_is_read_at_its_beginning_only() -> None:
    assert found("Use PostgreSQL", "Use SQLite. " + "x " * 2_000_000)[0] == "contradiction"
    assert found("Use PostgreSQL", "x " * 2_000_000 + ". Use SQLite.")[0] == "none"
