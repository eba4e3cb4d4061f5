"""Reads the things and verbs of a clause into a frame, in any order. Pure, linear in the clause.

Law: what the table knows is taken by its longest name; then what is written as a path, a command, an option, a branch; words that
are left are kept, as they may be parts of a name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from undrift.core.rules.ban_branches import branch_at
from undrift.core.rules.ban_commands import bare_command, command_target, flags_at, statement_at, words_at
from undrift.core.rules.ban_fillers import IDIOMS, is_filler, is_general, is_style
from undrift.core.rules.ban_marks import RuleToken
from undrift.core.rules.ban_moods import MoodClause, is_mood_word
from undrift.core.rules.ban_objects import named_at
from undrift.core.rules.ban_places import FOLDERS, path_at
from undrift.core.rules.ban_spot import NamedThing, Spot
from undrift.core.rules.ban_stems import stem_of, stems_of
from undrift.core.rules.ban_table import TableRow, row_at, subcommands, table
from undrift.core.rules.ban_where import is_of_texts, is_place, is_text, of_files, result_at, script_words
from undrift.core.rules.ban_words import AMBIGUOUS, PROGRAMS, STOPS, verb_of, words_in
from undrift.core.rules.soft_targets import PartsTarget
from undrift.core.rules.targets import BranchTarget, CommandTarget, PathTarget, Target, TextTarget

__all__ = ["Frame", "frame_of"]

_GIT_STEMS = frozenset(
    {"push", "commit", "merg", "rebas", "branch", "pul", "forc", "switch", "checkout", "land", "squash", "tag"}
)
_HOSTS = words_in("prod production live staging dev qa uat preprod stable integration")
_BY_HAND = re.compile(r"\b(?:by hand|manually|hand[ -]?(?:edit|writ|roll|cod|tweak|fix|patch)\w*|directly|yourself)\b")
_PRONOUNS = words_in(
    "none nothing zilch zero its their it em 'em them those these that this there they neither either any one"
)
_AGENTS = words_in("by through via")
"""Words behind which stands who or what does it."""

_FAR = words_in("for in on of with about from when")
_TIMES = words_in("now today this that the me us you tonight") | {""}
_MODALS = words_in("must should may can shall will mustn't shouldn't cannot can't won't")
_NEGATED = words_in("not don't dont never no cannot can't won't mustn't shouldn't without")
_DENIED_VERB = _NEGATED - {"no", "without"}
_DENIED = frozenset({"stop", "stopped", "stopping", "shut", "shutting", "tear", "tearing"})
_STATEMENTS = {"updates": "update statement", "deletes": "delete statement", "writes": "write query"}
_FILED = frozenset({"change", "touch", "delete", "move", "create", "work", "leave"})
_KINDS = {"agent", "tool", "sql", "text"}
_PLAIN_PROGRAMS = words_in("black make fly meson nano screen rails vault consul expo flask tilt nomad ed")
_MOST_WORDS = 4


@dataclass(slots=True)
class Frame:
    """The things and verbs of a clause.

    Args:
        verbs: What is done, as `verb_of` says it.
        rows: The things that the table knows; `row_words` are unknown words right beside an act.
        words: The unknown words, as stems.
        acts: Those of them that are perhaps verbs; `raw`: all of them as they are written.
        others: Tools, statements and texts.
        where: Things that are only the place of what is done; `scripts`: things that are the names of scripts.
        doing: The verb, if it is a thing of the table itself: ``never publish packages``.
        is_of_texts: Whether it is about what stands in a text: ``no secrets in commit messages``.
    """

    mood: str
    clause: MoodClause
    verbs: list[str] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)
    paths: list[Target] = field(default_factory=list)
    branches: list[Target] = field(default_factory=list)
    commands: list[CommandTarget] = field(default_factory=list)
    flags: list[CommandTarget] = field(default_factory=list)
    others: list[NamedThing] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    where: list[TableRow] = field(default_factory=list)
    scripts: list[Target] = field(default_factory=list)
    doing: str = ""
    is_of_texts: bool = False
    is_by_hand: bool = False
    is_typed: bool = True
    is_pronoun: bool = False

    @property
    def has_things(self) -> bool:
        return bool(self.rows or self.paths or self.branches or self.commands or self.flags or self.others)

    def take(self, other: "Frame") -> None:
        """Take over the things of another frame, and its verbs if this one has none."""
        self.rows, self.paths, self.branches = other.rows, other.paths, other.branches
        self.commands, self.flags, self.others = other.commands, other.flags, other.others
        self.words, self.beside, self.acts, self.raw = other.words, other.beside, other.acts, other.raw
        self.verbs = self.verbs or other.verbs


def frame_of(clause: MoodClause) -> Frame:
    """Return the frame of a clause."""
    frame = Frame(clause.mood, clause)
    text = clause.text
    frame.is_by_hand = bool(_BY_HAND.search(text))
    tokens = clause.tokens
    is_git = any(stem_of(part) in _GIT_STEMS for token in tokens for part in token.text.split("-"))
    at, last_act = 0, False
    is_no = tokens[0].text in ("no", "zero", "never", "nothing") if tokens else False
    while at < len(tokens):
        text_here = tokens[at].text
        if at and (
            (text_here in _AGENTS and not any(one.kind == "code" or one.text[:1] == "-" for one in tokens[at:]))
            or (is_no and text_here in _FAR and frame.words and not frame.has_things)
        ):
            break
        if is_no and text_here == "for" and _is_left_out(frame, tokens, at):
            frame.rows, frame.words = [], [""]
            break
        if text_here in _MODALS and frame.rows and frame.rows[-1].name == "sub agent":
            frame.rows.pop()  # the one who is spoken to
        taken, is_act = _take(frame, tokens, at, is_git=is_git)
        if taken == 0:
            word = _unknown(frame, tokens[at], is_denied=at > 0 and tokens[at - 1].text in _NEGATED)
            if word and (last_act or _is_act_ahead(tokens, at + 1)):
                frame.beside.append(word)
            last_act = last_act and not word and tokens[at].text in ("a", "an", "the", "any", "our", "your", "my")
        else:
            last_act = is_act
        at += taken or 1
    _place(frame)
    if not frame.has_things and len(frame.words) < 2:
        _ambiguous(frame, tokens)
    frame.words = list(dict.fromkeys(frame.words))[: _MOST_WORDS + 1]
    return frame


def _is_left_out(frame: Frame, tokens: Sequence[RuleToken], at: int) -> bool:
    """Return whether ``no tests for getters`` says what need not be written."""
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    return following not in _TIMES and bool(frame.rows) and all(row.of("files") for row in frame.rows)


def _is_act_ahead(tokens: Sequence[RuleToken], at: int) -> bool:
    row, _ = row_at(tokens, at) if at < len(tokens) else (None, 0)
    return row is not None and bool(row.of("does"))


def _take(frame: Frame, tokens: Sequence[RuleToken], at: int, *, is_git: bool) -> tuple[int, bool]:
    """Take the thing at a place; return how many tokens it has, 0 for a word that is not known, and whether it is an act."""
    token, whole = tokens[at], tuple(tokens)
    if token.kind == "code":
        return _code(frame, Spot(whole, at, "run" if "run" in frame.verbs else "touch")), False
    if token.kind != "word":
        return 1, False
    spot = Spot(whole, at, "push" if is_git else "touch")
    if is_git and (found := branch_at(spot)) and found.kind == "branch":
        frame.branches += _named(found, spot)
        return found.length, False
    if length := _idiom(tokens, at):
        return length, False
    row, length = row_at(tokens, at)
    if told := _take_told(frame, spot, row, length):
        return told, False
    if (found := flags_at(spot)) and not row:
        flags = [one for one in found.targets if isinstance(one, CommandTarget)]
        frame.flags += [one for one in flags if one.flags]
        frame.commands += [one for one in flags if one.assigned]
        return found.length, False
    command = _bare(spot)
    if row and not (command and command.length > length and token.text not in AMBIGUOUS):
        return _take_row(frame, spot, row, length)
    if command and not (command.length == 1 and token.text == "git"):
        frame.commands += [one for one in command.targets if isinstance(one, CommandTarget)]
    return command.length if command else _take_name(frame, spot, is_git=is_git), False


def _take_row(frame: Frame, spot: Spot, row: TableRow, length: int) -> tuple[int, bool]:
    """Take a thing of the table: as what is meant, as the place of it, as the name of a script, or as the verb."""
    tokens, at = spot.tokens, spot.at
    if spot.before in _NEGATED and length == 1 and row.of("run") and _has_object(spot):
        return 0, False  # ``don't build features``
    if words := script_words(tokens, at, length):
        frame.scripts.append(PartsTarget(frozenset(map(stem_of, words)), of="script"))
    if is_place(row, tokens, at):
        frame.where.append(row)
        return length, False
    is_verb = length == 1 and not frame.rows and spot.before in _DENIED_VERB and not row.of("does")
    if is_verb and not {"or", "and", "nor"} & {token.text for token in tokens}:
        frame.doing = verb_of(spot.text) or spot.text
    frame.rows.append(row)
    return length, bool(row.of("does"))


def _take_told(frame: Frame, spot: Spot, row: TableRow | None, length: int) -> int:
    """Take words that name no thing: a text or a result by what it is of, and ``never log secrets``; return their tokens."""
    tokens, at = spot.tokens, spot.at
    taken = result_at(tokens, at) or (length if row and row.name == "commit message" else 0)
    if taken or spot.token.kind == "word":
        frame.is_of_texts = frame.is_of_texts or is_of_texts(tokens, at, max(taken, 1))
    if taken and not (row and row.calls and length >= taken):
        return taken
    is_verb = spot.before in (*_NEGATED, "or", "ever") and spot.follower not in ("", "in", "into", "on", "onto", "out")
    if spot.text == "log" and length == 1 and is_verb:
        frame.verbs.append("log")
        return 1
    return 0


def _place(frame: Frame) -> None:
    """Settle what is only a place: beside an object it is none of what is forbidden, alone it is its files."""
    if frame.is_of_texts or any("commit" in row.of("does") for row in frame.where):
        said = [one for one in frame.commands if len(one.words) > 1 and one.words[0] not in PROGRAMS]
        frame.commands = [one for one in frame.commands if one not in said]
        frame.others += [NamedThing("text", (TextTarget(" ".join(one.words).lower()),), 1) for one in said]
    is_object = frame.has_things or bool(frame.words)
    for row in frame.where:
        frame.is_of_texts = frame.is_of_texts or (is_object and is_text(row))
        if set(row.of("does")) & {"commit", "merge", "push"}:
            frame.rows += [row] if frame.paths or frame.rows or not is_object else []
        elif not is_object and row.of("harm") and set(frame.verbs) & {"run", "comment", "close"}:
            frame.rows.append(row)
        elif not is_object and row.of("files") and (frame.mood != "forbid" or set(frame.verbs) & _FILED):
            frame.rows.append(of_files(row))


def _take_name(frame: Frame, spot: Spot, *, is_git: bool) -> int:
    """Take a statement, a tool, a path or a branch; return how many tokens it has, 0 if none of these stands here."""
    for found in (statement_at(spot), words_at(spot), _tool(spot)):
        if found:
            frame.others.append(found)
            return found.length
    if found := path_at(spot):
        frame.paths += found.targets
        return found.length
    is_folder = spot.follower in FOLDERS and re.fullmatch(r"[\w.-]{2,60}", spot.raw) is not None
    if (is_folder and not is_filler(stem_of(spot.text))) or (not is_git and _is_odd(spot.raw)):
        frame.paths.append(PathTarget(spot.raw))
        return 2 if is_folder else 1
    found = branch_at(Spot(spot.tokens, spot.at, "touch")) if spot.text not in _HOSTS else None
    ends = spot.follower in ("branch", "branches") or spot.is_last or is_filler(stem_of(spot.follower))
    if found and found.kind == "branch" and ends:
        frame.branches += found.targets
        return found.length
    return 0


def _is_odd(raw: str) -> bool:
    """Return whether a word is written as names in a program are: ``testSaves``, ``results_2022``."""
    is_word = raw.replace("_", "").isalnum() and raw[:1].isalpha() and len(raw) < 60
    has_capital = raw[:1].islower() or raw[1:2].islower()
    return is_word and ("_" in raw[1:-1] or (has_capital and raw[1:] != raw[1:].lower()))


def _has_object(spot: Spot) -> bool:
    """Return whether a verb is done to something that nothing is known of."""
    text = spot.follower
    if text == "private":
        return True
    return (
        bool(text)
        and text.isalpha()
        and text not in STOPS
        and not is_filler(stem_of(text))
        and not verb_of(text)
        and row_at(spot.tokens, spot.at + 1)[0] is None
        and not is_mood_word(text)
    )


def _named(found: NamedThing, spot: Spot) -> list[Target]:
    """Return the branches; ``hotfix branches`` are all whose names begin so."""
    is_group = spot.follower == "branches"
    return [
        BranchTarget(one.glob + "*") if is_group and isinstance(one, BranchTarget) and "*" not in one.glob else one
        for one in found.targets
    ]


def _idiom(tokens: Sequence[RuleToken], at: int) -> int:
    """Return how many tokens a phrase takes whose words mean nothing by themselves; 0 if none stands here."""
    ahead = tuple(token.text for token in tokens[at : at + 5])
    return next((len(words) for words in IDIOMS if ahead[: len(words)] == words), 0)


def _bare(spot: Spot) -> NamedThing | None:
    """Return a command in plain text, without the words of the sentence behind it."""
    found = bare_command(spot)
    if found is None or found.kind != "command" or found.length == 1:
        return found
    kept = 1
    for token in spot.tokens[spot.at + 1 : spot.at + found.length]:
        parts = re.split(r"[/]", token.text)
        is_known = (
            token.text[:1] in "-/."
            or any(sign.isdigit() for sign in token.text)
            or ":" in token.text
            or all(stem_of(part) in subcommands() for part in parts)
        )
        if not is_known:
            break
        kept += 1
    words = [token.raw for token in spot.tokens[spot.at : spot.at + kept]]
    last = words[-1].split("/")
    if kept > 1 and len(last) > 1 and all(stem_of(part) in subcommands() for part in last):
        return NamedThing("command", tuple(command_target([*words[:-1], one]) for one in last), kept)
    return found if kept == found.length else NamedThing("command", (command_target(words),), kept)


def _tool(spot: Spot) -> NamedThing | None:
    """Read the name of a tool: behind it stands the word, or it is written as none but tools are."""
    is_named = (
        spot.follower in ("tool", "tools", "mcp")
        or re.fullmatch(r"(?:[A-Z][a-z]+){2,4}|mcp__\w{1,80}", spot.raw)
        or spot.before == "mcp"
    )
    if not is_named:
        return None
    found = named_at(Spot(spot.tokens, spot.at, ""))
    return found if found and found.kind in _KINDS else None


def _code(frame: Frame, spot: Spot) -> int:
    row, length = row_at(spot.tokens, spot.at)
    found = named_at(spot)
    if row and (found is None or found.kind not in ("command", "path", "flag", "branch")):
        frame.rows.append(row)
        return length
    if found is None:
        return 1
    if found.kind in ("path", "project"):
        frame.paths += found.targets
    elif found.kind == "branch":
        frame.branches += found.targets
    elif found.kind == "flag":
        frame.flags += [one for one in found.targets if isinstance(one, CommandTarget)]
    elif found.kind in ("tool", "sql", "text", "agent"):
        frame.others.append(found)
    else:
        frame.commands += [one for one in found.targets if isinstance(one, CommandTarget)]
    return 1


def _unknown(frame: Frame, token: RuleToken, *, is_denied: bool) -> str:
    """Keep a word that nothing is known of, or take its verb; return the word if it is kept."""
    text = token.text
    frame.is_pronoun = frame.is_pronoun or text in _PRONOUNS
    stem = stem_of(text)
    if text in ("closed", "dropped", "left"):
        return ""
    if frame.clause.text.startswith(("no ", "zero ")) and text in _STATEMENTS:
        frame.rows.append(table()[stems_of(_STATEMENTS[text])])
        return ""
    if does := verb_of(text):
        frame.verbs += [does] if text not in ("do", "does") else []
        return ""
    if text in _DENIED and (is_denied or text.endswith("ed")):
        frame.verbs.append("kill")
        return ""
    if (
        text in STOPS
        or is_filler(stem)
        or is_general(stem)
        or len(stem) < 2
        or not re.fullmatch(r"[a-z][\w-]*", text)
        or is_mood_word(text)
    ):
        return ""
    if is_style(stem):
        frame.words.append("")  # what is about the text of a program or an answer is no name
        return "style"
    pieces = [stem_of(part) for part in text.split("-")]
    kept = [one for one in pieces if not is_filler(one) and not is_general(one)]
    frame.words += kept
    frame.raw.append(text)
    if kept and (text.endswith(("ing", "ed")) or (is_denied and not text.endswith("s"))):
        frame.acts.append(kept[-1])
    return kept[0] if kept else ""


def _ambiguous(frame: Frame, tokens: Sequence[RuleToken]) -> None:
    """Take a program whose name is a plain word, if the clause names nothing else."""
    for token in tokens[:4]:
        if token.text in _PLAIN_PROGRAMS:
            frame.commands.append(command_target([token.text]))
            return
