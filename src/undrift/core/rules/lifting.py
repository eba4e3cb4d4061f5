"""The signs of a sentence that ends or limits an earlier rule. Pure.

Law: as in `signs`.
"""

from undrift.core.rules.signs import PLEASE, START

__all__ = ["LIFTS", "LIMITS", "MAY_LIFT"]

_RULE = (
    r"(?:rules?|limits?|bans?|restrictions?|instructions?|preferences?|conventions?|polic(?:y|ies)|requirements?|freeze|embargo"
    r"|constraints?|thing|lock|requests?|points?)"
)
_OK = r"(?:ok(?:ay)?|fine|allowed|permitted|welcome|good|possible|back|legal|acceptable|all right|alright)"
_FROM_NOW = r"(?:again|now|from (?:now|here|today)(?: on)?|after all)"
_MAY = r"(?:may|can|could|are (?:free|allowed|welcome) to)"

LIFTS = (
    START
    + PLEASE
    + r"(?:forget|ignore|disregard|scrap|scratch|cancel|drop|lift|skip|never ?mind|revoke|undo|strike|take back|throw out|dismiss)\b.{0,60}\b(?:"
    + _RULE
    + r"|what i (?:said|asked|wrote|told)|i (?:said|asked|gave|wrote|told)|earlier|above|about)\b",
    r"\b" + _RULE + r"\b.{0,60}\b(?:no longer|not any ?more|gone|lifted|cancel+ed|off the table|over|obsolete"
    r"|(?:doesn'?t|does not|don'?t|do not|isn'?t|is not) (?:apply|hold|count|matter|stand|needed|necessary|valid|in force)"
    + r"|void|moot|history|dropped|off|relaxed|ended|ends|expired|withdrawn)\b",
    (
        r"\b(?:don'?t|do not|doesn'?t|does not|needn'?t|won'?t)\b.{0,50}\b"
        r"(?:need(?:ed)?|have to|necessary|required|apply|applies|hold|holds|counts?|matters?|stand)\b.{0,80}\b(?:any ?more|any ?longer)\b"
    ),
    (
        r"\bno longer (?:need(?:ed)?|have to|necessary|required|appl(?:y|ies)|holds?|counts?|matters?|stands?|valid|forbidden|banned"
        r"|off[- ]limits|true|the case|mandatory)\b"
    ),
    r"\b(?:is|are|'s|'re) " + _OK + r" " + _FROM_NOW + r"\b",
    r"\b(?:you|agents?) " + _MAY + r" (?:[\w/.'-]{1,20} ){0,10}?(?:again|now|from (?:now|here|today) on|after all)\b",
    r"\b(?:from (?:now|here|today) on|now|again|after all),? (?:you|agents?) " + _MAY + r"\b",
    (
        r"\bi(?:'ve| have)? (?:take back|took back|changed my mind|withdraw|withdrew|lift(?:ed)?|allow(?:ed)?|permit(?:ted)?)\b"
        r"|\bmy (?:ban|rule|limit|no) (?:is|on)\b|\b(?:decided|agreed) to allow\b|\ballow(?:ed)? .{1,60} after all\b"
    ),
)
"""It lifts an earlier rule."""

LIMITS = (
    r"\b"
    + _RULE
    + r"\b.{0,60}\b(?:only (?:counts?|holds?|applies|for|in|needed)|not for|except|still (?:holds?|stands?|counts?|applies)"
    + r"|is (?:not )?(?:for|about|meant)|doesn'?t (?:cover|include)|exempt)\b",
    r"\bstill (?:holds?|stands?|counts?|applies)\b.{0,40}\b(?:but|except|only|however)\b",
    r"\bwhen i said\b|\bby .{1,40} i (?:mean|meant)\b|\bwhat i meant\b|\bto be (?:clear|precise) about\b",
    (
        r"\b(?:is|are) only (?:needed|required|necessary|meant|for)\b|\bonly (?:counts?|holds?|applies|needed)\b"
        r"|\b(?:is|are) exempt\b|\bexceptions?:|\b(?:one|an) exception\b"
    ),
    r"\b(?:about|the) (?!present|following|current)[\w -]{2,40} (?:rule|thing|preference|ban|limit):",
)
"""It limits an earlier rule."""

MAY_LIFT = (
    START
    + r"(?:you|agents?) (?:"
    + _MAY
    + r"|don'?t (?:need|have) to|do not (?:need|have) to|needn'?t)\b|\bfeel free to\b|\bgo ahead and\b",
    r"\b(?:is|are|'s|'re) " + _OK + r"\b|\b(?:any|whichever|whatever) .{1,40} (?:will do|is fine|works|goes)\b",
    (
        r"\bdecide (?:that )?(?:yourself|on your own|for yourself)\b|\bas you (?:like|see fit|please|wish|need)\b|\bwhenever you (?:want|like)\b"
        r"|\bas long as you (?:need|like|want)\b|\bneeds? no\b|\byou can\b"
    ),
)
"""It allows something, which lifts a rule if there is one about it."""
