"""The signs of a lasting statement, and those that speak against one. Pure.

Law: each expression is tried on one sentence in lower case, and names no thing of one project. A sign is left out if fewer
than nine in ten of its sentences fit a label that `bench/lasting.py` reads; some find none there.
"""

import re
from functools import cache
from typing import Literal

__all__ = ["AGAINST", "LastingKind", "OWNS", "lasting_signs"]

LastingKind = Literal["rule", "preference", "decision", "fact"]

_START = r"(?:^|[,;:.(] ?|\b(?:and|but|so|also|then|please|ok|okay|yes|no|btw|because|since|as)[,:]? )"
"""The beginning of a clause; the typed text is lower case by then."""

_FIRST = r"(?:^|[.;] |\b(?:so|also|then|please|ok|okay|yes|btw)[,:]? )"
"""The beginning of a main clause."""

_HERE = r"\b(?:this|that|these|those|yet|now|until|here|first|it|they|them|round|today|other|next|while|enough|again|anything|above|below)\b"
"""A word that points at the work in hand."""

_EVERY = r"\b(?:(?:on|for|after|before|at|in) (?:every|each|any)\b|every ?time\b|each time\b|any ?time\b|all the time\b|whenever\b|unless\b|by default\b|automatically\b|without (?:asking|permission|approval)\b|any ?more\b|ever\b)"
_NOT_DEFINITE = r"(?!(?:the|this|that|these|those|they|it|we|you|i|he|she|there|what|which|my|your|his|her|a|an|all|yes|no|so|ok|please|new)\b)"
_PLURAL = rf"{_NOT_DEFINITE}(?:[\w`/-]{{2,20}} ){{0,2}}[\w`/-]{{2,20}}s "
"""A subject without an article, such as ``api errors``: what is said of it is meant in general."""

_PATH = r"(?:[`'\"]?(?:~|\.{1,2}|@?[\w.-]{1,40})/[\w./@~-]{1,120}|`[^`]{2,80}`|https?://\S{4,200}|\.[a-z][\w.-]{2,60})"
_LANGUAGE = r"(?:english|german|french|spanish|italian|dutch|portuguese|polish|russian|chinese|japanese|korean)"
_OFTEN = (
    r"(?: also| always| only| usually| generally| normally| mostly| already| actually| still| now| just| never){0,2}"
)
_PROJECT = (
    r"(?:cli|project|repo|repository|codebase|monorepo|library|product|prototype|package|service|team|company|app)"
)
_REASON = r"(?:because|since|otherwise|as it|so that|so (?:i|we|it|they|you) (?:don'?t|won'?t|can|only|will|do not))"

