"""Takes a rule apart into clauses with a mood each: it forbids, protects, keeps back, excepts, allows, or is only a reason. Pure.

Law: a mood is known by broad classes of words and not by constructions, as nearly every rule has one of these. The
first class that fits counts, so the classes stand in the order of their force. Linear in the rule.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from undrift.core.rules.ban_marks import MOST_CHARACTERS, RuleToken, sentences_of
from undrift.core.rules.ban_where import is_told_of
from undrift.core.rules.ban_words import verb_of, words_in

__all__ = ["MAY_EXCEPT", "MoodClause", "clauses_of", "is_mood_word"]

_TOLD = words_in("because cause cuz coz otherwise which who whose thanks thx given due whereas")
_REASONS = re.compile(
    r"(?:as|since|so that) (?:i|we|it|they|the|this|that|you|he|she|my|our|there|these|those)\b(?! (?:is|are|was|were|now)\b)|since\b|so that\b|that(?:'s|s| is) (?:why|how)\b|to (?:make|get|keep) (?:\w+ ){1,2}(?:green|pass|happy|quiet|faster|shorter)\b"
)
_SPARE = words_in("except excepting excluding barring save exception") | {"besides"}
_SPARE_TWO = (
    "apart from",
    "other than",
    "aside from",
    "with the exception of",
    "save for",
    "but for",
    "all but",
    "short of",
)
MAY_EXCEPT = re.compile(
    r"except|exclud|beside|barring|save |apart|other than|aside|but for|all but|short of", re.IGNORECASE
)
"""A rule without any of these words excepts nothing."""

_INSTEAD = ("instead of", "rather than", "in place of", "in lieu of", "over ")
_IF = words_in("if when whenever once after before while until till during unless whilst")
_CONSENT = re.compile(
    r"\b(?:i|i've|i'm|we|me|my|told|asked|asking|ask|explicit\w*|permission|approval|consent|someone|said|say|blessing|go-ahead|checking"
    r"|confirm\w*|notice|okay|sign-off|instructed|otherwise|notified|telling|consulting)\b"
)
_STARTS = words_in(
    """never not no don't dont do leave keep only use i i'll we you nothing none please stay it it's that's thats they
    always just let neither nor run stick stop avoid everything that anything"""
) | {"nobody"}
_AUXILIARIES = words_in(
    "is are was were be do does did must should may can could shall will would has have had i'm am not to why or"
)
_BEFORE_THAT = words_in("than like do of with to touch and")
_BEHIND_THAT = words_in("ends end starts start begin begins match matches file branch folder ,") | {""}
_NEGATIONS = words_in(
    """no not zilch never don't dont nothing none noone neither nor cannot can't cant won't wont mustn't mustnt shouldn't
    shouldnt isn't isnt aren't arent ain't nowhere zero nope"""
) | {"nobody"}
_NEEDLESS = re.compile(
    r"\b(?:do|does|did|need)(?: not|n't) (?:\w+ )?(?:need|require|have to)\b|\b(?:don't|dont|doesn't) need\b|\bneed not\b|\bno (?:\w{1,20} ){1,4}(?:is |are )?(?:needed|required|necessary)"
)
_ABSENT = re.compile(
    r"^(?:but |and |so )?(?:they|it|users?|he|she|this|that) (?:\w+ )?(?:don't|doesn't|do not|does not|won't|will not|can't|cannot)\b|"
    r"\bno (?:longer|need|problem\w*|worries|matter|doubt|idea|rush|such|way|one knows)\b|\bnever ?mind\b|\bnot (?:sure|only|necessar\w*|really)\b"
    r"|\b(?:don't|dont|do not|needn't) (?:have to|need to|worry|forget|hesitate|mind|know|think|care|remember|see|understand)\b"
    r"|\b(?:has|have|had|was|were|did|does|could|would)(?: not|n't)\b(?! (?:get|go|belong|happen|leave|change|move)\b)|\bhow (?:not|to)\b|\bnot (?:yet|been|a problem)\b|\bwhy not\b|\bif not\b"
)
_ELSE = re.compile(
    r"\boutside\b|\bbeyond (?!your)|\b(?:nothing|anything|anywhere|nowhere) else\b|\b(?:never|not|don't) leave\b|^(?:never|not) (?:to|into|onto) \w"
)
"""Words about all but the things that are named: none of these is read here."""

