"""Tells how a clause of a rule continues: as a list, as what is wanted instead, or not at all. Pure, bounded."""

from undrift.core.rules.ban_clause import GOOD_STARTS, IN_CODE, SURE_STARTS, Clause, Said
from undrift.core.rules.ban_marks import mark_at
from undrift.core.rules.ban_objects import named_at
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_words import verb_of, words_in
from undrift.core.rules.targets import CommandTarget

__all__ = [
    "ends_there",
    "is_exact",
    "is_of_another",
    "is_same_kind",
    "is_statement",
    "limit_at",
    "mood_behind",
    "own_verbs",
]

_FILES = frozenset({"path", "project"})
_BRANCHES = frozenset({"branch", "branches"})
_IN_PLACES = words_in("in on to for with from under inside into at by through via if when after of as until unless")
_BY = frozenset({"with", "using", "via", "through"})
_PLAIN_TIME = words_in("now me this the today any us you")
_RESTRICTS = frozenset({"for", "that", "which", "whose", "with"})
_PERSONS = frozenset({"i", "we", "you", "they"})
_LISTED = words_in("and or nor any the a an in under to also anything of our my")
_ADDRESSED = words_in("you agents agent claude codex please so and also it that this they these those them there which")


def mood_behind(now: Clause, spot: Spot, following: str) -> str | None:
    """Return the mood behind a comma within what is forbidden; None if the same clause continues."""
    is_full = bool(now.mentions) or now.pronoun
    is_verb = spot.tokens[spot.at + 1].kind == "word" and bool(verb_of(following))
    if following in (GOOD_STARTS if is_full else SURE_STARTS | {"make", "run", "work", "go", "put"}):
        return "permit"
    if (is_verb and is_full) or (spot.text == ":" and now.mentions):
        return "permit"
    if spot.token.kind == "dash" or following in (*_PERSONS, "he", "she"):
        return "told" if following in _PERSONS else ""
    if not is_full and is_verb:
        return None if spot.lists_verbs else "permit"
    if not is_full and following in (
        "and",
        "or",
        "nor",
        "any",
        "the",
        "ever",
        "never",
        "please",
        "under",
        "at",
        "not",
    ):
        return None
    return None if _goes_on(now, spot) else ""


def _goes_on(now: Clause, spot: Spot) -> bool:
    """Return whether a list continues behind a comma: with a thing, or with words that turn the sentence."""
    for step in range(1, 5):
        if spot.at + step >= len(spot.tokens):
            return False
        there = Spot(spot.tokens, spot.at + step, now.verb)
        if mark_at(there.ahead) or named_at(there):
            return True
        if there.text not in _LISTED:
            return False
    return False


def is_of_another(now: Clause) -> bool:
    """Return whether a sentence has a subject that is neither the agent nor a thing: ``the API must not change``."""
    return (
        not now.mood and not now.mentions and not now.verbs and bool(now.tail) and not set(now.tail[-2:]) & _ADDRESSED
    )


def ends_there(spot: Spot) -> bool:
    """Return whether a verb that was read as a thing has nothing behind it that it is done to."""
    return spot.is_last or spot.follower in ("and", "or", "anything", "the", "it", "please", "now", "yet", "here")


def is_exact(named: NamedThing) -> bool:
    """Return whether what is named can be nothing but an option or a pipe: the verb does not matter then."""
    exact = (one.piped or one.assigned for one in named.targets if isinstance(one, CommandTarget))
    return named.kind == "flag" or any(exact)


def is_same_kind(wanted: tuple[str, ...], kind: str) -> bool:
    """Return whether something can be what another thing is wanted for: a file for a file, a command for a command.

    `wanted`: the kinds that stand before ``instead of``; with none named, anything can be.
    """
    if not wanted:
        return True
    if kind in ("command", "flag", "tool"):
        return not set(wanted) <= _FILES | _BRANCHES or "path" in wanted  # a script is a path, too
    for group in (_FILES, _BRANCHES):
        if kind in group:
            return bool(group & set(wanted))
    return not set(wanted) <= _FILES | _BRANCHES | {"command", "flag"} or wanted == (kind,)


def is_statement(spot: Spot, end: int) -> bool:
    """Return whether ``only`` stands behind a verb of the third person: ``it supports only names`` tells, and orders nothing."""
    word = spot.before
    following = spot.tokens[end] if end < len(spot.tokens) else None
    is_verb = word.endswith("s") and not word.endswith("ss") and word.isalpha() and len(word) > 3 and not verb_of(word)
    is_object = following is not None and following.kind in ("word", "code") and following.text not in _IN_PLACES
    return spot.at > 1 and is_verb and is_object


def own_verbs(one: Said) -> tuple[str, ...]:
    """Return the verbs that stand with a subject: ``pushes to main are off limits``; none if all is forbidden."""
    vague = {"read", "run", "work"} if one.named.kind == "path" else {"read"}
    return tuple(verb for verb in one.verbs if verb not in vague)


def limit_at(now: Clause, spot: Spot) -> int:
    """Read what limits a command or a tool: ``with sed``, ``in code``, ``to edit files``; return the tokens it takes."""
    if now.mood != "forbid":
        return 0
    if spot.text in _BY and now.verbs and now.verb != "touch" and not now.mentions:
        now.purpose, now.verbs = now.verb, ["run"]
        return 1
    if spot.text in _RESTRICTS and now.mentions and now.mentions[-1].is_called and spot.follower not in _PLAIN_TIME:
        now.conditional = True
    is_command = now.names("command")
    now.joins = now.joins or (spot.text in _BY and is_command)
    if f"{spot.text} {spot.follower}" in ("in parallel", "at once", "as root") or spot.text in (
        "concurrently",
        "blindly",
        "twice",
        "repeatedly",
    ):
        now.conditional = True
    if spot.text in ("in", "inside") and (is_command or now.names("server") or now.names("run")):
        now.conditional = now.conditional or any(one.text in IN_CODE for one in spot.tokens[spot.at + 1 : spot.at + 4])
    if spot.text in ("on", "for", "in", "inside", "against") and now.mentions and now.mentions[-1].named.kind == "tool":
        now.conditional = True
    if spot.text in ("to", "for") and is_command:
        now.purpose = now.purpose or verb_of(spot.follower)
        return 2 if now.purpose else 0
    return 0
