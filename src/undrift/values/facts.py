"""The values of session facts: what one agent of a plan learned and reported, and what another asks for. Pure.

Law: values only, and the one function that names a fact. They check nothing: what agents hand in is checked where it is
read, field by field, so that one bad field costs only itself.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

__all__ = [
    "FACT_ROLES",
    "FACT_TAGS",
    "FactChange",
    "FactExtractor",
    "FactQuery",
    "FactRetriever",
    "FactRole",
    "FactVersion",
    "ImplementerResult",
    "RanTest",
    "ReviewIssue",
    "ReviewerResult",
    "SessionFact",
    "SessionFactStore",
    "SessionFactTag",
    "create_fact_id",
]

SessionFactTag = Literal["file_change", "convention", "decision", "error", "dependency", "test"]
"""A string union, so that it survives a JSON round trip as a plain string."""

FACT_TAGS: tuple[str, ...] = get_args(SessionFactTag)

FactRole = Literal["implementer", "reviewer"]
"""Who said it."""

FACT_ROLES: tuple[str, ...] = get_args(FactRole)


def create_fact_id(subject: str, relation: str, object: str) -> str:  # noqa: A002 - the seed's name
    """Return the id of a fact: 16 hexadecimal characters of SHA-256 over the JSON array of the three strings.

    64 bits can collide by design of an enemy: a store compares the three strings as well.
    """
    text = json.dumps([subject, relation, object], separators=(",", ":"))  # in ASCII: lone surrogates pass
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SessionFact:
    """One statement of an agent, as subject, relation and object.

    Args:
        id: Of `create_fact_id`.
        subject: What it is about, as in ``task:5`` or a file's path; at most 200 characters in a store.
        relation: As in ``modified_by``; at most 50.
        object: As in ``task:5`` or a sentence; at most 200.
        tags: Of `SessionFactTag`; may be empty.
        valid_from: Since when it is so, in Unix milliseconds.
        valid_to: Since when it is so no more; None while it is.
        source_task_id: The task whose result said it.
        source_role: Who said it.
        confidence: 0 to 1.
        run_id: The run in which it was said; a store that outlives a run fills it in.
        last_seen: When the same was last said again, in Unix milliseconds; None: never again.
        metadata: JSON values that no line of a prompt shows: ``severity`` and ``fix`` of an issue.
    """

    id: str
    subject: str
    relation: str
    object: str
    tags: tuple[SessionFactTag, ...]
    valid_from: int
    valid_to: int | None = None
    source_task_id: str = ""
    source_role: FactRole = "implementer"
    confidence: float = 1.0
    run_id: str = ""
    last_seen: int | None = None
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        _as_tuples(self, "tags")
        if isinstance(self.metadata, Mapping):  # a copy: what the caller does with its own is no concern of the fact
            object.__setattr__(self, "metadata", dict(self.metadata))

    @property
    def triple(self) -> tuple[str, str, str]:
        """The subject, relation and object of the fact."""
        return self.subject, self.relation, self.object

    @property
    def seen(self) -> int:
        """The time when an agent last stated the fact, in Unix milliseconds."""
        return self.valid_from if self.last_seen is None else max(self.valid_from, self.last_seen)


@dataclass(frozen=True, slots=True)
class FactQuery:
    """The query for the facts that a task needs, before it is dispatched.

    Args:
        task_description: Its prompt; the words of it are looked for.
        task_id: Its id; what its own results said is left out (the task ledger carries that).
        tags: Only facts with one of these; None for all.
        max_facts: At most so many.
        max_tokens: At most so many tokens, counted as characters of subject, relation and object over `chars_per_token`.
        chars_per_token: Above 0.
        min_score: From 0 to 1: the share of the description's words that a fact must hold. Above 0 nothing is given
            where nothing matches; at 0 the newest facts are.
    """

    task_description: str
    task_id: str
    tags: tuple[SessionFactTag, ...] | None = None
    max_facts: int = 10
    max_tokens: int = 500
    chars_per_token: int = 4
    min_score: float = 0.0

    def __post_init__(self) -> None:
        _as_tuples(self, "tags")


@dataclass(frozen=True, slots=True)
class RanTest:
    """One test command that an implementer ran, and its result."""

    command: str
    passed: bool
    failures: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _as_tuples(self, "failures")


@dataclass(frozen=True, slots=True)
class ImplementerResult:
    """The result of an implementer; None is "not said", an empty tuple "there are none".

    Args:
        task_id: As the agent named it; the id that the run is bound to counts.
        status: ``completed``, ``blocked`` or ``failed``.
        summary: One or two sentences.
        files_changed: Paths.
        tests: Of `RanTest`, or mappings with its fields.
        follow_up_actions: What has to be done after it.
        files_modified: The same as `files_changed`, by its name in the seed; both count.
        conventions: Conventions that it established.
        blockers: The reasons why it could not continue.
    """

    task_id: str
    status: str
    summary: str
    files_changed: tuple[str, ...] | None = None
    tests: tuple[RanTest | Mapping[str, Any], ...] | None = field(default=None, hash=False)
    follow_up_actions: tuple[str, ...] | None = None
    files_modified: tuple[str, ...] | None = None
    conventions: tuple[str, ...] | None = None
    blockers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _as_tuples(self, "files_changed", "tests", "follow_up_actions", "files_modified", "conventions", "blockers")


@dataclass(frozen=True, slots=True)
class ReviewIssue:
    """One issue of a reviewer: severity (``critical``, ``important``, ``minor``), place, problem and fix."""

    message: str
    severity: str = "important"
    file: str | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class ReviewerResult:
    """The result of a reviewer; None is "not said", an empty tuple "there are none".

    Args:
        task_id: As the agent named it; the id that the run is bound to counts.
        assessment: ``approved``, ``needs_changes`` or ``blocked``.
        strengths: What is good about it.
        issues: Of `ReviewIssue`, or mappings with its fields.
        required_fixes: What must be done before it is approved.
    """

    task_id: str
    assessment: str
    strengths: tuple[str, ...] | None = None
    issues: tuple[ReviewIssue | Mapping[str, Any], ...] | None = field(default=None, hash=False)
    required_fixes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _as_tuples(self, "strengths", "issues", "required_fixes")


@dataclass(frozen=True, slots=True)
class FactVersion:
    """A stored version of a fact; `sequence` grows with each version of any fact of a run."""

    sequence: int
    fact: SessionFact


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact's version before (None: it is new) and after (None: it is dropped) a change, with the same sequence."""

    before: FactVersion | None
    after: FactVersion | None