_REST = re.compile(r"\b(?:every|any|no)(?:thing|where) else\b|\bthe rest\b|\ball else\b|\ball others?\b")
_IS_NOT = re.compile(r"\b(?:is|are) (?:\w+ )?not\b")
_SUBJECT = re.compile(
    r"(?:and |but |so )?((?:[\w./*'-]{1,40} ){1,5}?)(?:must|should|may|can|shall|will|does|do)(?:n't| not| never) (\w+)"
)
_ADDRESSED = words_in(
    "you i we agents agent claude codex please and so also but thanks ok okay hey everyone ai assistant assistants llm llms"
)
_HAPPENS = words_in(
    "be ever get go change contain mention include have carry end land stay move disappear vanish exist happen need"
)
_EACH = re.compile(
    r"\b(?:on|for|after|with|at|in) every\b|\bevery (?:time|run)\b|\beach time\b|\bin parallel\b|\bat once\b|\bat the same time\b|\bin one\b|\btwice\b|\bconcurrently\b|\brepeatedly\b|\bmore than one\b"
)
_OTHERS = re.compile(
    r"\b(?:users?|human|partner|assigned|worker|task|issue|maintainer|explicitly (?:needs?|requires?))\b"
)
_RATHER = re.compile(r"\brather (?:you|we|not)\b|\bwish you\b")
_ISNT = re.compile(
    r"\b(?:isn't|aren't|is not|are not)$|\b(?:isn't|isnt|aren't|arent|ain't|is not|are not|not)(?: \w+)? (?:welcome|allowed|yours?|for|to|ok|okay|permitted|fine|acceptable|an option|"
    r"our|my|by|something|part|negotiable|up for|touched|on the|up to|supposed|meant|negotiable|wanted|needed here|used|appreciated|ever|tolerated|a thing|how we|what we|toys?|open|in scope|playground)\b"
)
_PROTECTS = re.compile(
    r"\b(?:frozen|(?:just|only) for (?:reading|looking|viewing)|look[- ]only|eyes only|freezed|sacred|sacrosanct|taboo|immutable|untouchable|untouched|unchanged|intact|pristine|read[ -]?only|view[ -]?only|locked|"
    r"protected|hands[ -]?off|paws off|fingers off|off[ -]?limits?|out of bounds|no[ -]?go|holy|hallowed|fragile|quarantined?|embargo\w*|write-protected|"
    r"append[ -]?only|leave|leaving|keep (?:away|out|off|clear|your|well)|stays?|stay|remains?|spare|let [^.]{1,60} be\b|preserved|steer clear|clear of|"
    r"as[ -](?:is|they are|it is)|survive|survives|do not disturb|untouch\w*|back off|lay off|"
    r"look,? don't touch|look but don't touch|not to be touched|set in stone|carved in stone|hands away|out of (?:reach|my)|keep \S{1,40} (?:away|out|off|up|alive|running|as|the way|clean|shut|closed|private)|"
    r"forbidden territory|private|confidential|sealed|archived|carefully|"
    r"no[- ]\w{2,12}[- ](?:zone|area)|keeps? running|precious|(?:sole|single) source of truth|gospel|hand-?tuned|hand-?written|hand-?made|hand-?crafted|deliberate\w*|on purpose)\b"
)
_KEEPS_BACK = re.compile(
    r"\b(?:mine|yours?(?= to\b)|my (?:own )?(?:\w+ )?(?:job|task|turf|territory|business|privilege|call|domain|department|property|prerogative|kingdom|property of|realm of|responsibility|thing|baby|decision|work|duty|department|realm|playground)|"
    r"belongs? to|owned by|(?<!your )owns?|reserved|humans?|people only|on me|up to me|for me|to me|by (?:me|hand by|us)|myself|by myself|me alone|me only|only me|"
    r"(?:is|are|gets?|be|been|may|only) (?:\w+ )?\w+(?:ed|en|un) (?:only |solely )?by (?:the |our |a )?(?:\w+ )?(?:humans?|people|team|teams|bot|bots|ci|cd|pipeline|maintainers?|ops|dbas?|security|qa|robot|agency|infra|"
    r"platform|dependabot|renovate|guys|folks|owners?|admins?|designers?|artists|translators|legal|lead|managers?|department|dept|staff|customers?|it|boss|oncall|sre|sres|devops|finance|marketing|product|release|person|colleagues?|someone|somebody|vendor|upstream|us|me)\b|"
    r"only (?:\w+ ){0,3}(?:via|through|by) |for (?:the )?(?:\w+ )?\w+ (?:only|exclusively|alone)\b|needs? my|requires? my|needs? (?:an? )?(?:ok|okay|approval|sign-off|permission|review) |"
    r"(?:only|just) (?:me|i|we)\b|prerogative|privilege|signature|pay grade|'s (?:\w+ )?(?:job|call|baby|turf|business|problem|territory|domain|thing|task|property|responsibility|privilege|decision|duty)|wait for my|ask me|check with me|get my|my (?:ok|okay|approval|permission|sign-off|consent|go)|"
    r"no ?(?:one|body) else|nothing (?:you|for you)|someone else's|somebody else's|none of your|not your|concern|territory|turf|jurisdiction|job of|province of|remit)\b"
)
_OWNED = re.compile(
    r"\b(?:is|are|remains?|stays?) (?:\w+ ){0,2}(?!it|that|there|what|who|he|she|let|here|how|where)\w{2,20}(?:'s|s')(?: \w+)?$"
)
_CLOSED = re.compile(r"\bstays? (?:shut|closed|off|down|dark)\b")
_I_DO = re.compile(
    r"^(?:and |but |so |please )?(?:i|i'll|i'm|i will|only i|i alone|i always) (?:(?:will|do|always|alone|am|personally|usually|only|also|prefer to|want to|would like to|'ll|can) ){0,2}"
    r"(?:writ|do|doing|handl|run|push|commit|merg|deploy|tak|car|manag|edit|mak|creat|open|clos|publish|releas|tag|review|approv|fil|start|stop|restart|send|post|own|maintain|updat|bump|upgrad|appl|rebas|squash|flash|trigger|drive|driv|look after|cut|touch|rotat|clean|delet|regenerat|record)(?!\w*ed\b)"
)
_SHUNS = re.compile(
    r"(?:^|\b(?:please|so|and|then|just|to) )skip\b|\b(?:stop|quit|avoid|refrain|abstain|cease|forgo|forego|ditch|drop|forbid(?:den)?|forbids|ban|banned|bans|prohibit\w*|verboten|disallow\w*|outlawed|blacklisted|blocked|vetoed|barred|"
    r"off the (?:table|menu|list)|not on|out of the question|dead|evil|poison\w*|dangerous|dropped|retired|deprecated|(?:is|are) (?:now |all )?(?:gone|over|off|out|closed|done|history)|cursed|gets you fired|fired|no more|enough|"
    r"sick of|tired of|fed up|hate|hates|despise|loathe|can't stand|annoy\w*|unwelcome|unwanted|mistake|crime|sin|nope|lay off|hold off|hold back|hold your|spare me|spare us|"
    r"refuse|rip|refuses|heresy|cheating|allergic|stays? (?:shut|closed|off|down|dark)|no way|hard no|dead body|cold dead|pockets|cast out|scrapped|ruled out|won't have|disabled|shut|closed|cancelled|canceled|suspended|paused|on hold|on ice|firing offence|illegal|kill nothing|void|treason|no-no|no-nos|unacceptable|undesired|discouraged|restricted|pointless|useless|pollut\w*|disast\w*|nightmare|trouble|makes a mess|hurts?|unhappy|angry|cry|rude|"
    r"without (?:me|my|asking|permission|approval|checking|telling|explicit|prior|an ok|consent|clearance|sign-off|confirmation)|free of|free from|clear from|devoid)\b"
)
_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|nothing but|stick to|nothing else|limit(?:ed)? to|restrict(?:ed)? to|confined? to|alone|purely|strictly)\b"
)
_PERMITS = re.compile(
    r"\b(?:fine|ok|okay|allowed|permitted|welcome|may|can|could|free to|feel free|go ahead|good|all you like|all you want|as you like|you want|sure|enough|excepted|exempt|exception|exceptions|no problem|safe|works|knock yourself|be my guest|encouraged|happy|great|your job|your call|your turf|up to you|instead)\b"
)
_TELLS = re.compile(
    r"^(?:it|they|it's|its|they're|this|he|she|there|there's|that|that's|thats|i|i'm|i've|we|we're|we've|everything|everyone|everybody|half|somebody|someone|last time|the last|compliance|legal|customers?|people|ppl|others)\b"
)
_ASKS = re.compile(
    r"\b(?:wait for|ask|check with|check in|get my|my (?:ok|okay|approval|go|permission|consent|sign-off|blessing)|coordinate|talk to|tell me|ping me|consult|clear it|confirm|run it by|let me know|warn me|i want to|i need to)\b"
)
_POLITE = re.compile(
    r"\b(?:it'd|it would|i'd|i would|would|be|really) (?:be |really |\w+ ){0,3}if (?=\S)", re.IGNORECASE
)
_STAYS_IN = re.compile(r"\bstay(?:ing|s)? (?:within|in|inside|on)\b|\bkeep (?:to|within)\b|\bstick (?:to|with)\b")
_MANY = 3
_STATED = words_in("is are isn't aren't must stays stay remains remain gets get has may should needs")
_ORDERS = re.compile(
    r"^(?:please |pls |always |just |then |and |so |we |let's |instead |simply |only )*(?:use|run|prefer|go|ask|put|make|write|search|change|do|take|call|try|stick|work|let|add|create|show|give|tell|check|read|format|regenerate|edit|pick|propose|suggest|keep it|describe|leave it to|reach|rely|send)\b"
)


