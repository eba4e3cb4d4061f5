"""Sessions of OpenHands: its events, as an array, a line each or under ``history``, and logs of single requests. Pure.

=============================================== =============================================================
event                                           becomes
=============================================== =============================================================
action system                                   ``text``, role system, type spec; its tools: counted "tool definitions"
action message                                  ``text``, ``image`` each, of its source
any other action of the agent                   its thought: ``text``; a ``call``, as the model wrote it where the
                                                answer is recorded, else of the action with its arguments
the user's own command                          ``text``, role user
condensation                                    a compaction, counted "compaction boundary"; its summary: ``summary``
observation                                     ``result`` of the action that it names; for commands with what the
                                                environment put around the output; an error if it says so, or by
                                                the exit code
observation recall                              ``text``, role user, ``meta: True``: the knowledge that it recalled;
                                                without any counted "client event: recall"
recall, null and the like (`_CLIENT`)           counted "client event: TYPE"
an event with a ``kind``                        what `undrift.transcripts.openhands_sdk` says
the state of a conversation of the SDK          counted "state of the conversation"
anything else                                   counted "unknown event: TYPE"
=============================================== =============================================================

A call that has no id in the record is named after its event, which its observation names as the cause. The log of a
request holds what was sent, and the answer: `undrift.transcripts.chat` says what messages become. If tools were asked
for in plain text, the log also has the messages before they were rendered; these are read, the rendered ones are counted
"message rendered as text". A file of many sessions gives the first, as `undrift.transcripts.conversations` says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from undrift.transcripts import blocks, chat, conversations, openhands_sdk
from undrift.transcripts.base import Part, RecordedBlock, Recording, Skip
from undrift.transcripts.collect import Collector, RecordPlace
from undrift.transcripts.document import outline
from undrift.transcripts.lines import list_at, object_at, text_at

__all__ = ["FORMAT", "read", "recognises"]

FORMAT = "openhands"

_HISTORY = "history"
_SENT = "messages"
_UNRENDERED = ("raw_messages", "fncall_messages")
_ARRAYS = (_HISTORY, _SENT, *_UNRENDERED)
_CLIENT = frozenset({"agent_state_changed", "change_agent_state", "null", "pause", "recall", "resume", "stop"})
_ASIDE = frozenset({"blocking", "confirmation_state", "hidden", "impl_source", "is_confirmed", "thought"})
"""The fields that OpenHands adds to the arguments of an action."""


def recognises(lines: Sequence[str]) -> bool:
    """Tell whether the lines contain an event, or begin the log of a request."""
    text = "\n".join(lines)
    if '"source"' in text and conversations.begins_with(lines, (_HISTORY,), _is_event):
        return True
    if '"messages"' not in text:
        return False
    keys = outline(lines)
    logged = {"context_window", "cost", "fncall_messages", "latency_sec", "raw_messages"} & keys
    return {"messages", "response"} <= keys and bool(logged)


def _is_event(value: Any) -> bool:
    if openhands_sdk.is_event(value):
        return True
    if not isinstance(value, dict) or value.get("source") not in ("agent", "environment", "user"):
        return False
    acts = isinstance(value.get("action"), str) and isinstance(value.get("args"), dict)
    return acts or (isinstance(value.get("observation"), str) and "content" in value)


def _is_part(value: Any) -> bool:
    return _is_event(value) or chat.is_message(value)


def read(lines: Iterable[str], *, count: Callable[[str], int]) -> Recording:
    """Read a session of OpenHands, or the log of a request; see `Reader.read`."""
    collector = Collector(FORMAT)
    events, log = _Events(collector), _EventLog(collector)
    for key, place, value in conversations.first(collector, lines, _ARRAYS, _is_part):
        if key in (_HISTORY, ""):
            # of old an action and its observation stood in a pair
            for event in value if isinstance(value, list) else [value]:
                events.take(place, event)
        elif key in _ARRAYS:
            log.messages.setdefault(key, []).append((place, value))
        elif key == "instance_id":
            collector.identify(value, None)
        else:
            log.members[key] = value, place
    log.close()
    return collector.recording(count=count)


class _Events:
    """Goes through the events, and knows by which id the calls of earlier ones are named."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._calls: dict[Any, str] = {}

    def take(self, place: RecordPlace, event: Any) -> None:
        """Add one event."""
        if not isinstance(event, dict):
            self._collector.skip("unknown event: (none)")
        elif isinstance(event.get("kind"), str) and not text_at(event, "action") and not text_at(event, "observation"):
            self._sdk(place, event)
        elif "agent" in event and "workspace" in event:
            self._state(event)
        else:
            self._classic(place, event)

    def _classic(self, place: RecordPlace, event: dict[str, Any]) -> None:
        answer = object_at(object_at(event, "tool_call_metadata"), "model_response")
        acts = text_at(event, "action")
        if acts and text_at(event, "source") == "agent":
            self._collector.name_model(answer.get("model"))
        if acts == "condensation":
            self._collector.compaction()
        at = object_at(object_at(event, "extras"), "metadata").get("working_dir")
        self._collector.identify(None, at)
        parts = self._action(acts, event) if acts else self._observation(event)
        message_id = text_at(answer, "id") or None
        self._collector.add(parts, place, event.get("timestamp"), message_id=message_id)

    def _sdk(self, place: RecordPlace, event: dict[str, Any]) -> None:
        if event["kind"] == openhands_sdk.CONDENSATION:
            self._collector.compaction()
        message_id = openhands_sdk.message_id(event)
        self._collector.add(openhands_sdk.parts(event), place, event.get("timestamp"), message_id=message_id)

    def _state(self, state: dict[str, Any]) -> None:
        self._collector.name_model(object_at(object_at(state, "agent"), "llm").get("model"))
        self._collector.identify(state.get("id"), object_at(state, "workspace").get("working_dir"))
        self._collector.skip("state of the conversation")

    def _action(self, kind: str, event: Mapping[str, Any]) -> Iterator[Part]:
        args = object_at(event, "args")
        if kind in _CLIENT:
            yield Skip(f"client event: {kind}")
        elif kind == "system":
            yield blocks.text("system", text_at(args, "content"))
            if list_at(args, "tools"):
                yield Skip("tool definitions")
        elif kind == "condensation":
            yield Skip("compaction boundary")
            if summary := text_at(args, "summary"):
                yield RecordedBlock("summary", "user", summary, "summary")
        elif kind == "message":
            role = "assistant" if event.get("source") == "agent" else "user"
            yield from chat.parts({"role": role, "content": text_at(args, "content") or None})
            for _ in list_at(args, "image_urls"):
                yield from blocks.image("assistant" if role == "assistant" else "user")
        elif event.get("source") == "agent":
            yield from self._call(kind, event, args)
        else:
            yield blocks.text("user", text_at(args, "command") or blocks.dump(args))

    def _call(self, kind: str, event: Mapping[str, Any], args: Mapping[str, Any]) -> Iterator[Part]:
        asked = object_at(event, "tool_call_metadata")
        call_id = text_at(asked, "tool_call_id") or f"event-{event.get('id')}"
        self._calls[_hashable(event.get("id"))] = call_id
        name = text_at(asked, "function_name") or kind
        given = _as_asked(asked, call_id)
        thought = text_at(args, "thought")
        # the tool "think" is asked for with its thought
        if thought.strip() and not (isinstance(given, dict) and given.get("thought") == thought):
            yield blocks.text("assistant", thought)
        kept = {key: value for key, value in args.items() if key not in _ASIDE}
        yield blocks.call(call_id, name, kept if given is None else given)

    def _observation(self, event: Mapping[str, Any]) -> Iterator[Part]:
        kind, content, extras = text_at(event, "observation"), event.get("content"), object_at(event, "extras")
        if kind == "recall":
            yield _recalled(extras)
        elif kind in _CLIENT:
            yield Skip(f"client event: {kind}")
        elif not kind:
            yield Skip("unknown event: (none)")
        else:
            asked = object_at(event, "tool_call_metadata")
            call_id = text_at(asked, "tool_call_id") or self._calls.get(_hashable(event.get("cause")))
            around = object_at(extras, "metadata")
            if isinstance(content, str):
                content = text_at(around, "prefix") + content + text_at(around, "suffix")
            failed = kind == "error" or event.get("success") is False
            if "success" not in event and isinstance(code := around.get("exit_code"), int):
                failed = failed or code != 0
            yield from blocks.result("user", call_id, content, is_error=failed)
            if text_at(extras, "screenshot"):
                yield Skip("image data")


