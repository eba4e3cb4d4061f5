"""The signs of a rule, and of what looks like one and is none. Pure.

Law: each expression is tried on one sentence in lower case, without its quotations, and names no thing of one project.
"""

__all__ = [
    "ASKS",
    "BIDS",
    "CLAIMS",
    "CONTRASTS",
    "DESCRIBES",
    "FORBIDS",
    "FROM_NOW_ON",
    "HOLDS_ON",
    "JOBS",
    "LASTS",
    "NORMS",
    "OF_THE_WORK",
    "ONCE",
    "PLEASE",
    "POLITE",
    "PROPOSES",
    "REFUSES_NOT",
    "REPORTS",
    "SPREADS",
    "START",
    "STYLE",
    "USE_NOT",
    "WISHES",
]

START = (
    r"(?:^|[,;:.!?(] ?|[ ][-\u2013\u2014]+ |^[-*+•\u2013] ?|\b(?:and|but|so|also|then|please|pls|plz|pleas|ok|okay|oh|yes|yeah|no|btw"
    r"|by the way|because|since|just|again|k|hey|hi|thx|thanks|note|importantly|finally|lastly|one more thing"
    r"|whatever (?:you do|happens)|remember),? )"
)
"""The beginning of a clause."""

_PUNCTUATED = r"(?:^|[,;:.!?(] ?|[ ][-\u2013\u2014]+ |\b(?:please|pls|remember|oh|btw|so) )"
"""The same, without the words that join clauses."""

PLEASE = r"(?>(?:(?:please|pls|plz|kindly|just|also|really|simply|you) ){0,2})"
_NOT = (
    r"(?:do not|don'?t|dont|donot|never ever|never|must not|mustn'?t|should not|shouldn'?t|may not|can ?not|can'?t"
    r"|are not to|aren'?t to)"
)
_NO_ORDER = (
    r"(?!(?:worry|bother|mind|hesitate|panic|forget|know|think|understand|see|remember|care|get me|recall|believe"
    r"|really|have|need|feel|be (?:afraid|sorry)|find|suppose|wonder|want|expect|like|trust this|ask me why)\b)"
)
_NO_THING = (
    r"(?!(?:need|idea|problem|worr(?:y|ies)|rush|hurry|matter|doubt|longer|wonder|way|it|that|this|the|i|we|you|one|no|good"
    r"|luck|news|reason|clue|sense|changes?|thanks?|(?:more |other |further )?(?:questions?|issues?|errors?|findings?"
    r"|problems?)|difference|other|further|such)\b)"
)

FORBIDS = (
    START + PLEASE + _NOT + r" " + _NO_ORDER + r"(?!do (?:it|that|this)\b)(?:ever |just |also |even )?[a-z`'\"(]",
    r"\bwe (?:never|do not|don'?t|dont) (?!(?:need|have|want|know|see|get|care|think|yet|really|even|seem)\b)[a-z]{2,20}",
    r"\bi (?:really |do )?(?:hate|dislike|don'?t like|do not like) (?:it )?(?:when|if|that) you\b",
    r"\byou (?:must|should|may|can|shall|will|are|do|would)(?: not|n'?t|nt| never)(?: ever)? (?!(?:need|have|want|going)\b)",
    (
        r"\byou(?:'re| are) not (?:allowed|permitted|supposed) to\b"
        r"|\b(?:not|never|isn'?t|aren'?t) (?:allowed|permitted|to be|acceptable|welcome)\b"
    ),
    (
        r"\bi(?: really| absolutely| strictly)? (?:do not|don'?t|dont|never)(?: ever)? want "
        r"(?:(?:you|us|to (?:see|find|have)|any|it|them|this|that)\b|[a-z]+s\b|[a-z]+ing\b|.{1,60}\b(?:anywhere|ever|any ?more)\b)"
    ),
    START
    + PLEASE
    + r"(?:stop|quit|avoid|refrain from|cease|no more|enough with|give up|abstain from)(?: any| all| the| your)? [a-z`'\"]",
    r"\b(?:off[- ]limits|hands off|no[- ]go|taboo|out of bounds|forbidden|prohibited|banned|verboten|sacred|untouchable)\b",
    r"\b(?:stay|keep|steer) (?:away|out|clear|off|your hands off)(?: of| from)?\b|\bkeep your (?:hands|fingers)\b",
    START
    + PLEASE
    + r"(?:leave|keep)\b(?! (?:a|an|as) ).{1,60}\b(?:alone|untouched|unchanged|as (?:it|they|is|are)\b|as-is|in peace|be\b|to me\b|in place)",
    START
    + r"(?:nothing|no one|nobody|none of)\b.{2,120}\b"
    + r"(?:gets?|goes|should|may|must|is|are|can|shall|leaves?|enters?|lands?|ships?|happens?)\b",
    _PUNCTUATED
    + PLEASE
    + r"(?:absolutely |strictly )?no "
    + _NO_THING
    + r"[\w`'\"./(-](?!.{0,80}\b(?:is|are|was|were|has|had|found|evident|exists?|needed|required|remains?|seems?|appears?|there|means|=)\b)",
    r"\bonly (?:allowed|permitted|acceptable)\b|" + START + r"stay (?:inside|within)\b",
    r"\bunder no circumstances?\b|\bno exceptions?\b|\bat no (?:point|time)\b|\bby no means\b|\bin no case\b",
    r"\b(?:never|not) (?:gets?|goes?|go|be|belongs?|enters?|mentions?|leaves?|touch(?:es|ed)?|into|in|on|to)\b",
)
"""It forbids something."""

