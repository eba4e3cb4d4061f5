"""Reads the sentences of a rule into clauses, word by word, and makes the bans of them. Pure, linear.

Law: each word is looked at once. A mark turns the sentence (`undrift.core.rules.ban_marks`), a verb says what is done, a thing is
what it is done to; all others are kept, as a verb that stands alone is plain only if they are.
"""

import re

from undrift.core.rules.ban import Ban
from undrift.core.rules.ban_clause import (
    I_RUN,
    MINE,
    MY_JOB,
    MY_VERBS,
    MYSELF,
    SMALL,
    Clause,
    Said,
)
from undrift.core.rules.ban_lists import (
    ends_there,
    is_exact,
    is_of_another,
    is_same_kind,
    is_statement,
    limit_at,
    mood_behind,
    own_verbs,
)
from undrift.core.rules.ban_marks import RuleToken, SentenceMark, mark_at
from undrift.core.rules.ban_objects import named_at
from undrift.core.rules.ban_places import is_written
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_where import is_behind_place, is_told_of, result_at
from undrift.core.rules.ban_words import verb_of, words_in
from undrift.core.rules.banned import bans_of_clause
from undrift.core.rules.targets import PathTarget, Target

__all__ = ["BanReader"]

_PRONOUNS = words_in("it them those these there that this either")
_PLACES = words_in("to on in into onto from under inside")
_NOUN_SIGNS = words_in("a an the my our this every each")
_MODALS = frozenset(
    {"must", "should", "may", "can", "cannot", "can't", "mustn't", "shouldn't", "won't", "will", "shall"}
)
_TOLD = words_in("""has have had is are was were did does do would could might be been or if whether why""")
"""Words before ``not`` that make it a statement."""

_ALL = words_in(
    """all existing current single of whole entire also please with off away from alone under inside out touch touching
    leave hands stay keep"""
)
_NOT = frozenset({"not", "don't", "dont", "never", "can't", "cannot"})
_DOINGS = words_in("tests full-tests run migrations verb pull issue")
"""The kinds of things that are done: behind ``in`` or ``for`` they only say where."""

_SPARING = words_in("command flag path project branch tool host service")
"""The kinds of things that, allowed in one clause, are allowed in all."""


