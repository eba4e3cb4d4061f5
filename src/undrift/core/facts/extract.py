"""The rules by which results become facts: a tuple of small functions for each role. Pure.

Law: a rule reads fields of one result and returns what it found and what it could not read; a malformed field costs only
itself, a malformed element only that element. Adding a rule is appending a function. A field that is not there says
nothing; one that is an empty list says that there are none, and ends what an earlier result of the same task and role
said there were.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from undrift.core.facts.changes import EndedFacts
from undrift.core.facts.check import MOST_OBJECT, clip_text, clipped
from undrift.values.facts import FactRole, SessionFact, SessionFactTag, create_fact_id

__all__ = ["Extraction", "FactRule", "FactSource", "IMPLEMENTER_RULES", "MOST_ELEMENTS", "REVIEWER_RULES"]

CLIP_CHARACTERS = 120
"""The most characters of a sentence that an agent wrote."""

MOST_ELEMENTS = 500
"""The most items of one list that are read: as many as a run keeps facts by default."""

_CONVENTION = re.compile(
    r"\b(?:conventions?|patterns?|naming|styles?|camel_?case|snake_?case|pascal_?case|format(?:s|ted|ter|ting)?)\b",
    re.IGNORECASE,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extraction:
    """The findings of a rule: new facts, facts that no longer hold, and what it could not read, as sentences for a log."""

    facts: tuple[SessionFact, ...] = ()
    ended: tuple[EndedFacts, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactSource:
    """A result, as a rule sees it.

    `result`: a record of `undrift.values.facts`, a mapping with the same names, or anything else that an agent wrote.
    """

    result: object
    task_id: str
    role: FactRole
    at_ms: int

    @property
    def task(self) -> str:
        """The task as the subject or object of a fact."""
        return f"task:{self.task_id}"

    def fact(self, subject: str, relation: str, object: str, *tags: SessionFactTag, **metadata: Any) -> SessionFact:  # noqa: A002
        """Return a fact of this result, within the limits of a store."""
        fact = SessionFact(
            id=create_fact_id(subject, relation, object),
            subject=subject,
            relation=relation,
            object=object,
            tags=tags,
            valid_from=self.at_ms,
            source_task_id=self.task_id,
            source_role=self.role,
            metadata=metadata or None,
        )
        return clipped(fact)

    def ended(self, relation: str) -> EndedFacts:
        """Return what earlier results of this task and role said with a relation."""
        return EndedFacts(relation, None, self.role, self.task_id)

    def field(self, name: str) -> Any:
        """Return a field; None if it is not there."""
        return _of(self.result, name)

    def text(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return a field that is a text, and what is wrong with it; empty if it is not there or wrong."""
        value = self.field(name)
        if value is None or isinstance(value, str):
            return (value or "").strip(), ()
        return "", (f"{name}: must be a text, not {type(value).__name__}",)

    def elements(self, name: str) -> tuple[Sequence[Any] | None, tuple[str, ...]]:
        """Return a field that is a list, and what is wrong with it; None if it is not there or wrong."""
        value = self.field(name)
        if value is None:
            return None, ()
        if not isinstance(value, list | tuple):
            return None, (f"{name}: must be a list, not {type(value).__name__}",)
        if len(value) > MOST_ELEMENTS:
            return value[:MOST_ELEMENTS], (f"{name}: {len(value)} elements, the first {MOST_ELEMENTS} count",)
        return value, ()

    def each(self, name: str, read: Callable[[Any], T | str]) -> tuple[list[T] | None, tuple[str, ...]]:
        """Read the elements of a list one by one.

        `read`: returns what an element says, or a sentence on what is wrong with it.
        """
        elements, problems = self.elements(name)
        if elements is None:
            return None, problems
        found: list[T] = []
        wrong = list(problems)
        for number, element in enumerate(elements):
            one = read(element)
            if isinstance(one, str):
                wrong.append(f"{name}[{number}]: {one}")
            else:
                found.append(one)
        return found, tuple(wrong)


FactRule = Callable[[FactSource], Extraction]