REFUSES_NOT = (
    r"\bnever ?mind\b|\bnot only\b|\bdon'?t (?:worry|bother|mind)\b|\bwhy (?:not|don'?t|doesn'?t)\b|\bno need to\b"
    r"|\bit (?:never|does ?n[o']?t|won'?t|can'?t)\b"
    r"|\bi(?: can|could|did|have|am|was)?(?: ?not|n'?t) (?:know|see|understand|remember|find|get|think|figure|reproduce|sure)\b"
)
"""It looks like a prohibition and is none."""

_VERB = (
    r"(?:use|keep|write|ask|tell|show|run|make|follow|stick|prefer|put|name|commit|push|add|check|take|treat|work|answer|reply"
    r"|respond|explain|format|test|document|limit|wait|act|speak|talk|look|read|create|open|mark|mask|pin|split|sign|log|store"
    r"|save|report|confirm|verify|mention|cite|include|respect|assume|ensure|be|go|stay|stop|begin|start|end|prefix|call|let"
    r"|give|have|leave|think|review|update|remember|quote|summari[sz]e|describe|squash|rebase|merge|branch|tag|bump|round|sort"
    r"|order|escape|validate|translate|spell|type|import|export|install|build|deploy|delete|remove|edit|change|touch|propose"
    r"|suggest|plan|pause|warn|consult|refer|list|link|note|point|return|throw|raise|catch|handle|wrap|indent|separate|group"
    r"|declare|define|restrict|send|post|get|do|say|try|measure|search|record)"
)

BIDS = (
    START
    + r"(?=[a-z])"
    + PLEASE
    + r"(?:always |only |first |rather |instead |then )?(?:using|make sure|"
    + _VERB
    + r")\b",
    r"^(?:before|after|for|in|on|with|when|whenever|if|as) .{1,80}? (?:" + _VERB + r"|always|never|only)\b",
    START + r"always\b",
    r"\byou(?:'ll| will)? (?:must|should|have to|need to|are to|shall|always|only|never|ought to)\b",
    r"\b(?:make sure|be sure|ensure|see to it|take care)\b",
    START
    + r"only (?:i|me|use|touch|edit|change|run|commit|push|write|ever|after|when|if|in|on|with|the|you|we|via|through|by|work|from)\b",
    START
    + r"(?:max|maximum|at most|at least|minimum|no more than|not more than|up to|exactly)\b.{1,80}\b(?:per|for|in|each|every|of)\b",
)
"""It bids something."""

WISHES = (
    (
        r"\bi(?:'d| would| do| really| strongly| generally| always| usually){0,2} "
        r"(?:want|prefer|like|love|expect|need|insist|require|rather|appreciate)\b"
    ),
    (
        r"\bwe (?:always |only |never |all |do not |don'?t |no longer |usually )?(?:use|want|prefer|follow|write|keep|name|deploy|test"
        r"|agreed|decided|need|avoid|commit|merge|review|stick)\b"
    ),
    (
        r"\bit would be (?:nice|great|lovely|good|best|better|kind)\b|\bit'?s (?:important|essential|crucial|vital|mandatory)\b"
        r"|\bi'?d be (?:glad|happy|grateful)\b|\bmy (?:rule|preference|wish|policy|convention)\b"
    ),
)
"""The person wishes something."""