@dataclass(frozen=True, slots=True)
class MoodClause:
    """A clause, with its mood.

    The moods: ``forbid protect reserve only spare permit order instead consent told void if`` and empty, if none is known.
    `link`: how it hangs together with the clause before it.
    """

    mood: str
    tokens: tuple[RuleToken, ...]
    link: str = ""

    @property
    def text(self) -> str:
        return " ".join(token.text for token in self.tokens)


def clauses_of(text: str) -> list[MoodClause]:
    """Return the clauses of a rule in their order; those of a sentence with a condition are not among them."""
    found: list[MoodClause] = []
    text = _POLITE.sub("", text[:MOST_CHARACTERS], count=1)
    for sentence in sentences_of(text):
        clauses = list(_clauses(sentence))
        if any(_ASKS.search(one.text) for one in clauses):
            clauses = [
                replace(one, mood="forbid") if one.mood == "if" and one.text.startswith("before") else one
                for one in clauses
            ]
        if (
            is_told_of(" ".join(token.text for token in sentence))
            and len(clauses) < _MANY
            and clauses[-1].link == "told"
        ):
            continue  # ``don't write tests that depend on time``
        lacks = any(
            two.link == "without" and two.mood == "told" and one.mood == "forbid" for one, two in pairwise(clauses)
        )
        if not lacks and not any(one.mood == "if" for one in clauses):
            found += clauses
    return found


