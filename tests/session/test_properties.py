"""Any conversation, with retries, forks, rewritten messages, restarts and pins: what holds for every window of it."""

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.builders import (
    Json,
    assistant,
    body,
    call,
    image,
    merged,
    opened,
    parts,
    problems,
    result,
    sent,
    text,
    thinking,
    user,
)
from tests.long_form import sized
from undrift.session.session import Session
from undrift.values.prepared import Prepared

KEPT_RESULTS = 3
KEPT_TEXT_TOKENS = 60
QUIET: dict[str, Any] = {"suppress_health_check": [HealthCheck.too_slow], "report_multiple_bugs": False}
BUDGETS = [1, 300, 1_000, 2_500, 100_000]
SYSTEM = "You are careful. " * 4

sizes = st.sampled_from([1, 30, 200, 200, 900, 3_000])


def tag(part: Json) -> str:
    """What no two blocks of a machine's life share: every text begins with it."""
    if part["type"] == "tool_use":
        return f"call {part['id']}"
    if part["type"] == "tool_result":
        return f"result {part['tool_use_id']} {json.dumps(part['content'])[:40]}"
    if part["type"] == "image":
        return f"image {part['source']['data']}"
    return str(part.get("text") or part.get("thinking")).split(":", 1)[0]


def cost(part: Json) -> int:
    """Characters over four, counted again and apart from the program."""
    if part["type"] == "image":
        return 1_600
    if part["type"] == "tool_use":
        return (len(json.dumps(part["input"], separators=(",", ":"))) + 3) // 4
    said = part.get("text") or part.get("thinking") or part.get("content") or ""
    return (len(said) + 3) // 4


def of_user(part: Json, message: Json) -> bool:
    return message["role"] == "user" and part["type"] == "text"


def misplaced_thinking(messages: list[Json]) -> list[list[str]]:
    """Answers, as the provider merges them, that have thinking and do not begin with it, or end with it (WIRE A9)."""
    answers = [
        [part["type"] for part in message["content"]] for message in merged(messages) if message["role"] == "assistant"
    ]
    return [kinds for kinds in answers if "thinking" in kinds and (kinds[0] != "thinking" or kinds[-1] == "thinking")]


def is_pin(part: Json) -> bool:
    return str(part.get("text", "")).startswith("[Pinned ")