_PROCESS = (
    r"(?:changes?|commits?|commit messages?|branch(?:es)?|branch names?|prs?|pull requests?|merge requests?|tests?|test names?|unit tests?"
    r"|(?:code )?comments?|docs?|docstrings?|documentation|names|functions|methods|classes|files|components|modules|migrations?"
    r"|dependenc(?:y|ies)|secrets|credentials|passwords|api keys|releases|release notes|repl(?:y|ies)|answers|explanations|code"
    r"|production code|bug ?fix(?:es)?|refactorings?|reviews?|changelog entries|todos?|scripts|schema changes|variables|constants"
    r"|variable names|function names|diffs?|patches|pushes|deploy(?:s|ments)|imports|helpers|fixtures|logs|log messages"
    r"|exceptions|queries)"
)
_THING = (
    r"(?:"
    + _PROCESS
    + r"|messages?|strings?|texts?|times?|dates?|colou?rs?|styles?|css|endpoints?|headings?|issues?|tickets?"
    r"|changelog|features?|lines?|types?|enums?|interfaces?|errors?|error messages?|translations?|copy|money|amounts?|prices?"
    r"|paths?|urls?|configs?|settings|snapshots?|examples?|assets?|images?|data|responses?|plans?|summar(?:y|ies)|packages?"
    r"|libraries|commands?|output|identifiers?|ids?|api calls?|network calls?|utilities|hooks?|pages?|screens?|tables?|columns?)"
)

NORMS = (
    START
    + r"(?:all|every|each|any)(?! (?:\d|of|that|this|other)\b)(?: [\w'/-]{1,24}){1,4}? (?:goes|go|belongs?|comes? with|carr(?:y|ies))\b",
    START
    + r"(?:anything|everything)\b(?! (?:else )?(?:is|you can)\b).{0,60}?\b(?:goes|belongs?|needs|gets|only after)\b",
    START + r"(?:(?:your|our|all) )?" + _PROCESS + r" (?:first|only|[a-z]{3,12}) .{1,40},? (?:not|second|never) ?",
    r"\bsource of truth\b|\bmust be kept\b",
    START
    + r"(?:all|every|each|any) new(?: [\w'/-]{1,24}){1,4}? (?:must|should|needs?|has to|have to|gets?|is|are|requires?)\b",
    START
    + PLEASE
    + r"(?:treat|keep|name|put|place|prefix|suffix|indent|capitali[sz]e) (?!(?:this|his|its|us|yes|as|changes)\b)[\w`-]{2,24}s\b",
    r"\b(?:one|a single|1) [\w-]{2,20} per [\w-]{2,20}\b|\b(?:is|are) (?:a must|mandatory|non-negotiable|obligatory)\b",
    r"\b(?:ask|check with|confirm with|consult|talk to|warn)(?: me| with me)?(?: first)? before \w+ing\b(?! (?:on|further)\b)",
    START
    + r"(?=\w)(?!(?:the|this|that|these|those|it|they|he|she|its|their) )(?:(?:new|all|our|your|public|generated|internal|exported|every|each) )?"
    + r"(?:[\w'-]{2,20} ){0,1}"
    + _PROCESS
    + r"(?: (?:in|for|of|on|under|with|from|to) [\w'/`.-]{1,24}(?: [\w'/`.-]{1,24}){0,3})? (?:must|should|need to|needs to|have to|has to"
    + r"|shall|never|always|only|go|get|come|comes|goes|gets|needs?|requires?|belong|stay|begin|start)\b",
    START
    + r"(?:a|an|the) (?:[\w'-]{2,20} ){0,2}[\w-]{2,20} (?:of yours|by you|from you|you (?:write|make|open|send|create))\b"
    + r".{0,60}\b(?:must|should|never|always|only|not|at most|has to|needs to)\b",
)
"""It binds the parts of the work in general."""