class BanReader:
    """The clauses of a rule that were read so far."""

    def __init__(self) -> None:
        self._clauses: list[Clause] = []
        self._now = Clause()
        self._sentence = 0
        self._is_conditional = False
        self._awaits_mine = False

    def bans(self) -> list[Ban]:
        """Return the bans of all clauses; what one clause allows, no other forbids."""
        permitted: list[Target] = []
        for clause in self._clauses:
            allowed = [one.named for one in clause.mentions] if clause.mood in ("permit", "only") else []
            allowed += clause.spared
            permitted += [target for named in allowed if named.kind in _SPARING for target in named.targets]
        found: list[Ban] = []
        earlier: list[Said] = []
        only: list[Said] = []
        for clause in self._clauses:
            clause.beside = self._branches_beside(clause)
            found += bans_of_clause(clause, earlier, only, permitted)
            earlier = clause.mentions or earlier
            only = clause.mentions if clause.mood == "only" else only
        return found

    def _branches_beside(self, clause: Clause) -> tuple[Target, ...]:
        return tuple(
            target
            for one in self._clauses
            if one.sentence == clause.sentence and one.mood in ("forbid", "told", "")
            for mentions in one.mentions
            if mentions.named.kind == "branch"
            for target in mentions.named.targets
        )

    def read(self, tokens: list[RuleToken]) -> None:
        """Read one sentence into clauses."""
        self._begin("")
        self._is_conditional = False
        self._sentence += 1
        text = " ".join(token.text for token in tokens)
        if is_told_of(text) and " and " not in text and all(token.kind in ("word", "code") for token in tokens):
            return
        self._awaits_mine = MINE.search(text) is not None
        whole, at = tuple(tokens), 0
        while at < len(whole):
            spot = Spot(whole, at, self._verb())
            if spot.token.kind in ("sign", "dash"):
                self._sign(spot)
                at += 1
            elif length := self._marked(spot):
                at += length
            else:
                at += self._word(spot)
        self._myself(text)
        self._begin("")

    def _verb(self) -> str:
        """Return what is done to the next thing: ``mine`` if words behind it will say that it is forbidden."""
        now = self._now
        return now.verb or ("mine" if self._awaits_mine and now.mood in ("", "permit") else "")

    def _begin(self, mood: str, verbs: tuple[str, ...] = ()) -> None:
        now = self._now
        now.conditional = now.conditional or self._is_conditional
        now.sentence = self._sentence
        if now.mood or now.mentions or now.verbs:
            self._clauses.append(now)
        self._now = Clause(mood, list(verbs))

    # -- commas and their like
    def _sign(self, spot: Spot) -> None:
        """A list continues behind a comma; a verb that begins what is wanted ends what is forbidden."""
        now, following = self._now, spot.follower
        if following in ("and", "then", "so") and spot.at + 2 < len(spot.tokens):
            following = spot.tokens[spot.at + 2].text
        if spot.text in "()":
            return
        if now.mood == "told":
            self._begin("")
        elif spot.text == ":" and now.mood == "forbid" and not (now.mentions or now.verbs or set(now.tail) <= SMALL):
            self._begin("forbid")  # ``no tools of the network: curl, wget``
        elif now.mood in ("forbid", "only") and following:
            mood = mood_behind(now, spot, following)
            if mood is not None:
                self._begin(mood)
        elif now.mood in ("", "permit") and (now.mentions or now.verbs):
            self._begin(now.mood if following not in ("i", "we") else "")

    # -- words that turn the sentence
    def _marked(self, spot: Spot) -> int:
        """Read words that turn the sentence; return how many they are, 0 if none stand here."""
        mark = mark_at(spot.ahead) if spot.token.kind == "word" else None
        if mark is None or self._is_none(mark, spot):
            return 0
        end = spot.at + mark.length
        words = spot.tokens[spot.at : end]
        following = spot.tokens[end].text if end < len(spot.tokens) else ""
        if mark.kind in ("forbid", "away", "alone"):
            self._forbid(spot.text, following, is_touch=mark.kind != "forbid")
        elif mark.kind == "only":
            self._only([token.text for token in words], is_told=is_statement(spot, end))
        elif mark.kind == "if":
            self._condition(spot.text, following)
        else:
            self._turn(mark.kind)
        return 1 if mark.kind == "alone" else mark.length

    def _is_none(self, mark: SentenceMark, spot: Spot) -> bool:
        """Return whether words that look like a mark turn nothing here: ``has not changed`` forbids nothing."""
        if mark.kind == "forbid" and spot.text in ("stop", "quit") and spot.before in _NOT:
            return True
        if mark.kind == "forbid" and spot.text == "not":
            return spot.before in _TOLD
        if mark.kind == "forbid" and spot.text in _MODALS and is_of_another(self._now):
            self._begin("told")
        return (mark.kind == "other" and not self._now.mood) or (mark.kind == "outside" and spot.text == "out")

    def _turn(self, kind: str) -> None:
        now = self._now
        if kind in ("told", "first"):
            self._begin("told" if kind == "told" else "forbid")
        elif kind == "same":
            last = next((clause for clause in reversed(self._clauses) if clause.mood == "forbid"), None)
            self._begin("forbid" if last else "told", tuple(last.verbs) if last else ())
        elif kind == "nothing-else":
            self._nothing_else()
        elif kind == "but":
            self._begin("")
        elif kind == "instead":
            self._instead()
        elif kind in ("mine", "read-only", "free"):
            self._freed() if kind == "free" else self._banned_before("mine" if kind == "mine" else "change")
        elif kind == "all-but" and now.mood != "forbid":
            self._begin("forbid", tuple(now.verbs))
        else:
            self._limited(kind)

    def _limited(self, kind: str) -> None:
        """Read words that change what the clause at hand is about, and begin no other."""
        now = self._now
        if kind == "consent" and now.mood != "told":
            now.mood = "forbid"
        elif kind in ("nothing-but", "all-but"):
            now.mood, now.mentions = "only", []
        elif kind in ("spare", "unless"):
            now.needs_spare = now.needs_spare or (kind == "unless" and not now.spared)
            now.is_spare = now.is_spare or now.mood in ("forbid", "only")
        elif kind == "outside":
            now.outside = True
        elif kind == "other":
            now.other = True

    def _instead(self) -> None:
        """``X instead of Y``; who only prefers X does not forbid Y."""
        now = self._now
        if now.mood == "told" or "prefer" in now.tail:
            self._begin("told")
            return
        verbs, kinds = tuple(now.verbs) or ("run",), tuple(one.named.kind for one in now.mentions)
        is_by_pronoun = now.pronoun or bool(_PRONOUNS & set(now.tail))
        now.mood = "" if now.mood == "forbid" else "permit"
        self._begin("forbid", verbs)
        self._now.instead_of = kinds or (("command",) if is_by_pronoun else ())

    def _forbid(self, text: str, following: str, *, is_touch: bool) -> None:
        now = self._now
        if now.mood == "told":
            return
        if not now.mood and not now.verbs and all(one.named.kind == "agent" for one in now.mentions):
            now.mentions = []  # the one who is spoken to, not what is forbidden
        verbs = tuple(now.verbs) if text == "nor" or (text == "not" and now.mood) else ()
        if following in _PLACES and not verbs:
            verbs = tuple(now.verbs) or next((tuple(one.verbs) for one in reversed(self._clauses) if one.verbs), ())
        is_of_earlier = not now.mood and bool(now.mentions)
        self._begin("forbid", verbs)
        self._now.pronoun = is_of_earlier
        if is_touch:
            self._now.verbs = ["touch"]

    def _banned_before(self, verb: str) -> None:
        """Forbid the things that were named before ``is off limits``."""
        now = self._now
        if {"rest", "others", "remainder"} & set(now.tail):
            return  # ``the rest is read-only``: what alone is allowed was said
        if now.mood in ("", "permit") and now.mentions:
            now.mood, now.mentions = "forbid", [Said(one.named, own_verbs(one) or (verb,)) for one in now.mentions]
            self._begin("told")
        elif now.mood in ("", "permit") and (now.pronoun or not now.verbs):
            now.mood, now.verbs, now.pronoun = "forbid", [verb], True
            self._begin("told")

    def _freed(self) -> None:
        """Allow the things that were named before ``is fine``, or that come after ``you may``."""
        now = self._now
        if now.mood == "forbid" and len(now.mentions) > 1:
            now.spared.append(now.mentions.pop().named)
            self._begin("told")
        elif now.mood in ("", "permit", "told") and now.mentions:
            now.mood = "permit"
            self._begin("told")
        else:
            self._begin("permit")

    def _only(self, words: list[str], *, is_told: bool) -> None:
        now = self._now
        if now.mood in ("forbid", "told"):
            return
        if is_told:
            self._begin("told")
            return
        if now.mentions and set(now.tail) <= SMALL:  # ``src/ui only``
            now.mood = "only"
            self._begin("told")
            return
        had, verbs = bool(now.mentions), tuple(now.verbs)
        self._begin("only", verbs)
        if verb := next((does for word in words if (does := verb_of(word))), ""):
            self._now.verbs = [verb]
        if words[-1].startswith(("edit", "change", "work", "write")):
            self._now.verbs = ["touch"]
        if had:
            self._now.verbs = list(verbs) or ["run"]

    def _nothing_else(self) -> None:
        """``and nothing else``: what was allowed before it is all that is."""
        last = self._now if self._now.mentions else next((one for one in reversed(self._clauses) if one.mentions), None)
        if last is not None and last.mood in ("", "permit") and last.verbs:
            last.mood = "only"
        self._begin("told")

    def _condition(self, text: str, following: str) -> None:
        now = self._now
        is_time = text in ("where", "while", "until", "till", "during")
        if now.mood == "forbid" and text == "without":
            now.lacking = True
        elif is_time or (text in ("when", "whenever") and following.endswith("ing")):
            self._begin("told")
        elif now.mood in ("forbid", "only"):
            now.conditional = now.conditional or text != "once"
            self._begin("told")
        elif not now.mood and text in ("if", "when", "whenever", "unless", "once"):
            self._is_conditional = not now.mentions
            self._begin("told")

    # -- verbs and things
    def _word(self, spot: Spot) -> int:
        """Read a verb, or something that is named; return how many tokens it takes."""
        now = self._now
        if now.mood == "told":
            seen = named_at(Spot(spot.tokens, spot.at))
            if seen is None or seen.kind not in ("path", "branch"):
                return 1
            now.mentions.append(Said(seen))
            return seen.length
        is_noun = (bool(now.verbs) and spot.is_behind_verb) or spot.before in _NOUN_SIGNS or spot.is_state
        does = verb_of(spot.text) if spot.token.kind == "word" else ""
        if now.mood == "forbid" and not now.verbs and spot.text == "new" and spot.follower in ("file", "files"):
            now.verbs = ["create"]
            return 2
        if length := limit_at(now, spot) or result_at(spot.tokens, spot.at):
            now.tail.append(spot.text)
            return length
        named = named_at(spot)
        if named is not None and named.kind in _DOINGS and now.verbs and is_behind_place(spot.tokens, spot.at):
            now.tail.append(spot.text)
            return named.length
        if named is not None and does and not is_noun and not now.verbs and named.kind in ("verb", "tests"):
            named = None if named.length == 1 else named
        if named is not None:
            return self._thing(spot, named)
        if does:
            return self._act(spot, does, is_noun=is_noun)
        now.pronoun = now.pronoun or (spot.text in _PRONOUNS and not now.mentions)
        if now.is_spare and re.fullmatch(r"\d[\w.-]{0,40}", spot.text):
            now.spared.append(NamedThing("path", (PathTarget(f"*{spot.text}*"),), 1))
            return 1
        now.tail.append(spot.text)
        return 1

    def _thing(self, spot: Spot, named: NamedThing) -> int:
        now = self._now
        if named.kind == "verb" and now.verbs and now.verb != "run" and not now.mentions:
            now.verbs += [verb_of(spot.text) or "none"] if spot.before in ("or", "and", "nor", ",") else []
        elif now.mood == "forbid" and not now.verbs and not set(now.tail) <= SMALL and not is_exact(named):
            now.tail.append(spot.text)
        elif (
            named.kind in ("run", "tests")
            and not now.verbs
            and spot.before in _NOT
            and not ends_there(spot.moved(named.length - 1))
        ):
            now.tail.append(spot.text)  # ``don't build features``
        elif named.kind == "project" and not (now.outside or now.mood == "only"):
            pass
        elif now.is_spare:
            now.spared.append(named)
        elif not is_same_kind(now.instead_of, named.kind) or (spot.before == "without" and now.mood in ("", "permit")):
            pass
        else:
            now.outsiders += [named] if now.outside else []
            is_called = named.kind == "path" and not is_written(spot.raw)
            if is_called and now.mood == "forbid" and not set(now.tail) <= SMALL | _ALL:
                return 1
            now.mentions.append(Said(named, tuple(now.verbs), now.lacking, is_called))
        return named.length

    def _act(self, spot: Spot, does: str, *, is_noun: bool) -> int:
        now = self._now
        if is_noun:
            return 1
        if (now.mentions and now.mood in ("only", "permit")) or (
            now.mentions and now.mood == "forbid" and not now.pronoun
        ):
            now.tail.append(spot.text)
        else:
            now.verbs.append(does)
        return 1

    def _myself(self, text: str) -> None:
        """``I do the pushing``: who says so forbids it."""
        for found in (MYSELF.search(text), MY_JOB.search(text)):
            does = verb_of(next(filter(None, found.groups()))) if found else ""
            if does in MY_VERBS:
                self._begin("forbid", (does,))
                self._now.tail = ["myself"]
        if I_RUN.search(text) and self._now.mood in ("", "told"):
            self._is_conditional = False
            self._begin("forbid", ("run",))
            self._now.pronoun, self._now.conditional = True, False
