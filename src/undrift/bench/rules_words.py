"""The made-up work around the rules of the suite: requests, results and a client's summary, from a seed.

Law: no sentence here lays anything down, and the same seed gives the same words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Literal

__all__ = ["Work", "log", "quotation", "request", "summary", "work"]

_PARTS = (
    "ledger", "parcel", "ticket", "invoice", "harbour", "meter", "playlist", "voucher", "tariff", "sensor", "roster",
    "booking", "clinic", "archive", "kiosk", "cargo", "survey", "permit", "locker", "beacon",
)  # fmt: skip
_DEEDS = ("parse", "merge", "sort", "render", "count", "import", "batch", "index", "load", "trace", "scan", "join")
_FOLDERS = ("src", "app", "lib", "service", "core", "jobs")
_ENDS = ("py", "ts", "go", "rs", "java")
_WISHES = (
    "The {part} list is slow when it has many rows, please see where the time goes in {path}.",
    "Have a look at {path}, the {part} totals are off by one on the last day of a month.",
    "Next is the {part} screen. It shows the old name after a rename.",
    "Continue with {path} and tell me what {deed}_{part} returns for an empty input.",
    "One of our testers says that the {part} export has two headings. Can you see it in {path}?",
    "Please add a test for {deed}_{part} and run it.",
    "The {part} job took nine minutes last night. What changed in {path} since?",
    "Good. Now the same for the {part} page.",
)
_ASIDES = (
    "We had this in the old system too, it came from the time zone of the server there.",
    "A colleague wrote this part two years ago and has left since.",
    "The customer with the most rows has about {number} of them.",
    "I tried it on my laptop this morning and saw it in four out of {number} runs.",
    "The numbers of last week are in the sheet that I sent round.",
    "It began after the release of the {part} service.",
    "In the log I saw about {number} lines of it between noon and one.",
    "The team in the other office wants to see it on Thursday.",
    "There is a second place like it in the {part} module, I think.",
    "The old ticket for it has the number {number}.",
)

_OPENINGS = (
    "The wiki of the {part} team has this:",
    "This came in a mail from the vendor:",
    "A tester wrote on the ticket:",
    "I found this in the notes of the old project:",
)
_QUOTED_BY_MARKS = 0.6

WorkKind = Literal["read", "search", "edit", "shell"]


@dataclass(frozen=True, slots=True)
class Work:
    """One call of the agent's work and its result. `path`: the file; `old`, `new`: of an edit; `words`: a command or a pattern."""

    kind: WorkKind
    path: str
    words: str
    old: str
    new: str
    result: str


def request(random: Random, sentences: int = 1) -> str:
    """Return what the user types next. `sentences`: how many remarks stand behind the wish."""
    wish = random.choice(_WISHES)
    remarks = [random.choice(_ASIDES) for _ in range(sentences)]
    return " ".join(_filled(random, text) for text in (wish, *remarks))


def quotation(random: Random, text: str) -> str:
    """Return what the user types around a text of another's."""
    opening = _filled(random, random.choice(_OPENINGS))
    if text.lstrip().startswith((">", "```")):
        quoted = text
    elif random.random() < _QUOTED_BY_MARKS:
        quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    else:
        quoted = f"```\n{text}\n```"
    return f"{opening}\n\n{quoted}\n\n{request(random)}"


def log(random: Random, characters: int) -> str:
    """Return the output of a test run of about so many characters."""
    states = ("ok", "ok", "ok", "took longer than before")
    lines = (
        f"{random.choice(_PARTS)}_{random.randrange(1000)} ... {random.choice(states)} ({random.randrange(1, 900)} ms)"
        for _ in range(2_000)
    )
    return _up_to(lines, characters)


def work(random: Random, characters: int) -> Work:
    """Return a call with a result of about so many characters."""
    path, name = _path(random), f"{random.choice(_DEEDS)}_{random.choice(_PARTS)}"
    kind: WorkKind = random.choice(("read", "read", "search", "edit", "shell"))
    if kind == "edit":
        old, new = _code(random, name, 2), _code(random, name, 3)
        return Work(kind, path, "", old, new, f"The file {path} has been updated.")
    if kind == "search":
        lines = (f"{_path(random)}:{random.randrange(1, 900)}: {_code(random, name, 1)}" for _ in range(200))
        return Work(kind, path, name, "", "", _up_to(lines, characters))
    if kind == "shell":
        return Work(kind, path, f"run-tests {name}", "", "", log(random, characters))
    shown = (f"{number}\t{_code(random, name, 1)}" for number in range(1, 400))
    return Work(kind, path, "", "", "", _up_to(shown, characters))


def summary(random: Random, newest: list[str], rules: list[str]) -> str:
    """Return a summary as a client has its model write it: the newest requests, the work, and the rules that it kept."""
    done = [f"- {random.choice(_DEEDS)}_{random.choice(_PARTS)} in {_path(random)} was looked at." for _ in range(6)]
    kept = ["", "The rules of the user:", *(f"- {rule}" for rule in rules)] if rules else []
    asked = ["", "The newest requests:", *(f"- {text[:300]}" for text in newest)] if newest else []
    return "\n".join(["The work so far, in short.", "", *done, *kept, *asked, "", "The next step is the last request."])


def _filled(random: Random, text: str) -> str:
    return text.format(
        part=random.choice(_PARTS), deed=random.choice(_DEEDS), path=_path(random), number=random.randrange(11, 9_000)
    )


def _path(random: Random) -> str:
    return f"{random.choice(_FOLDERS)}/{random.choice(_PARTS)}/{random.choice(_DEEDS)}.{random.choice(_ENDS)}"


def _code(random: Random, name: str, lines: int) -> str:
    return "\n".join(
        f"    {random.choice(_PARTS)}_{random.randrange(1000)} = {name}({random.choice(_PARTS)}, {random.randrange(100)})"
        for _ in range(lines)
    )


def _up_to(lines: Iterable[str], characters: int) -> str:
    found, size = list[str](), 0
    for line in lines:
        found.append(line)
        size += len(line) + 1
        if size >= characters:
            break
    return "\n".join(found)