OF_THE_WORK = (
    START
    + r"(?:all|every|each|any|new|our|both|public|generated|shared|existing)(?! (?:\d|of (?:this|that|these|those)|that|this|other)\b)"
    + r"(?: [\w'/-]{1,24}){0,4}? (?:must|should|needs?|has to|have to|gets?|goes?|go|comes?|is|are|stays?|belongs?|lives?|begins?|starts?"
    + r"|ends?|carr(?:y|ies)|requires?|in|on|with|only|shall|will|uses?)\b",
    START
    + r"(?=\w)(?:[\w'-]{2,20} )?"
    + _THING
    + r"(?: [\w'/`.-]{1,20}){0,3}? (?:must|should|need|have to|go|get|come|are|stay|belong|live|begin|start|end|read|never|always|only|in"
    + r"|under|shall|use|carry)\b",
    START
    + r"(?:anything|everything|whatever|whoever|wherever|anyone|everyone)\b(?! (?:else )?(?:is|looks|works|seems|matches|was|you can|on your)\b)"
    + r".{0,120}?\b(?:only|must|should|needs?|has to|goes|gets|stays?|never|always|first|requires?|not|belongs?|lives?|lands?)\b",
    START
    + r"(?:before|after|when|whenever|if|unless|until|once|for)(?: you| a| an| any| each| every| all)\b.{2,160}?(?:, ?| - | then | )(?:"
    + PLEASE
    + r"(?:first |always |never |only |then )?"
    + _VERB
    + r"|do not|don'?t|dont|never|always|only)\b",
    (
        r"\b(?:must|should|has to|have to|needs? to|shall|will) (?:always |also |all )?"
        r"(?:stay|remain|keep|not (?:be )?(?:chang|touch|edit|modif|remov|renam|delet|break|mov|commit|push)\w*)"
    ),
    (
        r"\bonly (?:i|me|we|my|humans?|maintainers?)\b"
        r"|\b(?:i|we) (?:do|make|handle|take care of) (?:the|all|every)\b"
    ),
)
"""It speaks of the work in general, and not of how the program behaves."""

STYLE = (
    r"\b(?:british|american) (?:english|spelling)\b|\b(?:in|only|plain) (?:\w{1,12} ){0,2}(?:english|german|french|spanish|italian"
    r"|dutch|portuguese|polish|russian|chinese|japanese|korean)\b|\b(?:two|four|2|4|8) spaces\b|\btabs\b|\b(?:single|double) quotes\b"
    r"|\bsemicolons\b|\b(?:camel|snake|kebab|pascal)[ _-]?case\b|\bimperative\b|\butc\b|\biso ?8601\b|\bconventional commits?\b"
    r"|\bsemver\b|\bbackwards?[ -]compatib\w+|\b(?:concise|brief|terse|short)\b.{0,30}\b(?:answers?|replies|messages)\b"
    r"|\b(?:below|under|at most|max(?:imum)?|no (?:more|longer) than|up to|fewer than|less than|within) (?:\d+|two|three|five|ten)\b"
    r"|\b(?:answers?|replies|responses)\b.{0,40}\b(?:short|brief|concise|lines|sentences|words)\b"
)
"""A style that holds for all of the work."""

USE_NOT = (
    START
    + PLEASE
    + r"(?:use|using|prefer|work with|stick (?:to|with)|go with|take|write) (?!(?:the|this|that|these|those|my|your|a|an|it|them|option) )"
    + r".{2,60}?[ ,](?:not|instead of|rather than|over|never|no \w|only|nothing else)\b",
    START + r"(?:[\w./`'-]{2,24} ){1,3}only\b,? (?:i|no|not|please|never)\b",
    (
        r"\bi(?:'d| would)? (?:much |strongly |generally |always )?(?:prefer|rather have|like) "
        r"(?!(?:the|this|that|these|those|to|your|option|a|an) ).{2,60}?\b(?:over|to|instead of|rather than|not)\b"
    ),
)
"""One way is set above another."""