def _clauses(tokens: Sequence[RuleToken]) -> Iterator[MoodClause]:
    link, now = "", list[RuleToken]()
    at = 0
    while at < len(tokens):
        token = tokens[at]
        ahead = " ".join(one.text for one in tokens[at : at + 5])
        begun = _begins(token, ahead, now)
        if begun is None and link in ("if", "told") and len(now) > 2 and token.text in _NEGATIONS:
            begun = ";"
        if begun is None and link in ("spare", "without") and len(now) > 0 and token.text in _STATED:
            begun = ";"
        if begun is None:
            now.append(token)
            at += 1
            continue
        if now:
            yield _judged(link, now)
        elif link and begun == "":
            begun = link
        link, now = begun, []
        if token.kind == "word" and begun in ("", ";", "without", "if"):
            now.append(token)
        at += 1
    if now:
        yield _judged(link, now)


def _begins(token: RuleToken, ahead: str, now: Sequence[RuleToken]) -> str | None:
    """Return how a clause that begins at a token hangs together with the one before; None if none begins there."""
    if token.kind in ("sign", "dash"):
        return token.text if token.text in ",:()" else ("-" if token.kind == "dash" else None)
    if token.kind != "word":
        return None
    text = token.text
    if text in ("=", "=>", "->", ">"):
        return ":"
    if text in _TOLD or _REASONS.match(ahead):
        return "told"
    if text in _SPARE or ahead.startswith(_SPARE_TWO):
        return "spare" if text != "exception" else None
    if ahead.startswith(_INSTEAD[:-1]) or (text == "over" and now and now[0].text == "use"):
        return "instead"
    if text in _IF and not (text == "once" and ahead.split(" ", 2)[1:2] in ([], ["more"], ["again"])):
        return "if"
    return _joins(text, ahead.split(" ", 2)[1] if " " in ahead else "", now)