def _hashable(value: Any) -> Any:
    return value if isinstance(value, int | str) else None


def _as_asked(asked: Mapping[str, Any], call_id: str) -> Any:
    """Find the arguments that the model itself wrote, or None."""
    for choice in list_at(object_at(asked, "model_response"), "choices"):
        message = object_at(choice, "message") if isinstance(choice, dict) else {}
        for call in list_at(message, "tool_calls"):
            if isinstance(call, dict) and call.get("id") == call_id:
                return blocks.arguments(object_at(call, "function").get("arguments"))
    return None


def _recalled(extras: Mapping[str, Any]) -> Part:
    told = [text_at(extras, key) for key in ("repo_instructions", "additional_agent_instructions")]
    told += [text_at(known, "content") for known in list_at(extras, "microagent_knowledge") if isinstance(known, dict)]
    text = "\n\n".join(part for part in told if part.strip())
    return blocks.text("user", text, meta=True) if text else Skip("client event: recall")


class _EventLog:
    """Keeps what the log of one request holds until all of it is known."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.messages: dict[str, list[tuple[RecordPlace, Any]]] = {}
        self.members: dict[str, tuple[Any, RecordPlace]] = {}

    def close(self) -> None:
        """Hand over the messages and the answer to them."""
        unrendered = next((self.messages[key] for key in _UNRENDERED if self.messages.get(key)), None)
        for place, message in unrendered or self.messages.get(_SENT, []):
            self._collector.add(chat.parts(message), place, None)
        if unrendered:
            for _ in self.messages.get(_SENT, []):
                self._collector.skip("message rendered as text")
        key = "fncall_response" if "fncall_response" in self.members else "response"
        response, place = self.members.get(key, (None, RecordPlace(1, 0)))
        if isinstance(response, dict):
            self._collector.name_model(response.get("model"))
            at_ms = chat.moment(self.members.get("timestamp", (None,))[0])
            for choice in list_at(response, "choices")[:1]:
                message = object_at(choice, "message") if isinstance(choice, dict) else {}
                self._collector.add(chat.parts(message), place, None, name="response", at_ms=at_ms)
        if self.members.get("tools", (None,))[0]:
            self._collector.skip("tool definitions")
        if key != "response" or "raw_response" in self.members:
            self._collector.skip("answer rendered as text")
