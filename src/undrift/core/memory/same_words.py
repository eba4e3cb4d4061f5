"""The words that mean the same, or nothing by themselves, when two statements are compared. Pure data.

Law: general English of preferences, facts and software work. Two words are of one group only if a statement stays true when
one takes the place of the other; a word that is in no group means itself.
"""

__all__ = [
    "BE",
    "CONDITIONS",
    "DENYING",
    "KINDS",
    "LIGHT",
    "MARKERS",
    "ORDERED",
    "PASTS",
    "RELATING",
    "RESULTS",
    "SYNONYMS",
]

SYNONYMS = (
    # Talk and texts
    "concise brief short terse succinct crisp compact", "answer reply response respond", "explain explanation describe",
    "verbose lengthy wordy longwinded", "letter correspondence", "email mail", "message msg",
    "summary summarize summarise recap", "snippet sample example", "comment remark annotation annotate",
    "spell spelling", "doc documentation documented", "call phone telephone ring", "ask consult query",
    "confirm confirmation", "tell inform notify notification", "title heading", "picture image photo photograph",
    "film movie", "language tongue", "write draft compose authored", "spanish castilian", "uk british britain",
    "emoji emoticon smiley", "bullet bulleted", "formal formality", "humour humor joke", "slide presentation deck",
    "chart graph plot diagram", "proposal application",
    # Code and its tools
    "pr mr", "commit checkin", "direct directly straight", "delete remove erase wipe purge clear",
    "error failure fail exception fault", "bug defect", "library lib package dependency",
    "parameter param argument arg", "variable var", "directory folder dir", "repo repository codebase", "db database",
    "config configuration configure setting", "env environment", "format formatting formatted formatter",
    "lint linter linting", "test testing tested", "build compile", "frontend ui gui interface", "backend serverside",
    "endpoint route api", "auth authenticate authentication login signin", "password passphrase", "gpu graphic vram",
    "cpu processor", "machine box host server", "k8s kubernetes", "postgres postgresql", "js javascript",
    "ts typescript", "py python", "pipeline workflow", "upload uploading",
    "generate generator autogenerate", "import importing", "rename renaming", "deprecate obsolete", "cache caching",
    "log logging", "raw unprocessed original untouched", "edit modify alter amend tweak", "manual manually hand",
    "automatic automatically auto", "page pagination paginate paging", "minimum min lowest oldest smallest atleast",
    "maximum max highest largest biggest", "size large big", "fast quick rapid speedy", "slow sluggish",
    "indent indentation", "feature functionality capability", "issue ticket", "release ship", "deploy rollout",
    "start begin commence launch", "end finish conclude complete", "startup boot", "stop halt", "license licence",
    "colour color", "grey gray", "centre center", "theme mode scheme",
    # Places, times, people, things
    "live reside home base flat apartment house dwell residence", "relocate move", "birthday born birth birthdate",
    "due deadline", "submit submission", "meet meeting meetup standup", "practice rehearse rehearsal",
    "run jog running jogging", "walk stroll hike", "bike bicycle cycle", "car automobile", "holiday vacation",
    "appointment booking reservation", "trip travel journey", "restaurant eatery diner", "kid child", "mother mom mum",
    "father dad", "grandmother grandma granny", "grandfather grandpa", "boss manager supervisor",
    "colleague coworker teammate", "doctor physician gp", "lawyer attorney solicitor", "teacher instructor",
    "job work employ employer occupation profession", "company firm business", "client customer", "staff personnel",
    "engineer developer programmer", "maintain maintainer responsible", "own owner", "lead leader head",
    "allergic allergy", "vegetarian meatless", "buy purchase", "price cost", "salary pay wage", "budget spending",
    "invoice bill", "study learn", "drink beverage", "eat food meal dine", "dinner supper", "weekday workday",
    "autumn fall", "midday noon", "kilometre kilometer km", "favourite favorite", "happy glad", "sad unhappy",
    "easy simple", "hard difficult", "important crucial essential", "quiet silent", "wrong incorrect false",
    "new fresh", "secret confidential", "safe secure", "basement downstairs cellar", "corridor hallway", "talk chat",
    "website webpage", "offline disconnected", "rebuild regenerate", "beside adjacent alongside",
    "together jointly", "allow permit accept", "want wish", "metre meter", "tube subway underground", "lift elevator",
    "plane flight fly", "laptop notebook", "screen monitor display", "mobile cellphone", "tv television",
    "fridge refrigerator", "rubbish trash garbage", "pupil student", "shot vaccination vaccine",
    "medicine medication drug", "separate standalone dedicated", "listen reach expose bind bound serve",
    "store save hold contain record", "cover coverage", "number amount count quantity", "archive archival",
    "certificate cert", "admin administrator", "expire expiry expiration", "encrypt encryption", "compress compression",
    "retry retries",
    # More of work and of every day
    "help assist assistance", "fix repair mend", "check verify validate inspect", "enable activate",
    "disable deactivate", "hide conceal", "speed velocity pace", "latency lag", "refactor restructure rework",
    "feedback criticism", "headline caption", "footnote endnote", "citation cite reference", "paragraph passage",
    "jupyter ipynb", "tag tagged label labelled", "yearly annual annually",
    "leave depart departure", "attend attendance participate join", "cancel abort", "postpone delay defer",
    "remind reminder", "warn warning alert", "approve approval signoff", "explicit explicitly", "implicit implicitly",
    "mandatory compulsory obligatory required", "rent lease", "landlord lessor",
    "flatmate roommate housemate", "neighbour neighbor", "baby infant", "aunt auntie",
    "soda fizzy", "cinema theatre", "gym fitness", "violin fiddle", "concert gig", "novel fiction", "sofa couch settee",
    "pavement sidewalk", "lorry truck", "petrol gasoline", "aeroplane airplane aircraft", "sick ill unwell",
    "tired exhausted sleepy", "scared afraid frightened", "clever smart", "wealthy rich", "cheap inexpensive",
    "expensive costly pricey", "famous renowned", "strange odd weird", "odour smell scent", "collect fetch",
    "assign allocate allot", "divide split", "gather assemble", "obtain acquire",
    "hostname domain", "cron crontab scheduler", "async asynchronous", "sync synchronous", "assertion assert",
    "freeze hang", "flaky unstable intermittent", "revert rollback undo", "hotfix patch", "intern trainee",
    "contractor freelancer", "payroll wages", "office workplace", "remote remotely", "onsite premises",
    "quarter trimester", "percent percentage", "average mean", "total sum overall", "icon symbol", "font typeface",
    "bold boldface", "uppercase capitals capitalised capitalized", "quote quotes quotation", "newline linebreak",
    "typed types typing hints",
)  # fmt: skip
"""Groups of words that mean the same in notes; the first word is the form of all."""

