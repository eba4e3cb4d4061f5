"""The signs of a sentence that ends or limits an earlier rule. Pure.

Law: as in `signs`. A sign of `MAY_LIFT` stands in many sentences; it counts only in a sentence about a rule that is known.
"""

from undrift.core.rules.signs import PLEASE, START

__all__ = ["LIFTS", "LIMITS", "MAY_LIFT"]

_RULE = (
    r"(?:rules?|limits?|bans?|restrictions?|instructions?|preferences?|conventions?|polic(?:y|ies)|requirements?|freeze|embargo"
    r"|constraints?|thing|lock|requests?|points?|guidelines?|orders?|caps?|prohibitions?|moratorium)"
)
_OK = (
    r"(?:ok(?:ay)?|fine|allowed|permitted|welcome|good|possible|back|legal|acceptable|all right|alright|open|yours|free|tolerable|optional"
    r"|unlocked|unfrozen|fair game|safe|no problem|not a problem|on the table|legit|editable|writable|good enough|up to you)"
)
_FROM_NOW = r"(?:again|now|from (?:now|here|today|this point)(?: on)?|as of (?:now|today)|after all|once more|any ?more|going forward)"
_MAY = r"(?:may|can|could|are (?:free|allowed|welcome) to)"
_ARE_FREE = r"(?:(?: may| can| could| are (?:free|allowed|welcome) to)|'re (?:free|allowed|welcome) to)"
_IS = r"(?:is|are|'s|'re|be|becomes?)"
_FEW = r"(?:[\w/.'`*-]{1,20} ){0,4}?"
_OTHERS = (
    r"(?:everything else|anything else|everywhere else|the rest|every other|others?|elsewhere"
    r"|nowhere else|otherwise|other than that|apart from that|beyond that|in all other cases)"
)
_GOES_ON = (
    r"(?:still|stays?|remains?|as (?:before|told|said|usual|ever|it (?:is|was)|they (?:are|were)|i said|agreed|always)|unchanged|closed|same"
    r"|keeps?|continues?|off[- ]limits|forbidden|untouched|holds?|applies|needs?)"
)

LIFTS = (
    START
    + PLEASE
    + r"(?:let'?s |we (?:can |may |could )?|i )?(?:forget|abandon|loosen|ignore|disregard|scrap|scratch|cancel|drop|lift|skip|never ?mind|revoke|undo|strike|take back|throw out|dismiss|waive|retire)\b.{0,60}\b(?:"
    + _RULE
    + r"|what i (?:said|asked|wrote|told)|i (?:said|asked|gave|wrote|told)|earlier|above|about)\b",
    r"\b(?:we|i)(?:'re|'m| are| am|'ve| have)? (?:dropp|lift|cancel+|scrapp|end|revok|retir|waiv|relax|loosen|abandon|remov)(?:ing|ed) .{0,60}\b"
    + _RULE
    + r"\b",
    r"\b" + _RULE + r"\b.{0,60}\b(?:no longer|not any ?more|gone|lifted|cancel+ed|off the table|over|obsolete"
    r"|(?:doesn'?t|does not|don'?t|do not|isn'?t|is not) (?:apply|hold|count|matter|stand|needed|necessary|valid|in force)"
    + r"|void|moot|history|dropped|off|relaxed|ended|ends|expired|withdrawn|revoked|retired|waived|outdated|superseded)\b",
    (
        r"\b(?:don'?t|do not|doesn'?t|does not|needn'?t|won'?t)\b.{0,50}\b"
        r"(?:need(?:ed)?|have to|necessary|required|apply|applies|hold|holds|counts?|matters?|stand)\b.{0,80}\b(?:any ?more|any ?longer)\b"
    ),
    (
        r"\bno longer (?:need(?:ed)?|have to|necessary|required|appl(?:y|ies)|holds?|counts?|matters?|stands?|valid|forbidden|banned"
        r"|off[- ]limits|true|the case|mandatory|frozen|locked|in force|bound|binding|restricted|read-only|relevant)\b"
    ),
    r"\b" + _IS + r" (?:now |again )?" + _OK + r" " + _FEW + _FROM_NOW + r"\b",
    r"\b" + _IS + r" (?:now|again) " + _OK + r"\b|\bagain,? " + _IS + r" " + _OK + r"\b",
    r"\b(?:you|agents?)"
    + _ARE_FREE
    + r" (?:[\w/.'-]{1,20} ){0,10}?(?:again|now|from (?:now|here|today) on|after all)\b",
    r"\b(?:from (?:now|here|today) on|now|again|after all),? (?:you|agents?) " + _MAY + r"\b",
    r"\b(?:may|can) (?:now |again )?be [a-z]{3,14} "
    + _FEW
    + _FROM_NOW
    + r"\b|\b(?:may|can) (?:now|again) be [a-z]{3,14}\b",
    START + r"(?:feel free to|go ahead and|do) .{2,100}\b(?:again|from (?:now|here|today) on|after all)\b",
    r"\bno need (?:for|to) .{2,80}\b(?:any ?more|any ?longer|from (?:now|here) on|now)\b",
    (
        r"\bi(?:'ve| have)? (?:take back|took back|changed my mind|withdraw|withdrew|lift(?:ed)?|allow(?:ed)?|permit(?:ted)?)\b"
        r"|\bmy (?:ban|rule|limit|no) (?:is|on)\b|\b(?:decided|agreed) to allow\b|\ballow(?:ed)? .{1,60} after all\b"
        r"|\bi(?:'ll| will)? take (?:it|that|this) back\b|\b(?:is|are) history\b"
    ),
)
"""It lifts an earlier rule."""

