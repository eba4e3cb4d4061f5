"""The signs of a lasting statement, and those that speak against one. Pure.

Law: each expression is tried on one sentence in lower case. None of them finds more wrong sentences than right ones in the
labels that `bench/lasting.py` reads; some find none there.
"""

import re
from typing import Literal

__all__ = ["AGAINST", "LastingKind", "OWNS", "SIGNS"]

LastingKind = Literal["rule", "preference", "decision", "fact"]

_START = r"(?:^|[,;:.(] ?|\b(?:and|but|so|also|then|please|ok|okay|yes|no|btw|because|since|as)[,:]? )"
"""The beginning of a clause; the typed text is lower case by then."""

_FIRST = r"(?:^|[.;] |\b(?:so|also|then|please|ok|okay|yes|btw)[,:]? )"
"""The beginning of a main clause."""

_ALWAYS_IN = r"\b(?:unless|by default|automatically|without (?:asking|my|me|permission|approval)|any ?more|ever)\b"
_EVERY = rf"\b(?:(?:on|for|after|before|at|in) (?:every|each|any)\b|every ?time\b|each time\b|any ?time\b|all the time\b|whenever\b)|{_ALWAYS_IN}"
_NOT_DEFINITE = r"(?!(?:the|this|that|these|those|they|it|we|you|i|he|she|there|what|which|my|your|his|her|a|an|all|yes|no|so|ok|please|new)\b)"
_PLURAL = rf"{_NOT_DEFINITE}(?:[\w`/-]{{2,20}} ){{0,2}}[\w`/-]{{2,20}}s "
"""A subject without an article, such as ``api errors``: what is said of it is meant in general."""

_PATH = r"(?:[`'\"]?(?:~|\.{1,2}|@?[\w.-]{1,40})/[\w./@~-]{1,120}|`[^`]{2,80}`|https?://\S{4,200}|\.[a-z][\w.-]{2,60})"
_LANGUAGE = r"(?:english|german|french|spanish|italian|dutch|portuguese|polish|russian|chinese|japanese|korean)"
_OFTEN = (
    r"(?: also| always| only| usually| generally| normally| mostly| already| actually| still| now| just| never){0,2}"
)

