"""The words that turn a sentence: into what is forbidden, what alone is allowed, what is excepted, and what is only a story. Pure."""

import re
from dataclasses import dataclass

__all__ = ["MARKS", "MOST_CHARACTERS", "RuleToken", "SentenceMark", "mark_at", "sentences_of", "tokens_of"]

MOST_CHARACTERS = 2_000
"""The part of a rule that is read."""

_MOST_TOKENS = 400

_TOKEN = re.compile(
    r"""(?P<code>`[^`\n]{1,200}`)
      | (?P<quote>"[^"\n]{1,80}"|\u201c[^\u201c\u201d\n]{1,80}\u201d|'(?=[\w.-])[^'\n]{2,60}'(?![\w]))
      | (?P<space>\s+)
      | (?P<dash>[\u2014\u2013]|--?(?=\s))
      | (?P<pipe>\|)
      | (?P<word>(?:[^\s,;`"\u201c\u201d()?|.!]++|[.!](?![.!?]{0,4}(?:\s|$))|(?<=\.)\.)+)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)


_CONTRACTED = re.compile(
    r"\b(is|are)n't(?= (?:yours|your|for you|ours|to be|supposed|meant|allowed|permitted|ok|okay|fine|an option)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RuleToken:
    """A word, a piece of code or a sign of a sentence, in small letters; `raw`: as written."""

    kind: str
    text: str
    raw: str
    start: int


def sentences_of(text: str) -> list[list[RuleToken]]:
    """Return the tokens of each sentence of a rule; of a long text its first 2,000 characters."""
    found: list[list[RuleToken]] = [[]]
    for token in tokens_of(text[:MOST_CHARACTERS]):
        if token.kind == "sign" and token.text in ".!?;\n":
            found.append([])
        else:
            found[-1].append(token)
    return [sentence for sentence in found if sentence]


def tokens_of(text: str) -> list[RuleToken]:
    """Return the tokens of a text, without its blanks; a new line is a sign."""
    found: list[RuleToken] = []
    text = _CONTRACTED.sub(r"\1 not", text.replace("\u2019", "'").replace("\r", ""))
    for match in _TOKEN.finditer(text):
        raw, kind = match[0], str(match.lastgroup)
        if kind == "space":
            if "\n" in raw:
                found.append(RuleToken("sign", "\n", raw, match.start()))
            continue
        if kind == "code":
            raw = raw.strip("`").strip()
        elif kind == "quote":
            raw, kind = raw[1:-1].strip(), "code"
        elif kind == "word":
            raw = raw.strip("*_'[]{}<>").rstrip(":") if not _is_path_like(raw) else raw.rstrip(":'")
        if raw:
            found.append(RuleToken(kind, raw.lower(), raw, match.start()))
            if kind == "word" and match[0].rstrip("*_'").endswith(":"):
                found.append(RuleToken("sign", ":", ":", match.end()))
        if len(found) == _MOST_TOKENS:
            break
    return found


def _is_path_like(word: str) -> bool:
    return (
        "/" in word
        or "*." in word
        or (word[:1] == "*" and word[1:2] != "*" and "." in word)
        or word.startswith(("-", ".", "__", "<"))
    )


@dataclass(frozen=True, slots=True)
class SentenceMark:
    """Words that turn a sentence, by the way in which they do. `length`: their tokens."""

    kind: str
    length: int


_WORDS: tuple[tuple[str, str], ...] = (
    ("forbid", r"(?:is|are|am|be) (?:not|never) (?:allowed|permitted|supposed|meant|authori[sz]ed) to|(?:is|are) not to(?= )"),
    ("told", (r"no (?:[a-z-]+ ){1,3}(?:needed|required|necessary|configured|exists?|found)|no (?:longer|need|problem|worries|matter|doubt|idea|rush|such|way)|never ?mind|not (?:sure|necessarily|really sure)"
             r"|(?:you |we |i |they )?(?:do not|don't|dont) (?:worry|forget|hesitate|mind|care|know|think|see|understand|have to|need to|get|remember|believe|assume|expect|let|be)"
             r"|(?:no|without) (?:error|errors|warnings?|changes? needed|difference|effect)")),
    ("all-but", r"any(?:thing|where|one) (?:but|except)"),
    ("nothing-but", r"(?:nothing|anything|nowhere|anywhere|no one|none) (?:but|except|other than)"),
    ("free", (r"(?:is|are|counts? as|would be|stays?) (?:still |always |also |totally |perfectly |completely |of course )*(?:fine|ok|okay|allowed|good|welcome|permitted|safe|right|free)"
             r"|(?:is|are) (?:the |an )?(?:only |one |sole )*exceptions?|(?:you )?(?:may|can|are free to|feel free to|are allowed to)(?! not)(?! only)|all good|go ahead")),
    ("away", (r"(?:keep (?:your )?(?:hands|fingers|paws|claws|edits|changes|yourself)? ?(?:off|out of|away from|clear of)|hands off(?: of)?|stay (?:away|out|off|clear)(?: from| of)?"
             r"|keep (?:away|out|off|clear)(?: from| of)?|steer clear of|stay clear of|back off(?: from)?|nothing (?:in|under|inside|below)|no (?:changes?|edits?|modifications?|commits?|touching)(?: whatsoever)? (?:to|in|under|inside|on|of)|lay off)")),
    ("forbid", r"(?:it is|it's) (?:strictly |absolutely )?(?:forbidden|prohibited|not ok|not okay|not allowed) to"),
    ("nothing-else", r"(?:and )?(?:nothing|nowhere|no one|none) else"),
    ("same", r"(?:and )?so (?:is|are)|(?:the )?same (?:goes |rule |thing |is true |applies )?(?:for|with|to)|ditto(?: for)?|likewise(?: for)?|nor (?:is|are)"),
    ("first", r"(?:please )?(?:always )?(?:wait for (?:my|me|a)|get my|get an? ok|ask(?: me| us| first| for [\w']+)?|check(?: in)? with me|confirm with me|talk to me|clear (?:it|that) with me|consult me|tell me|i want to (?:see|review|check|approve) [\w']+)(?: [\w']+){0,4}? before(?: you(?: ever)?)?"),
    ("alone", (r"leave (?:[^ ]+ ){1,9}?(?:alone|untouched|unchanged|be|as (?:is|it is|they are|it was)|out of (?:it|this)|in peace|(?:exactly )?(?:how|where|the way) (?:it is|they are))(?= )"
              r"|keep (?:[^ ]+ ){1,9}?(?:unchanged|untouched|intact|as (?:is|it is|they are))(?= )|do not disturb")),
    ("read-only", (r"(?:(?:is|are) )?(?:meant |there )?(?:(?:just|only|strictly) )?for (?:\w+ )?(?:look|read|search|view|query|brows)\w*(?: \w+)? (?:only|alone|purposes)|only (?:ever )?(?:for|to) (?:look|read|search|view|query|brows)\w*(?: (?:at|up))?"
                  r"|(?:look|read|search|view|query|brows)ing only")),
    ("mine", (r"(?:is|are|stays?|remains?|being|considered|=) (?:all |now |currently |strictly |completely |totally |still |auto-?|automatically )*"
             r"(?:off[ -]?limits|frozen|read[ -]?only|generated|auto-?generated|autogenerated|locked|sacred|untouchable|forbidden|banned|prohibited"
             r"|mine|vendored|taboo|no-go|verboten|disallowed|out of bounds|out|protected|hands-off|for (?:humans?|people|ci|me|the bot|the pipeline|release managers?)(?: only| alone)?|only (?:ever )?(?:\w+ )?(?:be )?\w+ by|none of your (?:business|concern)|not your (?:business|job|concern|problem|call)|a no[ -](?:go|no)|off the table|not on the table|out of the question|banned|(?:built|made|written|managed|owned|maintained) by (?:the )?\w+(?: and \w+)?|(?:not|never) (?:yours|allowed(?! to)|ok|okay|permitted|for you|to be|fine|an option|acceptable|welcome))"
             r"|(?:must |should |has to |have to |needs? to |shall |will )?(?:stays?|remains?|be left|be kept) (?:exactly |just )?(?:the way|as (?:it|they|is)|unchanged|untouched|intact|clean|pristine|like (?:it|they))|(?:frozen|untouchable|sacrosanct)(?= (?:$|[,;:()]))|(?:should|may|must|can|gets?|will) only (?:ever )?(?:be |get )?\w+ by|belongs? to (?:the )?\w+(?: team)?|(?:off[ -]limits|read[ -]only|do-not-touch|never touched|won't be touched)")),
    ("ask", (r"without (?:asking|checking|my|telling|confirm\w*|permission|approval|consulting|explicit|an? (?:explicit )?(?:ok|go|yes)|prior|me (?:saying|asking|knowing)|clearing|running it by)"
            r"|(?:unless|until) (?:i|we|you're|you are|explicitly|asked|told|specifically|expressly|me)"
            r"|before (?:asking|checking|i|i've|we|my|talking|confirming)")),
    ("consent", (r"(?:needs?|requires?) my (?:\w+ )?(?:ok|okay|approval|permission|confirmation|sign-off|go|review|consent)"
                r"|only (?:when|if|after|once) (?:i|told|asked|explicitly)|only on my")),
    ("instead", r"instead of|rather than|in place of|in favou?r over|over(?= using)"),
    ("forbid", (r"(?:i|we) (?:do not|don't|dont|never) want(?: you)?(?: to)?|(?:you )?(?:must|should|may|shall|can|do|will|would)(?: not|n't)(?: ever)?|mustn't|shouldn't|cannot|can't|won't|don't|dont|never(?: ever)?"
               r"|not|avoid|refrain from|abstain from|stop|quit|no more|no|nothing|nobody|no one|noone|neither|nor|under no circumstances|forbidden(?: to)?|prohibited(?: to)?|it is forbidden to|zero|ban(?:ned)? on")),
    ("but", r"but(?! (?:for|only|not))"),
    ("spare", r"except(?: for| in| on| to| inside| under| when it's)?|apart from|other than|besides|aside from|excluding|with the exception of|save for|excepting|exception"),
    ("unless", r"unless (?:it's|it is|they're|they are|that's|that is)(?: (?:in|on|from|under|for|to|the))?"),
    ("outside", r"(?:outside|out)(?: of)?(?! for)|beyond|not (?:in|inside|under|within)"),
    ("other", r"(?:any|some|all|every|no)?(?: )?(?:thing |where |one )?(?:other(?! than)|else)(?: \w+)?"),
    ("only", (r"only(?: ever)?|exclusively|solely|stick to|limit (?:yourself|your edits|edits|changes|your changes|your work) to|restrict (?:yourself|your edits|edits|changes|your changes) to|confine (?:yourself|edits|changes) to"
             r"|stay (?:in|inside|within|on)|keep (?:all |your |every )*(?:edits?|changes?|work|writes?) (?:in|inside|within|to|under)|work (?:only|just|strictly|exclusively) (?:in|inside|within|on)(?= )|the only (?:\w+ )?(?:you|that|which|to|we)(?: \w+){1,5}? (?:is|are)|all (?:\w+ )?(?:changes|edits|work|output|code|commits)(?: \w+)? (?:belongs?|goes?|go|stays?|stay|must (?:go|stay|be)|should (?:go|stay|be)|lives?)(?: \w+)? (?:in|into|to|under|inside|within|on)|always (?:use|run|go through|go with)|must (?:use|always use)|use nothing but")),
    ("told", r"because|since|cause|'cause|cuz|coz|as (?:i|we|it|they|the|this|that|you)|so (?:that|we|i|the|it|they)|which|who|otherwise|or else|thanks|in order to|as an? (?:substitute|alternative|replacement|workaround)|given that|due to|for the record"),
    ("if", r"if|when|whenever|unless|until|till|before|after|while|once|during|where|without"),
)  # fmt: skip
MARKS = tuple((kind, re.compile(rf"(?:{words})(?![\w'/.-]*\w)")) for kind, words in _WORDS)


def mark_at(ahead: str) -> SentenceMark | None:
    """Return the mark that begins a text, such as `Spot.ahead`."""
    for kind, words in MARKS:
        if found := words.match(ahead):
            taken = found[0].rstrip()
            return SentenceMark(kind, taken.count(" ") + 1) if taken else None
    return None
