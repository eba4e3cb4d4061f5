"""Two statements that say the same, and two that only look so: the near misses matter more."""

import pytest

from undrift.core.contradict.verdicts import LONGEST_STATEMENT
from undrift.core.memory.restated import says_the_same

SAME = (
    ("User prefers concise answers.", "Keep answers short, please."),
    ("The search service listens on port 9200.", "search-service port: 9200"),
    ("Ana lives in Oslo.", "Oslo is where Ana is based these days."),
    ("Never commit directly to main; open a pull request.", "All changes go through a PR, nobody pushes straight to main."),
    ("No direct commits on the main branch - every change needs a PR", "Never commit directly to main; open a pull request."),
    ("The report is due on 3 May 2026.", "Deadline for the report: 2026-05-03"),
    ("The report is due on May 3, 2026.", "Deadline for the report: 2026-05-03"),
    ("The request timeout is 30 minutes.", "The request timeout: 30 min"),
    ("Yuki maintains the renderer.", "The renderer is maintained by Yuki."),
    ("No release on Fridays.", "We don't ship anything on a Friday."),
    ("The default branch is main.", "main is the default branch."),
    ("We run backups every day.", "Backups are run daily."),
    ("Ask me before deleting a branch.", "No branch may be erased unless I have been asked first."),
    ("The crew meets on Mondays at half past six in the evening.", "Meeting of the crew: Monday, 6:30 pm."),
    ("We picked Vue over Angular for the shop page.", "Decision on the shop page: Vue rather than Angular."),
    ("Invoices bigger than 5 MB are rejected.", "We won't accept an invoice over 5 megabytes."),
    ("Write texts without emoji.", "My texts should be emoji-free, because they look childish."),
    ("The logs are kept under /srv/logs.", "/srv/logs is the folder that holds the logs."),
)  # fmt: skip
ANOTHER = (
    ("The staging server runs on port 5433.", "The production server runs on port 5433."),
    ("The server runs on port 5433.", "The server runs on port 5432."),
    ("Tomas is allergic to nuts.", "Tomas's sister is allergic to nuts."),
    ("Run all tests before every release.", "Run all tests before every commit."),
    ("Run all tests before every release.", "Run all tests after every release."),
    ("The user's son rides a horse.", "The user's son hopes to ride a horse."),
    ("The nightly job prunes old logs.", "The nightly job is going to prune old logs."),
    ("The user drinks coffee.", "The user no longer drinks coffee in the morning."),
    ("The user drinks coffee at home.", "The user no longer drinks coffee at home."),
    ("Deploys are allowed on Fridays.", "Deploys are not allowed on Fridays."),
    ("Deploys are allowed on Fridays.", "Deploys are allowed on Fridays only with approval."),
    ("Use tabs, never spaces.", "Use spaces, never tabs."),
    ("The cache calls the database.", "The database calls the cache."),
    ("Ana is from Oslo and likes tea.", "Ana is in Oslo and likes tea."),
    ("Ana works in Oslo.", "Ana worked in Oslo."),
    ("Ana ran five miles in Oslo today.", "Ana ran five miles in Oslo today."),
    ("Does Ana live in Oslo?", "Ana lives in Oslo."),
    ("We may deploy with Docker on Monday.", "We deploy with Docker on Monday."),
    ("TLS is turned on for the proxy.", "TLS is turned off for the proxy."),
    ("She holds a red jacket and a white glass.", "She holds a white jacket and a red glass."),
    ("Ana owns the parser.", "Ana wrote the parser."),
    ("The worker reads from Redis and writes to Kafka.", "The worker reads from Kafka and writes to Redis."),
    ("The web listens on port 80 and the API on port 443.", "The web listens on port 443 and the API on port 80."),
    ("Logs go to /a/b and dumps to /c/d.", "Dumps go to /a/b and logs to /c/d."),
    ("I play the cello at home.", "I want to play the cello at home."),
    ("Reply in French.", "Reply in French if I write in French."),
    ("Ask before sending an email.", "Ask before sending an email to a client."),
    ("Ana is in charge of Oslo.", "Ana is from Oslo."),
    ("The tests need the proxy on macOS.", "The tests fail with the proxy on macOS."),
    ("Thank you!", "Thanks a lot!"),
    ("", ""),
    ("? ; - ,", "? ; - ,"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_thing_in_other_words_is_the_same(one: str, other: str):
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(("one", "other"), ANOTHER)
def test_another_thing_value_place_time_condition_or_denial_is_not(one: str, other: str):
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)


def test_a_long_text_says_more_than_one_thing():
    text = "Ana lives in Oslo " + "and likes the old harbour there " * 20
    assert len(text) > LONGEST_STATEMENT
    assert not says_the_same(text, text)


@pytest.mark.parametrize("piece", ["- ", "a-", "No ", "every day ", ", ", "not ", "is x", "1 May, "])
def test_hostile_texts_take_no_time(piece: str):
    text = (piece * 350)[:LONGEST_STATEMENT]
    assert says_the_same(text, text + " ") in (True, False)