_PATTERNS: tuple[tuple[str, LastingKind, str], ...] = (
    ("make sure", "rule", r"\bmake sure (?:to|that|you|we)(?: \w{1,12})? (?:always|never)\b"),
    (
        "not allowed",
        "rule",
        r"\byou (?:must not|mustn'?t|are not allowed to)\b|\bi don'?t want (?:you|us|agents?|claude|codex) to (?!.{0,160}\b(?:this|that|yet|now|it|these|those)\b)",
    ),
    (
        "compatibility",
        "decision",
        r"\b(?:no|not|don'?t|never|without)(?: [a-z]{2,12}){0,4} backwards?[ -]compat|\bbackwards?[ -]compat[a-z]{0,8} (?:is|isn'?t|matters|doesn'?t)\b",
    ),
    ("in this project", "decision", r"\bin (?:this|our) (?:project|repo|repository|codebase|company|team|org),? we\b"),
    (
        "released",
        "fact",
        r"\bno (?:real |external |other )?(?:users|customers) yet\b|\b(?:have|has)(?:n'?t| not) (?:been )?(?:released|shipped|launched)\b|\b(?:greenfield|not (?:yet )?in production|(?:is|it'?s) open[- ]source)\b",
    ),
    ("by this name", "fact", r"\bstands for\b|\bby [\w '`\"-]{2,40} (?:i|we) mean\b"),
    (
        "the main one",
        "fact",
        r"\bis (?:the|our) (?:main|default|primary|canonical|official|only) (?:repo|repository|branch|database|entry ?point|environment|package|registry|domain|server)\b",
    ),
    (
        "purpose",
        "fact",
        r"\b(?:goal|purpose|aim|philosophy) of (?:this|the|our) (?:project|tool|repo|app|library|package|product) is\b",
    ),
    ("run with", "fact", r"\byou can (?:run|start|build|test|deploy) .{2,60} (?:with|via|using|by running) "),
    (
        "profession",
        "fact",
        r"\bi(?:'m| am) an? (?:[\w-]{2,20} ){0,3}(?:developer|engineer|designer|scientist|maintainer|contributor|beginner|student|founder)\b",
    ),
    (
        "never",
        "rule",
        _FIRST
        + r"never (?!mind\b|ever mind\b|the\b|a\b|an\b|enough\b|got\b|had\b|works?\b|seen\b|on\b|in\b|more\b|less\b)[a-z]{2,20}\b",
    ),
    (
        "never",
        "rule",
        r"(?<!\bit)(?<!this)(?<!that)(?<!\bi)(?<![,:;]) (?:should|must|will)(?: also)? never\b|[\w`] never (?:should|has to)\b",
    ),
    ("always", "rule", _FIRST + r"always (?!the\b|a\b|an\b|fails?\b|gets?\b|shows?\b|returns?\b)[a-z]{2,20}\b"),
    (
        "always",
        "rule",
        r"(?<!\bit)(?<!this)(?<!that)(?<![,:;]) (?:should|must|need to|have to|has to|you to|it to|them to)(?: also)? always\b",
    ),
    ("always", "rule", r"\b(?:we|i) always (?!get|got|had|have|see|saw|end)[a-z]{2,20}\b"),
    ("always are", "rule", _START + _PLURAL + r"are (?:always|never)\b"),
    ("not every time", "rule", _START + r"(?:do not|don'?t|dont|stop|avoid|no need to) .{0,160}?(?:" + _EVERY + ")"),
    (
        "stop",
        "rule",
        _START
        + r"(?:please )?stop (?!(?:it|this|that|the|here|now|and|for|being)\b)[a-z]{3,20}ing\b(?!.{0,40}\bjust do)",
    ),
    (
        "after each",
        "rule",
        r"\b(?:after|before) (?:every|each)\b|^(?:every ?time|each time|whenever) you\b|\bask me every\b|\b(?:every|each) boot\b",
    ),
    (
        "from now on",
        "rule",
        r"\b(?:from now on|going forward|from here on|in (?:the )?future(?! (?:reference|work))|as a rule)\b(?! (?:the|this|that|it|they|he|she)\b)",
    ),
    ("unless I say", "rule", r"\b(?:unless|only (?:when|if)) i (?:say|ask|tell|explicitly|approve)\b|\bwhen i say\b"),
    (
        "before a commit",
        "rule",
        r"^(?:please )?(?:run|check|make sure|lint|format|update)\b.{2,40}\b(?:before|after) (?:you )?(?:commit(?:ting)?|push(?:ing)?|merg(?:e|ing)|releas(?:e|ing)|deploy(?:ing)?)\b(?!.{0,160}\b(?:this|that|it|these|then)\b)",
    ),
    (
        "the rule is",
        "rule",
        r"\b(?:the|our|my) (?:rule|convention|policy|preference|guideline|workflow) (?:here )?is\b|\bsource of truth\b",
    ),
    (
        "ask me",
        "rule",
        r"\b(?:ask|check with|confirm with|consult) me\b.{0,60}\b(?:before|first|every|each|if|when|whether)\b(?!.{0,80}\b(?:questions?|unclear|clarif))|\b(?:before|if|when)\b.{2,80}\bask me\b(?!.{0,80}\bquestions?\b)",
    ),
    ("remember", "rule", _FIRST + r"(?:remember|keep in mind|bear in mind|please note)(?: that|:) |\bmake a note of\b"),
    (
        "as I said",
        "rule",
        r"\b(?:i(?:'ve| have)? (?:already )?(?:told you|said (?:this|that) (?:before|already|last))|as i said|like i said)\b",
    ),
    (
        "any",
        "rule",
        r"^(?:btw,? |and |but |so |also |note:? )?(?:any|every|each|anything|everything|nobody|no one)\b(?! (?:other|issues?|idea|of|single|chance|way|questions?|should|needs?|must)\b).{3,120}?\b(?:gets?|goes|has|carries|needs?|must|should|requires?|stays?|ships?)\b",
    ),
    (
        "no exceptions",
        "rule",
        r"\b(?:no exceptions?|nothing by hand|hands off|under no circumstances|strictly (?:no|forbidden)|not up for discussion)\b",
    ),
    (
        "none",
        "rule",
        r"(?:^|[.;] )no (?!(?:need|idea|such|problem|worries|one|longer|file|satisfies|luck|difference|changes?|response|output|effect|results?|reason|way|tests?|data|info|traces?|signs?|mention|logs?)\b)(?:more )?[\w@`'-]{2,30}(?: [\w`/'-]{1,30}){0,3} (?:in|anywhere|inside|outside|for|at)\b(?!.{0,160}\b(?:this|that|these|those|is|are|was|were|configured)\b)",
    ),
    (
        "do not",
        "rule",
        r"^(?:please )?(?:do not|don'?t|dont) (?:use|mock|hard-?code|rely|assume|invent|guess|skip|push|merge|force|bypass|ignore|swallow|elide|silence|let|log|print|rename|translate) (?!.{0,160}\b(?:this|that|these|those|yet|now|until|here|first|it|round|today|other|next|while|enough|two)\b)(?:\S{1,60} ){2}",
    ),
    (
        "manner",
        "preference",
        r"\b(?:answer|reply|respond|talk|speak)\b.{0,40}\bin "
        + _LANGUAGE
        + r"\b|\bkeep (?:them|your answers?|answers?|replies|responses|messages|explanations?|prs?|commits|diffs) (?:very )?(?:short|small|brief|concise)\b|\bjust say done\b|^(?:please )?be (?:more )?(?:concise|brief|terse|honest|direct)\b",
    ),
    (
        "when you",
        "preference",
        r"^(?:if|when(?:ever)?) you(?:'re| are)? (?!(?:run|made|have modified|click|open|go|look|can|could|want|need|think|get)\b).{3,100}\b(?:stop|tell me|ask|just say)\b|\b(?:tell|show) me .{3,50}\bwhen(?:ever)? you (?:report|finish|are done|change)\b|\b(?:read|see|check) .{3,30}\bbefore you (?:say|edit|propose|change)\b",
    ),
    (
        "commits",
        "preference",
        r"\b(?:do|make|create|use|keep|prefer) (?:small(?:er)?|meaningful|individual|atomic|conventional|signed|granular)(?: and [a-z]{3,12})? commits?\b",
    ),
    (
        "prefer",
        "preference",
        r"\b(?:i(?: do| generally| usually| always| really| strongly){0,2} prefer|i'd rather have) (?!(?:your|this|that|the|it|if|option|approach|solution|\w|\d+)\b)(?!.{0,160}\b(?:this|that|these)\b)",
    ),
    (
        "like",
        "preference",
        r"\bi (?:really |do |also |quite |generally |absolutely )?(?:liked|loved|(?:like|love|hate|dislike)(?! (?:the|a|an|option)\b))(?! (?:it|this|that|them|to|you|your|how|what)\b) ",
    ),
    (
        "only want",
        "preference",
        r"\bi(?: would|'d)? only want\b|\bi never want\b|\bi don'?t ever want\b|\bi (?:mostly|usually|generally) (?:read|work|write|review|use|run)\b",
    ),
    (
        "we use",
        "decision",
        _START
        + r"we(?:'re| are| do|'ve| have)?"
        + _OFTEN
        + r"(?: don'?t| do not)?"
        + _OFTEN
        + r" (?:use|using|follow|prefer|deploy|deploying|publish|support|target|maintain|rely on|sync|store|host|mock|ship|spin up|vendor|squash|rebase|own|adopted|standardi[sz]ed on|settled on|agreed|decided|dropped|go with|stay on|are leaving)\b(?!.{0,160}\b(?:right|other|this if)\b)",
    ),
    (
        "we never",
        "decision",
        _START
        + r"we (?:(?:don'?t|do not|only|no longer) (?:use|mock|commit|push|merge|deploy|support|ship|store|write|touch|edit|allow|accept|rely|depend|release|publish|target)|(?:never|always) (?!(?:get|got|had|have|see|call|show|return|check|hit|reach|set|end)\b)[a-z]{3,20})\b",
    ),
    (
        "agreed",
        "decision",
        r"\bwhat we (?:agreed|decided)\b|\bdecided with\b|\bwon over\b|^[\w. -]{2,30} it is(?:,|\.?$)|\bon its way out\b",
    ),
    (
        "switched",
        "decision",
        r"\b(?:i|we)(?:'ve| have)?(?: just| already)? (?:switched|moved|migrated) (?:to|from|over to) (?!(?:the|a|an|another|my|this|that)\b)(?!.{0,40}\bbranch\b)",
    ),
    (
        "let's use",
        "decision",
        r"\blet'?s (?:use|switch to|go with|settle on|stick (?:to|with)|standardi[sz]e on|call (?:it|this|them)|name (?:it|them)|default to) (?!(?:this|that|these|those|it|your|option|the (?:same|plan|first|second))\b|\d)",
    ),
    (
        "use not",
        "decision",
        r"^(?:no,? )?(?:please )?use (?!(?:the|this|that|my|your|a|an)\b).{2,60}?(?:,? not|,? instead of|,? rather than) ",
    ),
    (
        "on purpose",
        "decision",
        r"\b(?:deliberate(?:ly)?|deliberatly|intentional(?:ly)?|on purpose|by design)\b|\b(?:it'?s|it is|is|are) (?:allowed|ok|okay|fine|acceptable) (?:to (?!(?:remove|delete|skip|leave|do|drop|just|keep|merge|go)\b)|that\b)|\bi(?:'m| am) fine (?:with )?[a-z]{3,20}ing\b(?! (?:that|this|it)\b)|\bthat'?s known\b",
    ),
    (
        "not the way",
        "decision",
        r"\bnot the way to go\b|\bthere(?:'s| is) no reason (?:for|to)\b|\b(?:is|are) not relevant\b|\bis not how we\b",
    ),
    (
        "should stay",
        "decision",
        r"\bshould(?:n'?t| not) (?:ever|persist)\b|(?<!whether) [\w`]{2,40} stays (?:in|on|for|as|until|till)\b|^we stay (?:on|with)\b",
    ),
    ("the word is", "decision", r"\bthe (?:right )?(?:word|term|name) is\b.{2,60}\bnot\b"),
    (
        "convention",
        "decision",
        r"^(?:release notes|commit messages?|branch names?|resource names|naming|conventions?|rules?|policy|code style|error messages|error texts[\w ]{0,20}|comments|benchmarks): ",
    ),
    (
        "general",
        "decision",
        _START
        + _PLURAL
        + r"(?:(?:go|get|come|live|belong|land|begin|need|stay) (?:against|through|in|into|to|from|under|as|with|a|an|their|on|only|out|next)\b|are (?:signed|generated|written|deployed|stored|named|reviewed|pinned|kept|never|always|exported|called)\b)",
    ),
    (
        "place",
        "fact",
        r"^(?!.{0,80}\b(?:plan|spec|screenshots?|image|logs?|output|diff|branch|transcript|changes?|fix|issue|line|pr)\b).{0,200}?\b(?:is|are|lives?|located|stored|sits?|defined|documented|kept|found|its|it'?s) (?:at|in|under|inside)(?: the)? "
        + _PATH
        + r"|\bis located (?:at|in|under)\b",
    ),
    (
        "only used",
        "fact",
        r"\b(?:is|are) only (?:used|needed|set|meant|required|relevant|there|available|valid)\b|\b(?:is|are) (?:used|meant) only\b",
    ),
    (
        "project",
        "fact",
        r"\b(?:this|it|that)(?:'s| is) (?:a|an|our|my) (?:[a-z-]{2,20} ){0,3}(?:project|repo|repository|monorepo|library|product|prototype|poc|fork)\b(?! (?:that|which|to) (?:i|we) )",
    ),
    (
        "uses",
        "fact",
        r"\b(?:this|the|our) (?:repo|repository|project|codebase|app|backend|frontend|service|site|monorepo|team|company) (?:uses|is written in|is built with|runs on|requires|targets|follows|is deployed|has its own)\b",
    ),
    ("only one", "fact", r"\bthere(?:'s| is) only (?:one|a single) (?!file\b)|\b(?:that|it|this)(?:'s| is) public\b"),
    (
        "there is no",
        "fact",
        r"\b(?:there(?:'s| is| are)|we have) no (?:internet|network|docker|sudo|root|gpu|staging|[a-z]+ runners?|[a-z]+ access)\b",
    ),
    (
        "we are",
        "fact",
        r"\bwe(?:'re| are) (?:the )?(?:maintainers?|owners?|a (?:small|two|team))|\bwe(?:'re| are)(?: still| stuck)? (?:on|at) [a-z.-]+ v?\d|\bwe already have an? (?!lot\b|bunch\b|few\b|problem\b|bug\b)|\bwe have (?:two|three|four|\d+) (?!(?:of|options?|ways?|choices|issues|problems|things|questions|approaches|more|different|separate|places|cases)\b)",
    ),
    (
        "our",
        "fact",
        r"\bour (?:[\w-]{2,20} ){0,3}[\w-]{2,20} (?:is|are|runs?|sits?|has|have|uses?|lives?|comes?) (?:on|in|at|from|no|under|a|an|only|two|three)\b",
    ),
    (
        "state",
        "fact",
        r"\b(?:is|are) (?:read[- ]only|wired to|owned by|maintained by|done by|run by|managed by|shared with|supported until|protected|deprecated|out of date|pinned with|contractual)\b|\bis what (?:prod|production|staging|ci) (?:has|runs|uses)\b|\bis down (?:between|every|on)\b|\bleft the (?:company|team)\b|\b(?:prod|production|staging) (?:runs|uses|is on)\b",
    ),
    (
        "i am",
        "fact",
        r"^(?:btw,? )?(?:i(?:'m| am) (?:on|running|using) (?:mac|macos|windows|linux|ubuntu|wsl|arch|debian|fedora|nix|zsh|fish|powershell)|i(?:'m| am) (?:the (?:only|tester|maintainer|owner|lead)|allergic to|not a )|i use (?!the\b|this\b|that\b|it\b)[a-z]|call me [a-z]|i don'?t have [\w -]{2,30} on (?:this|my))",
    ),
    (
        "has",
        "fact",
        r"^(?:but |and |the )?(?:[\w@./`'\"-]{1,60} ){1,6}has (?:a|an|two|three)? ?.{0,80}\b(?:built-in|its own)\b",
    ),
)
OWNS = re.compile(r"\b[A-Z][a-z]{2,20} (?:owns|maintains|reviews|approves)\b")
SIGNS = tuple((name, kind, re.compile(pattern)) for name, kind, pattern in _PATTERNS)

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