_PATTERNS: tuple[tuple[str, LastingKind, str], ...] = (
    (
        "never",
        "rule",
        _FIRST
        + r"never (?!mind\b|ever mind\b|the\b|a\b|an\b|enough\b|got\b|had\b|works?\b|seen\b|on\b|in\b|more\b|less\b)[a-z]{2,20}\b"
        + r"|(?<!\bit)(?<!this)(?<!that)(?<!\bi)(?<![,:;]) (?:should|must|will)(?: also)? never\b"
        + r"|\bmake sure (?:to|that|you|we)(?: \w{1,12})? (?:always|never)\b",
    ),
    (
        "always",
        "rule",
        _FIRST
        + r"always (?!the\b|a\b|an\b|fails?\b|gets?\b|shows?\b|returns?\b)[a-z]{2,20}\b"
        + r"|(?<!\bit)(?<!this)(?<!that)(?<![,:;]) (?:should|must|need to|have to|has to|you to|sure to|it to|them to)(?: also)? always\b"
        + r"|\b(?:we always|we never|i always) (?!get|got|had|have|see|saw|end|call|show|return|check|hit|reach|set|[a-z]{2,20}ed\b)[a-z]{3,20}\b",
    ),
    ("always are", "rule", _START + _PLURAL + r"are (?:always|never)\b"),
    ("not every time", "rule", _START + r"(?:do not|don'?t|dont|stop|avoid|no need to) .{0,160}?" + _EVERY),
    (
        "stop",
        "rule",
        _START
        + r"(?:please )?(?:stop|avoid) (?!(?:it|this|that|the|here|now|and|for|being)\b)[a-z]{3,20}ing\b(?!.{0,40}\bjust do)",
    ),
    (
        "not allowed",
        "rule",
        r"\byou (?:must not|mustn'?t|are not allowed to)\b|\bi don'?t want (?:you|us|agents?|claude|codex) to (?!.{0,160}"
        + _HERE
        + ")",
    ),
    (
        "from now on",
        "rule",
        (
            r"\b(?:from now on|from here on|going forward|in (?:the )?future(?! (?:reference|work))|for (?:all |any )?future(?! reference)|as a rule)\b"
            r"(?! (?:the|this|that|it|they|he|she)\b)"
        ),
    ),
    ("unless I say", "rule", r"\b(?:unless|only (?:when|if)) i (?:say|ask|tell|explicitly|approve)\b"),
    (
        "the rule is",
        "rule",
        (
            r"\b(?:the|our|my) (?:rule|convention|policy|preference|guideline|workflow|code standard|standard) (?:here )?is\b|\bsource of truth\b"
            r"|^(?:conventions?|rules?|policy|code ?style|code standards?|naming|guidelines?|commit messages?|branch names?|release notes): "
        ),
    ),
    (
        "ask me",
        "rule",
        (
            r"\b(?:ask|check with|confirm with|consult) me\b.{0,60}\b(?:before|first|every|each|if|when|whether)\b(?!.{0,80}\b(?:questions?|unclear|clarif))"
            r"|\b(?:before|if|when)\b.{2,80}\bask me\b(?!.{0,80}\bquestions?\b)"
        ),
    ),
    ("remember", "rule", _FIRST + r"(?:remember|keep in mind|bear in mind|please note)(?: that|:) "),
    ("no exceptions", "rule", r"\b(?:no exceptions?|under no circumstances|strictly (?:no|forbidden))\b"),
    (
        "do not",
        "rule",
        r"^(?:please )?(?:do not|don'?t|dont) [a-z]{3,20} (?:(?!" + _HERE + r")[^.]){3,160}?\b" + _REASON + r"\b",
    ),
    (
        "with its reason",
        "rule",
        r"^(?:(?:no|yes|ok|and|also|but|please),? )?(?:i|we) (?:don'?t|do not) want .{3,160}\b" + _REASON + r"\b"
        r"|\bso (?:i|we) (?:won'?t|don'?t|do not|only|'ll only) (?:have|need) to\b|\bso (?:i|we)'ll only have to\b",
    ),
    (
        "manner",
        "preference",
        r"\b(?:answer|reply|respond|talk|speak)\b.{0,40}\bin "
        + _LANGUAGE
        + r"\b|\bkeep (?:them|your answers?|answers?|replies|responses|messages|explanations?|prs?|commits|diffs) (?:very )?(?:short|small|brief|concise)\b"
        r"|^(?:please )?be (?:more )?(?:concise|brief|terse|honest|direct)\b|\b(?:british|american) (?:english|spelling)\b",
    ),
    (
        "existing style",
        "rule",
        r"\b(?:match|follow|stick (?:to|with)|keep to) (?:the |our )?(?:existing|usual|project'?s?) (?:[\w-]{2,20} ){0,2}(?:style|patterns?|conventions?|naming|formats?)\b",
    ),
    (
        "commits",
        "preference",
        r"\b(?:do|make|create|use|using|keep|prefer) (?:small(?:er)?|meaningful|individual|atomic|conventional|signed|granular)(?: and [a-z]{3,12})? commits?\b",
    ),
    (
        "prefer",
        "preference",
        (
            r"\b(?:i(?: do| generally| usually| always| strongly){0,2} prefer|i'd rather have) (?!(?:your|this|that|the|it|if|to|option|approach|solution|\w|\d+)\b)(?!.{0,160}\b(?:this|that|these)\b)"
            r"|\bi (?:really |greatly |highly )?value\b"
        ),
    ),
    (
        "like",
        "preference",
        r"\bi (?:really |do |also |quite |generally |absolutely )?(?:like|love|hate|dislike) (?!(?:the|a|an|options?|approach|it|this|that|these|those|them|to|you|your|how|what|where|\w|\d+)\b)",
    ),
    ("only want", "preference", r"\bi(?: would|'d)? only want\b|\bi never want\b|\bi don'?t ever want\b"),
    (
        "we use",
        "decision",
        _START
        + r"we(?:'re| are| do|'ve| have)?"
        + _OFTEN
        + r"(?: don'?t| do not| no longer)?"
        + _OFTEN
        + r" (?:use|using|follow|prefer|deploy|deploying|publish|support|target|maintain|rely on|sync|store|host|mock|ship|spin up|vendor|squash|rebase|own|adopted|standardi[sz]ed on|settled on|agreed|decided|dropped|commit|push|merge|touch|edit|allow|accept|release)\b(?!.{0,160}\b(?:right|other|this if|it)\b)",
    ),
    (
        "in this project",
        "decision",
        rf"\bin (?:this|our) {_PROJECT},? (?:we|all|every|each|no)\b",
    ),
    (
        "the team",
        "decision",
        r"\b(?:the|our) (?:team|company|client|customer) (?:has |have )?(?:changed|decided|agreed|uses|prefers|requires)\b",
    ),
    (
        "switched",
        "decision",
        r"\b(?:i|we)(?:'ve| have)?(?: just| already)? (?:switched|migrated) (?:to|from|over to) (?!(?:the|a|an|another|my|this|that)\b)(?!.{0,40}\bbranch\b)",
    ),
    (
        "let's use",
        "decision",
        r"\blet'?s (?:use|switch to|go with|settle on|stick (?:to|with)|standardi[sz]e on|rename (?:\S{1,40} )?to|call (?:it|this|them)|name (?:it|them)|default to|drop|get rid of) (?!(?:this|that|these|those|it|them|your|options?|approach|the (?:same|plan|first|second|other|last)|[a-z])(?:\W|$)|\d)",
    ),
    (
        "use not",
        "decision",
        r"^(?:no,? )?(?:please )?(?:use|prefer) (?!(?:the|this|that|my|your|a|an)\b).{2,60}?(?:,? not|,? instead of|,? rather than|,? over) ",
    ),
    (
        "is called",
        "decision",
        r"\b(?:is|are) now called\b|\bthe (?:right )?(?:word|term|name) is\b.{2,60}\bnot\b",
    ),
    (
        "definition",
        "fact",
        r"\bstands for\b|\bby [\w '`\"-]{2,40} (?:i|we) mean\b|^[\w` -]{2,40} == [a-z`\"]",
    ),
    (
        "compatibility",
        "decision",
        r"\b(?:no|not|don'?t|never|without)(?: [a-z]{2,12}){0,4} backwards?[ -]compat",
    ),
    (
        "on purpose",
        "decision",
        r"\b(?:deliberate(?:ly)?|deliberatly|intentional(?:ly)?|on purpose|by design)\b|\b(?:it'?s|it is|is|are) (?:allowed|ok|okay|fine|acceptable) (?:to (?!(?:remove|delete|skip|leave|do|drop|just|keep|merge|go)\b)|that\b)|\bi(?:'m| am) fine (?:with )?[a-z]{3,20}ing\b(?! (?:that|this|it)\b)",
    ),
    (
        "not the way",
        "decision",
        r"\bnot the way to go\b|\bthere(?:'s| is) no reason (?:for|to)\b|\bis not how we\b",
    ),
    (
        "general",
        "decision",
        _START
        + _PLURAL
        + r"(?:(?:go|get|come|live|belong|land|begin|need|stay) (?:against|through|in|into|to|from|under|as|with|a|an|their|on|only|out|next)\b|are (?:signed|generated|written|deployed|stored|named|reviewed|pinned|kept|never|always|exported|called)\b)",
    ),
    (
        "any",
        "rule",
        r"^(?:btw,? |and |but |so |also |note:? )?(?:any|every|anything|everything|nobody|no one)\b(?! (?:other|issues?|idea|of|single|chance|way|questions?|should|needs?|must)\b).{3,120}?\b(?:gets?|goes|has|carries|needs?|must|should|requires?|stays?|ships?)\b",
    ),
    (
        "place",
        "fact",
        r"^(?!.{0,80}\b(?:plan|spec|screenshots?|image|logs?|output|diff|branch|transcript|changes?|fix|issue|line|pr)\b).{0,200}?\b(?:is|are|lives?|located|stored|sits?|defined|documented|kept|found|its|it'?s) (?:at|in|under|inside)(?: the)? "
        + _PATH
        + r"|\bis located (?:at|in|under)\b",
    ),
    ("run with", "fact", r"\byou can (?:run|start|build|test|deploy) .{2,60} (?:with|via|using|by running) "),
    (
        "project",
        "fact",
        rf"\b(?:this|it|that)(?:'s| is) (?:a|an|our|my) (?:[a-z-]{{2,20}} ){{0,3}}{_PROJECT}\b(?! (?:that|which|to) (?:i|we) )",
    ),
    (
        "uses",
        "fact",
        rf"\b(?:this|the|our) {_PROJECT} (?:uses|is written in|is built with|runs on|requires|targets|follows|is deployed|has its own)\b",
    ),
    (
        "the main one",
        "fact",
        r"\bis (?:the|our) (?:main|default|primary|canonical|official|only) (?:repo|repository|branch|database|entry ?point|environment|package|registry|domain|server)\b",
    ),
    (
        "there is no",
        "fact",
        r"\b(?:there(?:'s| is| are)|we have|i have) no (?:internet|network|docker|sudo|root|gpu|staging|[a-z]+ runners?|[a-z]+ access)\b|\bi don'?t have [\w -]{2,30} on (?:this|my) (?:machine|computer|laptop)\b",
    ),
    (
        "we are",
        "fact",
        r"\bwe(?:'re| are) (?:the )?(?:maintainers?|owners?|a (?:small|two|team))|\bwe(?:'re| are)(?: still| stuck)? (?:on|at) [a-z.-]+ v?\d",
    ),
    (
        "our",
        "fact",
        r"\bour (?:[\w-]{2,20} ){0,3}[\w-]{2,20} (?:is|are|runs?|sits?|has|have|uses?|lives?|comes?) (?:on|in|at|from|no|under|a|an|only|two|three)\b",
    ),
    (
        "state",
        "fact",
        r"\b(?:is|are) (?:read[- ]only|owned by|maintained by|managed by|shared with|supported until|protected|deprecated|out of date|open[- ]source)\b|\bis public\b|\b(?:prod|production|staging) (?:runs|uses|is on)\b",
    ),
    (
        "I am",
        "fact",
        (
            r"\bi(?:'m| am) an? (?:[\w-]{2,20} ){0,3}(?:developer|engineer|designer|scientist|maintainer|contributor|beginner|student|founder)\b"
            r"|^(?:btw,? )?(?:i(?:'m| am) (?:on|running|using) (?:mac|macos|windows|linux|ubuntu|wsl|arch|debian|fedora|nix|zsh|fish|powershell)|i(?:'m| am) the (?:only|tester|maintainer|owner|lead)|call me [a-z])"
        ),
    ),
)
OWNS = re.compile(r"\b[A-Z][a-z]{2,20} (?:owns|maintains|reviews|approves)\b")