def _joins(text: str, following: str, now: Sequence[RuleToken]) -> str | None:
    """Return how a clause hangs together that begins with a small word: ``that``, ``but``, ``and``, ``not``."""
    last = now[-1].text if now else ""
    if text == "that":
        is_relative = bool(now) and last not in _BEFORE_THAT and following not in _BEHIND_THAT and not verb_of(last)
        return "told" if is_relative else None
    if text in ("but", "so", "yet", "however") and following not in ("is", "are"):
        return "so"
    if now and (text == "without" or (text in ("and", "or") and following in _STARTS)):
        return "without" if text == "without" else "so"
    is_turn = text in ("not", "never") and bool(now) and last not in _AUXILIARIES and last[-3:] != "n't"
    return "" if is_turn and not _is_subject_ahead(following) else None


def _is_subject_ahead(following: str) -> bool:
    return following in ("to", "be", "touch", "been", "welcome", "allowed", "yours")


def _judged(link: str, tokens: Sequence[RuleToken]) -> MoodClause:
    text = " ".join(token.text for token in tokens if token.kind == "word" or token.kind == "code")
    return MoodClause(_mood(link, text), tuple(tokens), link=link)


def _mood(link: str, text: str) -> str:
    words = set(text.split())
    if link in ("told", "spare", "instead"):
        return link
    if link in ("without", "if"):
        return _condition(text) if link == "if" else _lack(text)
    if text.startswith(("why ", "how ", "where ", "did ")) or _REST.search(text):
        return "void"
    if _RATHER.search(text) and words & {"not", "didn't", "don't", "didnt", "wouldn't"}:
        return "forbid"
    if _NEGATIONS & words or any(word.endswith("n't") for word in words):
        return _mood_of_negation(link, text, words)
    if _KEEPS_BACK.search(text) or _I_DO.search(text) or _OWNED.search(text):
        return "permit" if text.startswith(("your ", "you ")) and "my" not in words else "reserve"
    return next((mood for mood, pattern in _BY_CLASS if pattern.search(text)), "")


def _lack(text: str) -> str:
    """Return the mood of ``without``: a person's consent, a thing that must not be, or only a circumstance."""
    if _CONSENT.search(text):
        return "consent"
    return "forbid" if text.startswith(("without any ", "without a single ")) else "told"


def _mood_of_negation(link: str, text: str, words: set[str]) -> str:
    """Return the mood of a clause with a word of denial: it forbids, unless it only says how something is."""
    if _ABSENT.search(text) or _NEEDLESS.search(text) or _ELSE.search(text) or is_told_of(text):
        return "void"
    if _KEEPS_BACK.search(text) and not words & {"push", "commit", "touch", "edit", "run"}:
        return "reserve"
    if (words & {"isn't", "isnt", "aren't", "arent", "ain't"} or _IS_NOT.search(text)) and not _ISNT.search(text):
        return "void"
    if found := _SUBJECT.match(text):
        subject = found[1].split()
        if (subject[-1] not in _ADDRESSED or len(subject) > 2) and found[2] not in _HAPPENS:
            return "void"
    return "told" if _EACH.search(text) or (link == "(" and text.startswith("no ")) else "forbid"


_BY_CLASS = (
    ("only", _STAYS_IN), ("forbid", _CLOSED), ("protect", _PROTECTS), ("forbid", _SHUNS), ("only", _ONLY), ("permit", _PERMITS),
    ("order", _ORDERS), ("told", _TELLS),
)  # fmt: skip
"""The classes of words by their force."""


def _condition(text: str) -> str:
    """Return ``if`` for a condition of the rule; a time or the consent of a person is none."""
    first, _, rest = text.partition(" ")
    if first == "if" and re.match(r"you (?:like|want|must|wish|please|prefer)\b", rest):
        return "told"
    if _OTHERS.search(rest):
        return "if"
    if first in ("until", "till", "while", "whilst", "during") or _CONSENT.search(rest):
        return "consent" if first not in ("while", "whilst", "during", "if") and _CONSENT.search(rest) else "told"
    return "told" if rest.split(" ", 1)[0].endswith("ing") or first == "unless" else "if"


@lru_cache(maxsize=2_048)
def is_mood_word(word: str) -> bool:
    """Say whether a word alone tells a mood."""
    return any(pattern.search(word) for pattern in (_SHUNS, _PROTECTS, _KEEPS_BACK, _ONLY, _PERMITS))