LASTS = (
    r"\b(?:never|always|ever\b(?! (?:since|seen|had|been))|any ?more|any ?longer|whenever|(?:after|before|unless|without|when) (?:every|each|any)\b(?! of (?:these|those|them|the)\b)"
    r"|from (?:now|here|today|this point|tomorrow|this moment) on(?:wards?)?|from here|starting (?:now|today)|going forward"
    r"|henceforth|in (?:the )?future(?! (?:reference|work))|as a (?:general )?rule|in general|generally|before anything"
    r"|at all times|at any (?:time|point)|under no circumstances?|no exceptions?|for the (?:rest|whole)|for good|throughout"
    r"|permanently|until (?:i|we|further)|unless (?:i|we|you|it|asked|told|the)|(?:when|after|once|if) i (?:say|said|tell|ask|approve|confirm)"
    r"|without (?:my|asking|a word|telling|permission|approval|an? ok|me|being asked|explicit)|w/o (?:my|asking|a)"
    r"|in this (?:repo|repository|project|codebase|team|company|session|monorepo)|in (?:our|the) (?:repo|codebase|project)"
    r"|every ?time|each time|any ?time|all the time|by yourself|on your own|in later|also later|still holds?|as always|as usual"
    r"|whatever (?:you|happens)|when [a-z]{3,14}ing|only (?:after|when|if|once) i"
    r"|when(?:ever)? you (?!(?:are|re) (?:done|ready|finished))"
    r"|if you(?:'re| are)? (?:not sure|unsure|in doubt|need|have to|must|change|add|touch|edit|write|make|find|see|get|want|propose|create)"
    r"|before you (?:use|commit|push|say|tell|edit|change|delete|run|start|merge|open|make|write|touch|add|claim|report|call|mark|finish)"
    r"|long[- ]term|for future (?!reference)\w+)\b"
)
"""It is meant to last."""

SPREADS = (
    r"\b(?:anywhere|everywhere|for (?:everything|anything)|(?:that|sure) (?:every|each)"
    r"|(?:on|for|at|in|with|of|to|per|about) (?:every|each|any)\b(?! of (?:these|those|them|the))"
    r"|(?:in|for|on|with) all (?!(?:that|this|of|these|those|the|other|two|three|four|five|\d+)\b))"
)
"""It is meant for all of a kind: lasting, unless it orders one job."""

JOBS = (
    r"^(?:(?:ok|okay|yes|now|then|and|also|please|pls|great|good|can you|could you|go ahead and),? )*(?:add|fix|remove|delete|rename|replace|convert|update"
    r"|create|implement|move|check|look|find|list|refactor|rewrite|extract|apply|set|change|search|go through|generate|migrate|translate|write"
    r"|read|review|analy[sz]e|improve|clean|do the same|include)\b"
)
"""It orders a job."""

CONTRASTS = (
    r"(?:[,;(]|[ ][-\u2013\u2014]) ?(?:and )?(?:not|never|no|nothing|only|instead)\b",
    r"\binstead(?: of)?\b|\brather than\b|\bonly\b|\bnot\b|\bnothing else\b|\bexcept\b|\bexclusively\b|\bstrictly\b|\bexplicit(?:ly)?\b",
)
"""It sets one way against another."""

_JOB = (
    r"(?:one|step|diff|change|changes|commit|pr|task|ticket|round|file|function|bug|test|issue|question|answer|branch|run|part|phase"
    r"|message|fix|feature|request|review|job|sprint|iteration|case)"
)
ONCE = (
    r"\byet\b|\bfor (?:now|the moment|today|the time being)\b|\bthis (?:time|once|round|minute)\b|\bright now\b|\btoday\b|\btonight\b"
    r"|\bat the moment\b|\bjust (?:this|these|that|once)\b|\bonly (?:this|these|those|that (?:one|file|part)|the body)\b"
    r"|\b(?:in|for|with|on|of|during) (?:this|that|these|those|the (?:next|first|second|last|current|present|new|above|following)) "
    + _JOB
    + r"\b|\b(?:this|that|the (?:next|first|second|last)) one\b|\bonce\b(?! (?:i|you|we|it|a|an|every|per|the|all))"
    r"|\bwhile you(?:'re| are| do)\b.{0,20}\b(?:that|it|this)\b"
    r"|\b(?:before|after|until) (?:that|this|then|tomorrow|it|monday|we|continuing|moving|proceeding)\b|\bnext,|\b(?:now|first)[.!]?$"
    r"|\b(?:these|those|the) (?:two|three|four|five|\d)\b|\bnow that\b|\bagain[.!]?$"
)
"""It is meant for the work at hand."""