class SessionFactStore(Protocol):
    """Stores the facts of one run. Synchronous; a new version replaces a fact, no version is changed."""

    def add(self, facts: Iterable[SessionFact]) -> None:
        """Add the facts of one result and end those that they replace; a malformed fact is logged and skipped.

        The facts of one call are one batch. If a relation can have many objects, the whole batch replaces the one
        before it. A triple that is valid already is only seen again.
        """
        ...

    def invalidate(self, subject: str, relation: str) -> None:
        """End all valid facts of this subject and relation, now."""
        ...

    def get_valid(self) -> list[SessionFact]:
        """Return the valid facts, in the order in which they were added."""
        ...

    def get_valid_by_tags(self, tags: Sequence[SessionFactTag]) -> list[SessionFact]:
        """Return the valid facts with at least one of the tags, in the order in which they were added."""
        ...

    def count(self) -> int:
        """Return the number of valid facts."""
        ...

    def compact(self, max_facts: int) -> None:
        """Keep at most `max_facts` valid facts: drop all that have ended, then the oldest by `valid_from`.

        If there are fewer valid ones, the ended ones are dropped, oldest first, beyond four times `max_facts` in all.
        """
        ...


class FactExtractor(Protocol):
    """Extracts facts from an agent's results; an agent's text never makes it raise."""

    def extract_from_implementer(
        self, result: ImplementerResult | Mapping[str, Any], task_id: str
    ) -> list[SessionFact]:
        """Return the facts in an implementer's result; `task_id` is the task of this run."""
        ...

    def extract_from_reviewer(self, result: ReviewerResult | Mapping[str, Any], task_id: str) -> list[SessionFact]:
        """Return the facts in a reviewer's result; `task_id` is the task of this run."""
        ...


class FactRetriever(Protocol):
    """Finds the facts that a task needs; never raises."""

    def retrieve(self, query: FactQuery) -> list[SessionFact]:
        """Return the best matching facts, best first."""
        ...


def _as_tuples(value: Any, *names: str) -> None:
    """Turn the lists of a frozen value into tuples; a value that is no list stays, and its reader refuses it."""
    for name in names:
        given = getattr(value, name)
        if isinstance(given, list):
            object.__setattr__(value, name, tuple(given))
