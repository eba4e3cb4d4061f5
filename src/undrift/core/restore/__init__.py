"""Chooses the lines of a session's history that an agent needs after a compaction, within a budget. Pure.

`restore` reads the session (`trace`, `history`), says what each line and name is worth (`worth`, `weights`), takes what
was said outright (`stated`), fills the rest with the lines of most worth (`choose`) and writes it down (`render`).
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from undrift.core.restore.carried import carried
from undrift.core.restore.choose import choose
from undrift.core.restore.contents import contents_of
from undrift.core.restore.given_up import given_up
from undrift.core.restore.held import MOST_SHARE, held_rules, not_kept, said_beside, typed_rules_of
from undrift.core.restore.history import RestoreHistory, history_of
from undrift.core.restore.kept import KeptByClient, kept_by_client, without_kept_texts
from undrift.core.restore.render import Restored, RestoredItem, RestorePage
from undrift.core.restore.stated import Excerpt, newest_edits, pasted, plan, requests, statements, verdicts
from undrift.core.restore.worth import worth_of_lines, worth_of_names
from undrift.core.text.references import normal
from undrift.core.text.tokens import estimate
from undrift.errors import InputError
from undrift.profiles import GivenBack
from undrift.values.rule import Rule
from undrift.values.window import ContextEntry

__all__ = ["Restored", "RestoredItem", "contents_of", "restore", "restore_words"]

# The share of the budget that each kind of statement may use, counted up to `_SAID_OF` tokens; what it does not use goes to
# the lines. A larger budget is for lines: at 10,000 tokens that lifts the lines held from 0.74 to 0.78.
_REQUESTS, _PLAN, _STATEMENTS, _VERDICTS, _EDITS, _TRIED = 0.12, 0.03, 0.03, 0.03, 0.03, 0.03
_SAID_OF = 5_000

# The share of the whole budget for what else the user typed. In half of the recordings with 300 entries or more all of it
# has under 460 tokens, in nine of ten under 1,180.
_SAID = 0.08

# The share of its usual worth that a line has beside files that the client attaches: they hold lines, and few names.
# Identifiers / lines beside Claude Code's own texts, by its profile, at 10,000 tokens: 0.89 / 0.82, without this 0.87 / 0.83.
_LINES_BESIDE_FILES = 0.6

_NOTHING = GivenBack()
_SPARE = 1.15  # prices are estimates: more lines are chosen than may fit, and the last ones fall away


def restore(
    entries: Sequence[ContextEntry],
    *,
    budget_tokens: int = 5_000,
    count: Callable[[str], int] = estimate,
    gives_back: GivenBack = _NOTHING,
    rules: Sequence[Rule] | None = None,
    put_back: Sequence[str] = (),
) -> Restored:
    """Choose the lines that an agent will most likely need again, and write them as a text.

    Deterministic: the same entries, budget and counter give the same text.

    Args:
        entries: The session up to now, as a reader gives it, in the order in which the provider saw it.
        budget_tokens: What the text may cost, at least 1, by `count` and by characters/4 alike.
        count: Tokens of a text.
        gives_back: What the client keeps by itself, by its own rule: lines of it are not chosen again.
        put_back: Texts that are known to stand in the new window, such as the client's summary and the files that it
            attached: lines and names of them are not chosen again. A file that came back by its name alone is that name.
        rules: The rules that hold, oldest first; None: the typed ones of these entries.

    Returns:
        The text, empty if nothing fits or there is nothing to give back, and what stands in it.

    Raises:
        InputError: The budget is no positive integer.
    """
    if type(budget_tokens) is not int or budget_tokens < 1:
        raise InputError(f"budget_tokens must be an integer of at least 1, not {budget_tokens!r}")
    history = history_of(entries)
    kept = kept_by_client(entries, history, gives_back, put_back)
    held = not_kept(typed_rules_of(entries, unsure=True) if rules is None else rules, entries, kept.others)
    names, lines = worth_of_names(history), worth_of_lines(history)
    if kept.names or gives_back.files:
        lines = {key: chance * _LINES_BESIDE_FILES for key, chance in lines.items()}
    tried = given_up(kept.others)
    characters = budget_tokens * 4
    for _ in range(8):
        page = _page(kept, held, tried, history, characters)
        shown = kept.lines | set(map(normal, page.said_lines()))
        picks = choose(
            history,
            names,
            lines,
            characters=int((characters - page.characters) * _SPARE),
            shown_lines=shown,
            shown_names=_names_in(history, shown) | kept.names,
        )
        restored = page.fitting(picks, budget_tokens, count)
        if restored is not None:
            return restored
        characters = characters * 3 // 4
    return Restored("", (), 0)


def restore_words(
    entries: Sequence[ContextEntry],
    *,
    budget_tokens: int,
    count: Callable[[str], int] = estimate,
    gives_back: GivenBack = _NOTHING,
    rules: Sequence[Rule] | None = None,
) -> Restored:
    """Write only the rules that hold and what else the user typed; nothing of a text that the client keeps.

    `budget_tokens`: the most tokens of the text; below 1 there is none. `rules`: as for `restore`.
    """
    characters = budget_tokens * 4
    held = typed_rules_of(entries, unsure=True) if rules is None else rules
    held = not_kept(held, entries, without_kept_texts(entries, gives_back))
    while characters > 0:
        page = RestorePage(history_of(()))
        page.say("rules", held_rules(held, characters - page.characters), characters - page.characters)
        page.say("said", said_beside(held, characters - page.characters), characters - page.characters)
        restored = page.fitting([], budget_tokens, count)
        if restored is not None:
            return restored
        characters = characters * 3 // 4
    return Restored("", (), 0)


def _page(
    kept: KeptByClient,
    held: Sequence[Rule],
    tried: Sequence[Excerpt],
    history: RestoreHistory,
    characters: int,
) -> RestorePage:
    """Begin the text with what was said outright."""
    entries = kept.others
    page = RestorePage(history)
    most, said = int(characters * MOST_SHARE), int(characters * _SAID)
    page.say("rules", held_rules(held, most), most)
    empty = page.characters
    characters = min(characters, _SAID_OF * 4)
    before = carried(entries)
    page.say("requests", [*requests(entries), *before["requests"]], int(characters * _REQUESTS))
    page.say("pasted", pasted(entries), int(characters * _REQUESTS) - (page.characters - empty))
    page.say("said", [*before["said"], *said_beside(held, said, page.said_lines())], said)
    page.say("plan", plan(entries), int(characters * _PLAN))
    page.say("statement", kept.lost(statements(history)), int(characters * _STATEMENTS))
    page.say("verdict", kept.lost(verdicts(history)), int(characters * _VERDICTS))
    page.say("tried", tried, int(characters * _TRIED))
    page.say("edit", kept.lost(newest_edits(history)), int(characters * _EDITS))
    return page


def _names_in(history: RestoreHistory, keys: AbstractSet[str]) -> set[str]:
    places = (history.lines.shown[key] for key in sorted(keys & history.lines.shown.keys()))
    return {name for place, index in places for name in history.traces[place].line_names[index]}