def _of(thing: object, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _text_of(thing: object, name: str) -> str:
    """Return a text of an element; empty if it is missing or none."""
    value = _of(thing, name)
    return value.strip() if isinstance(value, str) else ""


def _one(
    source: FactSource, *, name: str, relation: str, tag: SessionFactTag, most_characters: int = MOST_OBJECT
) -> Extraction:
    """A field that is one text: ``task:X RELATION text``."""
    text, problems = source.text(name)
    if not text:
        return Extraction(problems=problems)
    fact = source.fact(source.task, relation, clip_text(text, most_characters), tag)
    return Extraction((fact,), problems=problems)


def _many(source: FactSource, *, name: str, relation: str, tag: SessionFactTag) -> Extraction:
    """A field that is a list of sentences: ``task:X RELATION sentence``."""

    def read(element: Any) -> SessionFact | str:
        if not isinstance(element, str) or not element.strip():
            return f"must be a text that is not empty, not {type(element).__name__}"
        return source.fact(source.task, relation, clip_text(element.strip(), CLIP_CHARACTERS), tag)

    facts, problems = source.each(name, read)
    ended = (source.ended(relation),) if facts is not None and not source.field(name) else ()
    return Extraction(tuple(facts or ()), ended, problems)


def _files(source: FactSource, *, name: str) -> Extraction:
    """A list of paths: ``PATH modified_by task:X``."""

    def read(element: Any) -> SessionFact | str:
        if not isinstance(element, str) or not element.strip():
            return f"must be a path, not {type(element).__name__}"
        return source.fact(element, "modified_by", source.task, "file_change")

    facts, problems = source.each(name, read)
    return Extraction(tuple(facts or ()), problems=problems)


def _tests(source: FactSource) -> Extraction:
    """Failed commands one by one, or that all have passed; a command that passes now has not failed any more."""

    def read(element: Any) -> tuple[str, bool] | str:
        command, passed = _text_of(element, "command"), _of(element, "passed")
        if not command or not isinstance(passed, bool):
            return "must have a command, which is a text, and passed, which is true or false"
        return command, passed

    ran, problems = source.each("tests", read)
    if ran is None:
        return Extraction(problems=problems)
    failed = dict.fromkeys(command for command, passed in ran if not passed)
    facts = [source.fact(command, "test_failed", source.task, "test", "error") for command in failed]
    passing = dict.fromkeys(command for command, passed in ran if passed and command not in failed)
    ended = [EndedFacts("test_failed", source.fact(command, "test_failed", source.task).subject) for command in passing]
    if failed:
        ended.append(EndedFacts("tests_passed", source.task))
    else:
        ended.append(source.ended("test_failed"))
    if ran and not failed and not problems:
        facts.append(source.fact(source.task, "tests_passed", f"{len(ran)}/{len(ran)}", "test"))
    return Extraction(tuple(facts), tuple(ended), problems)


def _issues(source: FactSource) -> Extraction:
    """The issues of a reviewer, about a file or the task; an issue about a convention is also a convention."""

    def read(element: Any) -> SessionFact | str:
        message = _text_of(element, "message")
        if not message:
            return "must have a message, which is a text that is not empty"
        notes = {name: clip_text(_text_of(element, name), CLIP_CHARACTERS) for name in ("severity", "fix")}
        about = _text_of(element, "file") or source.task
        said = {name: text for name, text in notes.items() if text}
        return source.fact(about, "issue", clip_text(message, CLIP_CHARACTERS), "error", **said)

    facts, problems = source.each("issues", read)
    if facts is None:
        return Extraction(problems=problems)
    ended = () if source.field("issues") else (source.ended("issue"),)
    conventions = [
        replace(source.fact(fact.subject, "convention", fact.object, "convention"), metadata=fact.metadata)
        for fact in facts
        if _CONVENTION.search(fact.object)
    ]
    return Extraction((*facts, *conventions), ended, problems)


IMPLEMENTER_RULES: tuple[FactRule, ...] = (
    partial(_one, name="status", relation="completed_with", tag="decision"),
    partial(_one, name="summary", relation="summary", tag="decision", most_characters=CLIP_CHARACTERS),
    partial(_files, name="files_modified"),
    partial(_files, name="files_changed"),
    partial(_many, name="follow_up_actions", relation="requires", tag="dependency"),
    _tests,
    partial(_many, name="conventions", relation="convention", tag="convention"),
    partial(_many, name="blockers", relation="blocked_by", tag="error"),
)
"""The rules for an implementer's result. Append your own."""

REVIEWER_RULES: tuple[FactRule, ...] = (
    partial(_one, name="assessment", relation="reviewed_as", tag="decision"),
    _issues,
    partial(_many, name="required_fixes", relation="must_fix", tag="convention"),
)
"""The rules for a reviewer's result. Append your own."""
