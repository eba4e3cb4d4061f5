"""Words of a rule that are no name: plain words, words for things of any kind, words about code or an answer. Pure.

Law: a word is here only if it says nothing about a thing by itself.
"""

from functools import cache

from undrift.core.rules.ban_stems import stem_of
from undrift.core.rules.ban_words import words_in

__all__ = ["IDIOMS", "is_filler", "is_general", "is_style"]

_GENERIC = words_in(
    """file files folder folders directory dir dirs module modules package code script scripts service services thing things stuff
        component components config class library project repo repository codebase app application whole entire all every everything anything
        part parts area section path tree tool tools command commands job jobs task tasks step steps work change changes edit edits
        subsystem layer place side level name names line lines content contents data system machine box laptop computer mac team"""
)
_FILLERS = words_in(
    """absolutely whatsoever kindly hey buddy pal mate guys folks friend ever anymore today tonight tomorrow week month day days year hour
        hours minutes minute now later currently really very just simply literally seriously honestly actually already still ok okay yes
        good bad big small new old other more less much many few own same such plain bare single full real extra thanks thank thx please
        pls plz sorry want wants need needs like likes see look know think mean means let lets get gets got go goes going come comes
        make makes made take takes took give gives keep keeps put puts set sets treat treated consider considered form forms way ways
        circumstance circumstances reason reasons under over into onto below above inside within around about across against behind
        session conversation chat agent claude codex assistant bot robot human humans user users owner people person team guys everyone
        everybody someone anyone nobody somebody me you us we our ours your yours my mine his her their theirs its here there where
        what whatever which who when how why rule rules policy agreed agree remember reminder note important always never none nothing
        only also too even either neither both each every per regardless matter case cases time times moment point purpose long short
        may might must shall should will would could can cannot allowed allow allows permitted ok fine welcome
        use uses used using run runs running do does did done doing try trying work works working happen happens
        rest business place question option menu list allowed toy hand hands finger fingers paw paws eye eyes mind sake god
        first last next previous current existing present past future half lot lots bit couple dozen hundred twice once again
        without unless until except before after while during since because so but and or nor yet if then else than
        is are was were be been being am has have had having a an the this that these those of to in on at by for with from as up out
        off down it they he she i not no don't dont won't isn't aren't can't shouldn't mustn't haven't i'm i'll i've it's that's thats
        you're we're they're we've let's one ones else instead rather cost costs money hurt hurts break breaks broke busy"""
)
_STYLE = words_in(
    """method getter setter argument parameter attribute keyword enum comment comments docstring abbreviation type types any class classes function functions import imports mock mocks console
        assertion assert error errors exception exceptions variable variables style inline default export fallback feature features
        behavior behaviour logic api endpoint interface abstraction wrapper hack workaround assumption guess apologize summary summaries
        answer answers reply question explanation explain sentence language english word wording tone jargon bullet heading logging print
        message messages output value values string strings color colors constant constants magic number numbers null undefined return
        async await promise callback loop recursion regex unwrap panic unsafe lint warning warnings suppress ignore disable"""
)


def is_general(stem: str) -> bool:
    """Say whether a stem is a word for things of any kind: ``module``."""
    return stem in _stems(_GENERIC)


def is_filler(stem: str) -> bool:
    """Say whether a stem is a plain word of any sentence."""
    return stem in _stems(_FILLERS)


def is_style(stem: str) -> bool:
    """Say whether a stem is about the text of a program or of an answer."""
    return stem in _stems(_STYLE)


@cache
def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(stem_of(word) for word in words)


IDIOMS = tuple(
    tuple(text.split())
    for text in (
        "off the table", "on the table", "off the menu", "off the list", "none of your business", "your business", "set in stone", "out of bounds", "off limits", "off-limits",
        "no place", "stays put", "stay put", "put up", "in place", "take place", "in the first place", "out of the question", "no business", "a look", "taking a look", "read only",
        "read-only", "view-only", "look-only", "holy ground", "big deal", "on purpose", "make sure", "makes sense", "go ahead", "up to me", "my call", "your call", "my job", "your job",
        "in my name", "on my behalf", "my watch", "out of the box", "for example", "at work", "in this project", "in production code", "look but", "look at", "at all", "no way", "in any form",
        "i wrote", "we agreed", "each time", "one time", "last time", "this time", "in play", "a no-go", "no-go", "no go", "in the loop",
    )
)  # fmt: skip
"""Phrases whose words mean nothing by themselves."""
