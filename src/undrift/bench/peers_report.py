"""The result of `undrift bench peers`, as one JSON and as Markdown.

Law: nothing is rounded before the last moment. A control that did not fail as it must is named first. A manager that was
not run is named with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from undrift.bench.drift_report import Outcome, Row
from undrift.bench.managers import WindowManager
from undrift.bench.managers.ceilings import CLAIRVOYANT, LEGAL_CLAIRVOYANT
from undrift.bench.managers.controls import BAG, ECHO, SOUP, TAIL
from undrift.bench.peers_talk import TalkQuestions
from undrift.bench.resampling import interval
from undrift.bench.restore_report import JudgedCompaction, interval_of
from undrift.core.autopsy.survival import SurvivalCount

__all__ = ["PeerRun", "PeersReport", "peers_tables"]

_PLACES = 6
_CLOSE = 0.02
"""How much more than the plain tail a bag of names may hold: its window ends elsewhere, so a few needs fall otherwise."""

_DRAWS = 2_000

_NATIVE = {"summary": "the client's summary, as recorded", "today": "the same and files, as a client of today"}
_OURS = {"restore": "undrift's restore text", "tail": "the newest tokens", "bag": "control: names alone"}


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One manager in one session at one budget.

    Args:
        broken: Turns whose messages every provider would refuse.
        opening: Turns that the agent opens, which some providers refuse.
        rules_held, rules_due: Rules in the windows, of those that the user had said, summed over the turns.
    """

    outcome: Outcome
    broken: int
    opening: int
    rules_held: int
    rules_due: int


@dataclass(slots=True)
class PeersReport:
    """Everything that was measured, and what was not."""

    managers: Sequence[WindowManager]
    sessions: Sequence[str]
    of_sessions: int
    versions: Mapping[str, str]
    not_run: Sequence[str]
    absent: Sequence[str]
    compactions: list[JudgedCompaction] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    _runs: dict[float, dict[str, list[PeerRun]]] = field(default_factory=dict)
    _talks: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _questions: int = 0

    def add(self, runs: Mapping[tuple[float, str], PeerRun | str]) -> None:
        """Add what the managers did in one session; one that broke in any has no row."""
        for (fraction, name), found in runs.items():
            if isinstance(found, str):
                self.failed.setdefault(name, found)
            else:
                self._runs.setdefault(fraction, {}).setdefault(name, []).append(found)

    def add_talk(self, talk: TalkQuestions, found: Mapping[str, tuple[int, int]]) -> None:
        """Add what the windows held when the questions of one talk were asked."""
        self._questions += len(talk.questions)
        for name, counts in found.items():
            self._talks.setdefault(name, []).append(counts)

    def windows(self) -> list[dict[str, Any]]:
        """Return a row for each budget and manager."""
        rows = []
        for fraction, runs in self._runs.items():
            whole = tuple(one.outcome for one in runs[ECHO.name])
            for manager in self.managers:
                if manager.name in self.failed or manager.name not in runs:
                    continue
                own = runs[manager.name]
                row = Row(fraction, manager.name, tuple(one.outcome for one in own), whole).as_value()
                due = sum(one.rules_due for one in own)
                more = {
                    "survival_95": _interval([one.outcome.held for one in own]),
                    "broken_turns": sum(one.broken for one in own),
                    "opening_turns": sum(one.opening for one in own),
                    "rules": round(sum(one.rules_held for one in own) / due, _PLACES) if due else None,
                    "rules_due": due,
                }
                rows.append({**row, **more})
        return rows

    def restored(self) -> list[dict[str, Any]]:
        """Return a row for each text that was judged at the recorded compactions."""
        if not self.compactions:
            return []
        size = next(int(name.partition("@")[2]) for name in self.compactions[0].held if "@" in name)
        names = [*_NATIVE, *(f"{name}@{size}" for name in _OURS)]
        names += [f"{one.name}@{size}" for one in self.managers if one.name not in self.failed]
        return [_restored(self.compactions, name, size) for name in names if name in self.compactions[0].held]

    def talked(self) -> list[dict[str, Any]]:
        """Return a row for each manager that was asked questions at the end of long talks."""
        return [
            {
                "manager": name,
                "answers": round(sum(held for held, _ in counts) / self._questions, _PLACES),
                "over_budget": sum(over for _, over in counts),
                "questions": self._questions,
            }
            for name, counts in self._talks.items()
            if name not in self.failed
        ]

    def as_value(self) -> dict[str, Any]:
        """Return what the JSON holds."""
        windows, restored = self.windows(), self.restored()
        return {
            "sessions": list(self.sessions),
            "of_sessions": self.of_sessions,
            "versions": dict(self.versions),
            "managers": [
                {"name": m.name, "package": m.package, "version": m.version, "how": m.how} for m in self.managers
            ],
            "windows": windows,
            "compactions": len(self.compactions),
            "restored": restored,
            "talks": self.talked(),
            "controls": [{"must_be": words, "is": held} for words, held in _held(windows, restored)],
            "failed": dict(self.failed),
            "not_run": list(self.not_run),
            "absent": list(self.absent),
        }


def peers_tables(value: Mapping[str, Any]) -> str:
    """Write figures as Markdown. `value`: as `PeersReport.as_value` gives it."""
    return "\n".join(_lines(value))