LIGHT = frozenset({
    "use", "keep", "prefer", "like", "love", "favour", "favor", "enjoy", "go", "make", "sure", "please", "user", "available",
    "remember", "note", "happen", "need", "require", "have", "get", "give", "take", "thing", "stuff", "through", "kindly",
    "located", "anything", "simply", "basically", "generally", "want", "wish", "must", "ought", "shall", "preference",
    "decide", "decision", "choose", "pick", "settle", "agree", "opt", "select", "adopt", "choice", "ensure", "rule", "policy",
    "ever", "exception", "matter", "come", "expect", "find", "look", "see", "know", "show", "put", "place", "possible",
    "prefered", "preferred", "case", "way", "form", "entire", "exactly", "really", "definitely", "strictly", "time",
    "team", "company-wide", "convention", "standard", "habit", "kind", "sort", "type", "behalf", "turn", "set", "mean", "fact",
    "go-to", "course", "back", "part", "people", "person", "anyone", "anybody", "everything", "someone", "nobody", "you",
    "good", "well", "best", "stick", "work", "do", "try", "aim", "plan", "be", "become", "remain", "stay", "consist", "exist",
})  # fmt: skip
"""Words that frame a statement; without them it says the same."""

RELATING = frozenset({
    "run", "listen", "build", "relocate", "go", "reach", "expose", "bind", "bound", "serve", "hold", "contain", "store", "save", "write",
    "live", "reside", "base", "belong", "do", "perform", "report", "create",
})  # fmt: skip
"""Words that relate the others: one statement may leave out what the other says by such a word, but not both."""

KINDS = frozenset({
    "slot", "timestamp", "branch", "change", "cluster", "instance", "api", "site", "app", "port", "due", "date", "number", "version", "name", "address", "directory", "file", "test", "suite",
    "tool", "system", "one", "code", "service", "server", "machine", "project", "software", "team", "process", "function", "data",
    "document", "page", "format", "language", "style", "list", "message", "value", "field", "price", "rate", "room",
    "city", "town", "country", "area", "location", "spot", "event", "session", "day", "week", "month", "year", "hour", "git",
    "command", "option", "flag", "line", "item", "level", "key", "unit", "limit", "record", "content", "text", "job", "role",
})  # fmt: skip
"""Words that name the kind of what stands beside them: one statement may leave it out."""

CONDITIONS = frozenset({"when", "whenever", "while", "during"})
"""They bind a statement to what stands behind them, unless the other statement names that too."""

MARKERS = frozenset({
    "before", "after", "until", "till", "unless", "if", "except", "only", "without", "than", "over", "under", "between", "from",
    "some", "several", "few", "most", "many", "half", "both", "sometimes", "usually", "often", "mostly", "rarely", "seldom",
    "more", "less", "least", "may", "might", "could", "would", "off", "out", "up", "down", "intending", "since",
    "occasionally", "normally", "first", "last", "next", "second",
})  # fmt: skip
"""Words that bound a statement, or say when or how far it holds: each stands in both statements, or in neither."""

ORDERED = frozenset({"before", "after", "if", "unless", "than", "over", "from", "until", "only", "without", "except"})
"""Markers that bind the words behind them."""

DENYING = frozenset({
    "not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "avoid", "forbidden", "prohibited",
    "banned", "refrain", "reject", "rejects", "rejected", "refuse", "refuses", "refused", "dislike", "dislikes", "hate",
    "hates", "omit", "disallowed", "discarded", "dropped",
})  # fmt: skip

RESULTS = frozenset({
    "decide", "settle", "agree", "pick", "choose", "select", "adopt", "switch", "move", "relocate", "replace", "migrate",
    "change", "rename", "upgrade", "locate", "base", "situate",
})  # fmt: skip
"""Verbs whose past holds since."""

PASTS = frozenset({
    "was", "were", "had", "wrote", "ran", "built", "took", "gave", "went", "came", "said", "met", "sent", "made", "found",
    "led", "lost", "kept", "felt", "bought", "brought", "taught", "thought", "won", "spent", "paid", "sold", "broke",
    "drove", "flew", "grew", "knew", "saw", "spoke", "stood", "wore", "began", "drank", "ate", "fell", "forgot", "did",
})  # fmt: skip

BE = frozenset({
    "is", "are", "be", "been", "am", "not", "being", "get", "gets", "got", "the", "a", "an", "all", "any", "no", "have", "has",
})  # fmt: skip
"""A form in -ed behind one of these is a state, or says how a thing is."""