ASKS = (
    r"\?[\s\"')]*$|^(?:what(?!ever| is certain| i (?:said|told|asked|wrote|meant))|why|how|which|who|where|when will|when did|any idea|is it|are there|is there|does|did|do you"
    r"|do we|should|shall|would it|could it|can it|can we|could we|i wonder|i was wondering|wondering)\b"
    r"|\b(?:true or not|right or wrong|what do you think)\b"
)
POLITE = (
    r"^(?:and |so |also |but |then |ok,? |oh,? )?(?:can|could|would|will) (?:you|we)(?: please| pls| kindly)? (?:always|never|make sure"
    r"|ensure|stop|keep|not|only|avoid|use|ask|tell|write|refrain|remember|mind (?:not|always)|try (?:to always|not to)|from now on"
    r"|in future)\b.{0,160}\b(?:always|never|every|each|before|any|from now on|in (?:the )?future|not|only|stop|unless|all)\b"
    r"|^(?:and |so |also |but |then |ok,? |oh,? )?(?:can|could|would|will) you(?: please)? (?:always|never|stop|refrain|not)\b"
)
"""A question that asks for something."""

CLAIMS = (
    r"\b(?:i|we) (?:read|heard|saw|was told|were told|found|learned|noticed|remember) (?:\w{1,12} ){0,2}that\b"
    r"|\b(?:docs?|documentation|manual|page|vendor|lawyer|blog|author|article|spec|rfc|error|warning|log|message|hint|compiler|linter|it) "
    r"(?:says?|said|states?|claims?|tells?|complains?|recommends?|suggests?|warns?)\b"
    r"|\b(?:apparently|supposedly|allegedly|seems?|looks like|it appears|maybe|perhaps|probably|might"
    r"|i (?:think|guess|believe|suppose|assume|feel|thought) (?:that )?(?:we|it|this|the|i|they|there))\b"
)
"""Another says it, or the person is not sure."""

REPORTS = (
    r"^(?:every ?time|whenever|each time|always when) (?:i|it)\b.{0,80}\b(?:fails?|gets?|see|breaks?|crash\w*|happens?|shows?|hangs?|is|are)\b"
    r"|\bmake (?:it|this|that|them|the [\w ]{2,30}) always\b"
)
"""It says how the program behaves or is to behave."""

DESCRIBES = (
    r"^(?:and |so |but |also |then |yes,? |ok,? |well,? |currently,? |right now,? )?(?!it would be \w+ if you|it'?s (?:important|essential|crucial|vital|mandatory))"
    r"(?:we (?:can|could|will|might|may|are|were|have)|the|this|that|it|these|those|they|he|she|there|its|a|an|our|my|some"
    r"|one)\b(?! (?:rule|convention|policy|preference|thing|way|agreement|standard|limit|idea is)\b)"
    r"(?:(?! (?:of yours|by you)\b).){0,90}?\b(?:must|should|never|always|only|has to|have to|needs? to|can|can'?t|cannot|does ?n'?t"
    r"|do ?n'?t|did ?n'?t|is|are|was|were|will|would|takes?|fails?|shows?|returns?|gets?|works?|worked)\b"
)
"""Its subject is one thing, so that it describes how that thing is or is to be."""

PROPOSES = (
    r"^(?:(?:and|so|then|ok|okay|yes|yeah|now|great|good|cool),? )*(?:let'?s|lets|i'd like (?:you )?to|i want (?:you )?to|i need (?:you )?to|we can|we could)\b"
    r"(?! (?:(?:approve|see|review|check|be asked|decide|confirm) (?:each|every|any|all)|always|never|not|stop|keep|stick|only|avoid|see you)\b)"
)
"""It says what is to be done next."""

FROM_NOW_ON = (
    r"\b(?:from (?:now|here|today|this point|tomorrow|this moment) on(?:wards?)?|going forward|henceforth|in (?:the )?future(?! reference)"
    r"|as a (?:general )?rule|under no circumstances?|at all times|starting (?:now|today)|until further notice)\b"
)
"""It says by itself that it lasts."""

HOLDS_ON = (
    r"\b(?:off[- ]limits|hands off|no[- ]go|taboo|not (?:to )?(?:be )?(?:touched|edited|changed|modified|committed|pushed|allowed|used)"
    r"|(?:must|should|has to|have to|needs? to|shall) (?:always |also )?(?:stay|remain|keep|not change|never change)"
    r"|forbidden|prohibited|banned|sacred|source of truth|(?:is|are|stays?|remains?) (?:mine|with me|frozen|untouched|private|secret)"
    r"|by you|of yours|from you|from now on|in this (?:repo|project|team)|anywhere|never (?:be )?(?:touched|edited|changed|committed|pushed)"
    r"|your (?:job|hands))\b"
)
"""A thing that is described so is put under a rule."""