def _held(windows: Sequence[Mapping[str, Any]], restored: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    """Yield each law of the controls and the ceilings, and whether these rows keep it."""
    for fraction in dict.fromkeys(row["budget"] for row in windows):
        of = {row["system"]: row for row in windows if row["budget"] == fraction}
        yield from ((f"at {fraction:g}, {words}", held) for words, held in _controls(of))
    names_alone = [one for one in restored if one["text"] == _OURS["bag"]]
    nothing = all(one.get(word, {"mean": 0})["mean"] == 0 for one in names_alone for word in ("identifiers", "lines"))
    yield "names alone hold nothing at a compaction", nothing


def _controls(of: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, bool]]:
    echo, soup, bag, tail = (of[one.name] for one in (ECHO, SOUP, BAG, TAIL))
    yield (
        "echo is over the budget and holds everything",
        echo["over_budget_turns"] > 0 and echo["survival"] in (1.0, None),
    )
    yield "echo, which is the recording itself, is refused in no turn", _refused(echo) == 0
    yield "soup is broken in most turns that it edited", soup["broken_turns"] > echo["over_budget_turns"] / 2
    yield "a bag of names holds no more than the tail", _survival(bag) <= _survival(tail) + _CLOSE
    blocks, legal = of[CLAIRVOYANT.name], of[LEGAL_CLAIRVOYANT.name]
    yield "both clairvoyants hold more than the tail", min(_survival(blocks), _survival(legal)) >= _survival(tail)
    yield "the legal clairvoyant is refused in no turn", _refused(legal) == 0


def _survival(row: Mapping[str, Any]) -> float:
    return float(row["survival"] or 0.0)


def _refused(row: Mapping[str, Any]) -> int:
    return int(row["broken_turns"] + row["opening_turns"])


def _interval(held: Sequence[SurvivalCount]) -> list[float] | None:
    """Return the 95% interval of the survival of all needs: the sessions are drawn again."""
    counts = [(one.identifiers_held + one.lines_held, one.needs) for one in held]
    bounds = interval(counts, _share, draws=_DRAWS)
    return bounds and [round(one, _PLACES) for one in bounds]


def _share(counts: Sequence[tuple[int, int]]) -> float | None:
    needs = sum(all_ for _, all_ in counts)
    return sum(kept for kept, _ in counts) / needs if needs else None


def _restored(found: Sequence[JudgedCompaction], name: str, size: int) -> dict[str, Any]:
    bare = name.rpartition("@")[0] or name
    row: dict[str, Any] = {"text": {**_NATIVE, **_OURS}.get(bare, bare)}
    for kind, word in enumerate(("identifiers", "lines")):
        shares = [one.share(name, kind) for one in found if name in one.held]
        known = [share for share in shares if share is not None]
        if known:
            low, high = interval_of(shares)
            row[word] = {"mean": sum(known) / len(known), "low": low, "high": high, "compactions": len(known)}
    tokens = [one.tokens[name] for one in found if name in one.held]
    return {
        **row,
        "mean_tokens": sum(tokens) / len(tokens),
        "over_budget": sum(one > size * 1.02 for one in tokens),
        "compactions": len(tokens),
    }


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    wrong = [one["must_be"] for one in value["controls"] if not one["is"]]
    yield from (f"CONTROL FAILED: {words}" for words in wrong)
    yield f"{len(value['sessions'])} of {value['of_sessions']} sessions."
    yield ""
    head = [
        "budget",
        "manager",
        "survival (95%)",
        "identifiers",
        "lines",
        "rules",
        "broken",
        "agent first",
        "over budget",
    ]
    yield from _table([*head, "tokens", "total cost"], map(_window, value["windows"]))
    if value["restored"]:
        yield f"{value['compactions']} recorded compactions."
        yield ""
        head = ["text", "identifiers: mean (95%)", "lines: mean (95%)", "tokens", "over budget"]
        yield from _table(head, map(_at_restore, value["restored"]))
    if value["talks"]:
        yield f"{value['talks'][0]['questions']} questions."
        yield ""
        rows = [[one["manager"], f"{one['answers']:.3f}", str(one["over_budget"])] for one in value["talks"]]
        yield from _table(["manager", "answers in the window", "over budget"], iter(rows))
    yield from _table(
        ["manager", "version", "configuration"],
        (
            [one["name"], f"{one['package']} {one['version']}".strip() or "ours", one["how"]]
            for one in value["managers"]
        ),
    )
    yield from (f"- NOT RUN: {reason}" for reason in value["not_run"])
    yield from (f"- ABSENT: {reason}" for reason in value["absent"])
    yield from (f"- FAILED: {name} in {reason}" for name, reason in value["failed"].items())
    yield ""


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * len(head))} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _window(row: Mapping[str, Any]) -> list[str]:
    shares = (row[name] for name in ("identifiers", "lines", "rules"))
    interval = row["survival_95"]
    return [
        f"{row['budget']:g}",
        row["system"],
        f"{row['survival']:.3f} ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "none",
        *("none" if share is None else f"{share:.3f}" for share in shares),
        f"{row['broken_turns']:,}",
        f"{row['opening_turns']:,}",
        f"{row['over_budget_turns']:,} of {row['turns']:,}",
        f"{row['tokens']:.3f}",
        f"{row['costs'][0]['total']:.3f}",
    ]


def _at_restore(row: Mapping[str, Any]) -> list[str]:
    shares = [row.get(word) for word in ("identifiers", "lines")]
    cells = ["none" if one is None else f"{one['mean']:.2f} ({one['low']:.2f} to {one['high']:.2f})" for one in shares]
    return [row["text"], *cells, f"{row['mean_tokens']:,.0f}", f"{row['over_budget']} of {row['compactions']}"]