class AnyConversation(RuleBasedStateMachine):
    """A client that sends its whole history on every turn, and all that it may do in between."""

    @initialize(budget=st.sampled_from(BUDGETS))
    def start(self, budget: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.number = 0
        self.pins: list[str] = []
        self.placed: set[tuple[int, str]] = set()  # (history, place of a pin)
        self.left: dict[
            tuple[int, str], dict[int, str]
        ] = {}  # block -> history in which it left or was cut -> what is left
        self.messages: list[Json] = [user(self.words(100))]
        self.reopen(budget)
        self.turn()

    def teardown(self) -> None:
        if hasattr(self, "session"):
            self.session.close()
            self.folder.cleanup()

    def words(self, characters: int) -> str:
        """A text of its own; every eighth has many lines, no two alike, as equal ones would be folded."""
        self.number += 1
        beginning = f"#{self.number}: "
        if self.number % 8 == 7:
            return (beginning + "\n".join(map(str, range(characters))))[: max(characters, len(beginning))]
        return beginning.ljust(characters, "abcdefg"[self.number % 8])

    def reopen(self, budget: int) -> None:
        self.session = opened(
            Path(self.folder.name),
            budget_tokens=budget,
            keep_tool_results=KEPT_RESULTS,
            keep_user_text_tokens=KEPT_TEXT_TOKENS,
        )

    # ------------------------------------------------------------------------------------------ what a client does

    @rule(
        size=sizes,
        calls=st.lists(sizes, min_size=1, max_size=4),
        said=st.booleans(),
        thought=st.booleans(),
        also=st.sampled_from(["", "text", "image"]),
    )
    def the_agent_works(self, size: int, calls: list[int], said: bool, thought: bool, also: str) -> None:
        before = [thinking(self.words(size))] * thought + [text(self.words(size))] * said
        made = [call(f"t{self.number}-{n}", path=self.words(20)) for n in range(len(calls))]
        answers = [result(one["id"], self.words(n)) for one, n in zip(made, calls, strict=True)]
        extra = {"": [], "text": [text(self.words(size))], "image": [image(self.words(8))]}[also]
        self.messages += [assistant(*before, *made), user(*answers, *extra)]
        self.turn()

    @rule(size=sizes, picture=st.booleans())
    def the_user_speaks(self, size: int, picture: bool) -> None:
        self.messages += [assistant(self.words(size)), user(*[image(self.words(8))] * picture, self.words(size))]
        self.turn()

    @rule()
    def the_request_is_sent_again(self) -> None:
        self.turn()

    @precondition(lambda self: len(self.messages) > 4)
    @rule(data=st.data())
    def the_client_goes_back(self, data: st.DataObject) -> None:
        ends = [n for n, m in enumerate(self.messages) if n % 2 == 0 and n]
        end = data.draw(st.sampled_from(ends))
        self.messages = [*self.messages[: end - 1], assistant(self.words(30)), user(self.words(30))]
        self.turn()

    @precondition(lambda self: len(self.messages) > 4)
    @rule(data=st.data())
    def the_client_clears_an_old_result(self, data: st.DataObject) -> None:
        results = [n for n, m in enumerate(self.messages[:-2]) if any(p["type"] == "tool_result" for p in parts(m))]
        if results:
            number = data.draw(st.sampled_from(results))
            self.messages = copy.deepcopy(self.messages)
            next(p for p in parts(self.messages[number]) if p["type"] == "tool_result")["content"] = self.words(30)
            self.turn()

    @rule()
    def the_program_starts_anew(self) -> None:
        first = self.prepare()
        self.session.close()
        self.reopen(first.budget_tokens)
        again = self.prepare()
        assert (again.body, again.actions, again.tokens_after) == (first.body, first.actions, first.tokens_after)

    @rule(budget=st.sampled_from(BUDGETS))
    def the_budget_is_changed(self, budget: int) -> None:
        self.session.close()
        self.reopen(budget)
        self.turn()

    @precondition(lambda self: len(self.pins) < 3)
    @rule(size=sizes)
    def a_text_is_pinned(self, size: int) -> None:
        words = self.words(size)
        ref = self.session.pin("spec", words)
        assert self.session.pin("spec", words) == ref
        assert self.session.recall(ref) == words
        self.pins.append(words)
        self.turn()

    @rule()
    def another_conversation_comes_between(self) -> None:
        side = [user("a sub-agent's task"), assistant(call("side")), user(result("side", "x" * 2_000))]
        prepared = self.session.prepare(body(*side, *[assistant("ok"), user("go")] * 2))
        assert problems(sent(prepared)) == ()

    # ------------------------------------------------------------------------------------------ what holds each time

    def prepare(self, *, as_bytes: bool = False) -> Prepared:
        given = body(*self.messages, system=SYSTEM)
        return self.session.prepare(json.dumps(given).encode() if as_bytes else given)

    def turn(self) -> None:
        given = copy.deepcopy(self.messages)
        prepared = self.prepare()
        assert self.messages == given, "the input was changed"
        out = sent(prepared)
        assert problems(self.messages) == () == problems(out)
        assert misplaced_thinking(out) == []
        assert not any("sent unchanged" in warning for warning in prepared.warnings)
        self.check_blocks(out)
        self.check_pins(prepared, out)
        self.check_what_must_stay(out)
        self.check_figures(prepared, out)
        for action in prepared.actions:
            assert self.session.recall(action.ref)
        again = self.prepare(as_bytes=True)
        assert (sent(again), again.actions, again.tokens_after) == (out, prepared.actions, prepared.tokens_after)

    def check_blocks(self, out: list[Json]) -> None:
        """In order, byte for byte or cut; what left in this history does not come back; a cut stays the cut it was."""
        remaining = iter([(m["role"], p) for m in out for p in parts(m) if not is_pin(p)])
        ahead = next(remaining, None)
        paths = self.paths()
        for path, message in zip(paths, self.messages, strict=True):
            for part in parts(message):
                is_there = ahead is not None and ahead[0] == message["role"] and tag(ahead[1]) == tag(part)
                shown = ahead[1] if is_there and ahead else None
                remains = "" if shown is None else shown["text"] if shown != part else None
                known = self.left.setdefault((path, tag(part)), {})
                before = [known[at] for at in paths if at in known]
                assert before in ([], [remains]), f"{tag(part)} came back, or is cut otherwise"
                if remains is not None and not before:
                    known[paths[-1]] = remains
                ahead = next(remaining, None) if is_there else ahead
        assert ahead is None, f"{ahead} was never given"

    def check_pins(self, prepared: Prepared, out: list[Json]) -> None:
        """Each pin stands once, and stays where it was put for as long as the history before it is the same."""
        found = [part["text"].partition("\n")[2] for message in out for part in parts(message) if is_pin(part)]
        assert sorted(found) == sorted(self.pins)
        places = {action.entry_id for action in prepared.actions if action.kind == "pinned"}
        paths = self.paths()
        assert {place for path, place in self.placed if path in paths} <= places, "a pin moved"
        self.placed |= {(paths[-1], place) for place in places}

    def paths(self) -> list[int]:
        """One number for each message and all before it."""
        found = [0]
        for message in self.messages:
            found.append(hash((found[-1], json.dumps(message))))
        return found[1:]

    def check_what_must_stay(self, out: list[Json]) -> None:
        blocks = [part for message in out for part in parts(message)]
        for part in self.protected():
            assert part in blocks
        spoken = [part["text"] for m in out for part in parts(m) if of_user(part, m) and not is_pin(part)]
        given = [part["text"] for m in self.messages for part in parts(m) if of_user(part, m)]
        assert len(spoken) == len(given)
        for words, kept in zip(given, spoken, strict=True):
            if len(words) <= 4 * KEPT_TEXT_TOKENS:
                assert kept == words
            assert kept == words or (kept[:2] == words[:2] and kept[-1] == words[-1] and "undrift recall" in kept)

    def protected(self) -> list[Json]:
        """The newest results and all unseen, with their calls."""
        results = [part for m in self.messages for part in parts(m) if part["type"] == "tool_result"]
        unseen = [part for part in parts(self.messages[-1]) if part["type"] == "tool_result"]
        kept = results[-max(KEPT_RESULTS, len(unseen)) :]
        answered = {part["tool_use_id"] for part in kept}
        calls = [p for m in self.messages for p in parts(m) if p["type"] == "tool_use" and p["id"] in answered]
        return [*calls, *kept, *(part for part in parts(self.messages[-1]) if part["type"] == "image")]

    def check_figures(self, prepared: Prepared, out: list[Json]) -> None:
        fixed = (len(SYSTEM) + 3) // 4
        assert prepared.tokens_before == fixed + sum(cost(p) for m in self.messages for p in parts(m))
        assert prepared.tokens_after == fixed + sum(cost(p) for m in out for p in parts(m))
        if prepared.tokens_before + 200 * len(self.pins) + sum(
            map(len, self.pins)
        ) <= prepared.budget_tokens and not any(known.keys() & set(self.paths()) for known in self.left.values()):
            assert all(action.kind == "pinned" for action in prepared.actions)
        if prepared.tokens_after <= prepared.budget_tokens:
            return
        assert any("over budget" in warning for warning in prepared.warnings), prepared.warnings
        latest = [part for message in self.messages[-2:-1] for part in parts(message)]
        for message in out:
            for part in parts(message):
                assert of_user(part, message) or part in self.protected() or part in latest or message is out[0], part


class InTwoProcesses(AnyConversation):
    """The same, where two sessions are open on one id and the turns go now through the one, now through the other."""

    other: Session | None = None

    @rule()
    def the_other_process_takes_over(self) -> None:
        former = self.session
        if self.other is None:
            self.reopen(BUDGETS[self.number % 5])
        else:
            self.session = self.other
        self.other = former
        self.turn()

    def teardown(self) -> None:
        if self.other is not None:
            self.other.close()
        super().teardown()


TestAnyConversation: Any = AnyConversation.TestCase
TestAnyConversation.settings = settings(max_examples=sized(30, 60), stateful_step_count=25, **QUIET)
TestInTwoProcesses: Any = InTwoProcesses.TestCase
TestInTwoProcesses.settings = settings(max_examples=sized(12, 25), stateful_step_count=20, **QUIET)
