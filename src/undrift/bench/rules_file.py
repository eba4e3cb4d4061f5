"""The file with rules that the suite of rules reads: one JSON object a line, checked. Law: a file that is read is whole."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from undrift.errors import InputError

__all__ = ["Distractor", "DistractorSource", "LaterWords", "RuleCall", "RuleCase", "own_rules", "read_rules"]

DistractorSource = Literal["result", "skill", "quote"]
"""The places of texts that lay nothing down: a tool's result, the body of a skill, a quoted or pasted text."""

_SOURCES: Mapping[str, DistractorSource] = {"tool": "result", "result": "result", "file": "result", "skill": "skill"}
_OWN = "rules.jsonl"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class RuleCall:
    """One call of a tool, as an agent would make it."""

    tool: str
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Distractor:
    """A text that says something else than the rule, where nothing is laid down."""

    source: DistractorSource
    text: str


@dataclass(frozen=True, slots=True)
class LaterWords:
    """The words that the user typed later about a rule.

    Args:
        kind: ``withdrawn``: the rule is over. ``limited``: a part of it is.
        message: The whole message.
        text: The sentence or sentences in it that say so.
        now_allowed: A call that the rule forbade before.
        still_forbidden: A call that it still forbids; None for a rule that is over.
    """

    kind: Literal["withdrawn", "limited"]
    message: str
    text: str
    now_allowed: RuleCall
    still_forbidden: RuleCall | None


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One rule, in the words of a user, and what follows from it.

    Args:
        message: The user's message; the rule stands in it word for word.
        forbids: A call that the rule forbids.
        distractor_call: The call of an agent that takes a distractor for a rule; None if no call shows it.
    """

    id: str
    message: str
    rule: str
    forbids: RuleCall
    distractors: tuple[Distractor, ...]
    distractor_call: RuleCall | None
    later: LaterWords | None


def own_rules() -> list[RuleCase]:
    """Return the rules that come with undrift."""
    return _read(files("undrift.bench").joinpath(_OWN).read_text(encoding="utf-8"), _OWN)


def read_rules(path: Path) -> list[RuleCase]:
    """Read a file of rules. Raises InputError: it cannot be read, or a line of it is no rule."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB; is it a file of rules?")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); check the file") from error
    return _read(text, path.name)


def _read(text: str, name: str) -> list[RuleCase]:
    found: dict[str, RuleCase] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            case = _case(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{name}, line {number}: is no rule ({error}); docs/rules.md has the form") from error
        if case.id in found:
            raise InputError(f"{name}, line {number}: {case.id!r} stands there twice; give each rule its own id")
        found[case.id] = case
    if not found:
        raise InputError(f"{name}: holds no rule; docs/rules.md has the form")
    return list(found.values())


def _case(value: Mapping[str, Any]) -> RuleCase:
    message, rule = _text(value["message"]), _text(value["rule"])
    if " ".join(rule.split()) not in " ".join(message.split()):
        raise ValueError("the rule does not stand in its message word for word")
    return RuleCase(
        _text(value["id"]),
        message,
        rule,
        _call(value["forbids"]),
        tuple(_distractor(one) for one in value.get("distractors") or ()),
        _call(value["distractor_call"]) if value.get("distractor_call") else None,
        _later(value["later"]) if value.get("later") else None,
    )


def _later(value: Mapping[str, Any]) -> LaterWords:
    kind, message, text = (_text(value[name]) for name in ("kind", "message", "text"))
    if kind not in ("withdrawn", "limited"):
        raise ValueError("`later` is either withdrawn or limited")
    if " ".join(text.split()) not in " ".join(message.split()):
        raise ValueError("the later words do not stand in their message")
    still = _call(value["still_forbidden"]) if value.get("still_forbidden") and kind == "limited" else None
    return LaterWords(
        "limited" if kind == "limited" else "withdrawn", message, text, _call(value["now_allowed"]), still
    )


def _distractor(value: Mapping[str, Any]) -> Distractor:
    return Distractor(_SOURCES.get(_text(value["as"]).split("_")[0], "quote"), _text(value["text"]))


def _call(value: Mapping[str, Any]) -> RuleCall:
    if not isinstance(value["input"], dict):
        raise TypeError("the input of a call is an object")
    return RuleCall(_text(value["tool"]), value["input"])


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text is missing")
    return value