AGAINST = (
    re.compile(
        r"""\?\s*$|^(?:what|why|how|which|who|any\ idea|that's\ why)\b
        | ^(?:\w{1,12},\ )?(?:should|shall|can|could|would|do|does|did|is|are|will)\ (?:we|i|you|it|the|this|that|there)\b
        | \b(?:how|what|why)\ (?:can|do|does|should|could|would|if)\b""",
        re.VERBOSE,
    ),
    re.compile(
        r"""\b(?:never\ mind|nevermind|for\ now|this\ time|right\ now|at\ the\ moment|today|tonight|theoretically
        | hypothetically|as\ before|not\ yet|maybe|perhaps|probably|might|not\ sure|i\ guess|i\ wonder|i\ assume|i\ believe
        | i\ suppose|i\ think\ we|seems?|looks\ like|it\ appears|i\ have\ a\ feeling|i\ feel\ like)\b""",
        re.VERBOSE,
    ),
    re.compile(
        r"""\b(?:bugs?|buggy|broken|fail(?:s|ed|ing|ure)?|errors?\b(?!\ (?:are|messages))|crash(?:es|ed)?|wrong|weird|stuck
        | incorrect(?:ly)?|does(?:n'?t|\ not)\ work|not\ working|traceback|exception\b
        | still\ (?:not|the|get|see|has|have|trying))
        | \b(?:it|console|terminal)\ says\b|\bwhen\ i\ (?:run|click|open|start|type)\b|\bi\ (?:click|get|see)\b|\\"
        | \b(?:must|should)\ have\ [a-z]{3,15}(?:ed|en)\b""",
        re.VERBOSE,
    ),
)
"""A question; a moment or a doubt; a report of a fault."""


@cache
def lasting_signs() -> tuple[tuple[str, LastingKind, re.Pattern[str]], ...]:
    """Return each sign with the kind that it tells, compiled when they are first needed: a start of the program need not wait."""
    return tuple((name, kind, re.compile(pattern)) for name, kind, pattern in _PATTERNS)