LIMITS = (
    r"\b"
    + _RULE
    + r"\b.{0,60}\b(?:only (?:counts?|holds?|applies|for|in|needed|concerns|covers|about)|not for|except|unless|still (?:holds?|stands?|counts?|applies)"
    + r"|is (?:not )?(?:for|about|meant)|concerns|covers|(?:doesn'?t|does not) (?:cover|include|concern|extend|mean|apply)|exempt)\b",
    r"\bstill (?:holds?|stands?|counts?|applies)\b.{0,40}\b(?:but|except|only|however|unless)\b",
    r"\bwhen i said\b|\bby .{1,40} i (?:mean|meant)\b|\bwhat i meant\b|\bto be (?:clear|precise) about\b|\bi (?:only|just) meant\b",
    (
        r"\b(?:is|are) only (?:needed|required|necessary|meant|for)\b|\bonly (?:counts?|holds?|applies|needed|concerns|covers)\b"
        r"|\b(?:holds?|counts?|appl(?:y|ies)) (?:only|just) (?:for|to|in|on|if|when)\b|\b(?:is|are) (?:exempt|excluded from)\b|\bexceptions?:"
        r"|\b(?:one|an) (?:small |little |further |more )?exception\b|\b(?:holds?|counts?|appl(?:y|ies)) (?:for|to|in|on) .{2,60}\bbut not\b"
    ),
    r"\b(?:about|the|re|on) (?!present|following|current)[\w -]{2,40} (?:rule|thing|preference|ban|limit)[:,]",
    r"\b" + _OTHERS + r",?(?: [\w/.'-]{1,20}){0,4}? " + _GOES_ON + r"\b",
    (
        r"\b(?:may|can|allowed|welcome|free to|fine|ok|okay|all right|alright|yours)\b[^,;:(]{1,100}+[,;:(] ?(?:but |just |and )?"
        r"(?:not? (?:for|to|in|on|any|other|else|more)|nothing else|nowhere else|to no|only|unless|except)\b"
    ),
    r"\bbut (?:to|in|on|for|with) no (?:other|one)\b",
)
"""It limits an earlier rule."""

MAY_LIFT = (
    START
    + r"(?:you|agents?) (?:"
    + _MAY
    + r"|don'?t (?:need|have) to|do not (?:need|have) to|needn'?t)\b|\bfeel free to\b|\bgo ahead\b",
    r"\b"
    + _IS
    + r" (?:[\w'-]{2,14} ){0,2}"
    + _OK
    + r"\b|\b(?:any|whichever|whatever) .{1,40} (?:will do|is fine|works|goes)\b",
    r"\b(?:you|we|they|agents?)(?:'re| are)? (?:may|can|could|free|allowed|welcome|permitted|needn'?t|need not)\b|\bmay (?:be )?[a-z]{2,14}\b|\bcan be [a-z]{3,14}\b",
    (
        r"\bdecide (?:that )?(?:yourself|on your own|for yourself)\b|\bas you (?:like|see fit|please|wish|need)\b|\bwhenever you (?:want|like)\b"
        r"|\bas long as you (?:need|like|want)\b|\bneeds? no\b|\byou can\b|\b(?:up to you|your call|your choice)\b"
    ),
    r"\b(?:no need|not? (?:necessary|required|needed)|optional|(?:don'?t|do not|doesn'?t) (?:mind|care|matter|count|apply)|skip)\b",
    r"\b(?:except|exceptions?|exempt|unless|apart from|aside from|other than|excluding|save for|barring|but not|only (?:for|in|on|if|when|to|where))\b",
    r"\b(?:again|after all|no longer|any ?more|from (?:now|here|today|this point) on|as of (?:now|today)|until|till|instead|over|gone|done with)\b",
    r"\b" + _OTHERS + r"\b",
    r"\b(?:the|my|that|this|your|our) (?:[\w'-]{1,20} ){1,4}?(?:rules?|limits?|bans?|restrictions?|instructions?|conventions?|freeze)\b",
    r"\b(?:can|may) go\b|\btolerated\b|\b(?:drop|stop|quit|abandon|forget) (?:it|that|this|the|[a-z]{1,20}ing)\b",
)
"""It allows or limits something, which counts if there is a rule about it."""
