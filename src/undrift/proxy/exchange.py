"""One request through the gateway, from the client's first byte to the last byte of the answer.

Law: the client gets what the provider sent, status and bytes; a failure is never a 200. A fault of ours is named in a
header and in the log, and the original goes upstream. Nothing is sent twice once a byte has come back, and nothing waits
for an answer whose client has left.
"""

import asyncio
import errno
import json
import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

from undrift.errors import Declined, InputError, StoreError
from undrift.profiles import family_of, is_sub_agent
from undrift.proxy import headers
from undrift.proxy.answers import COME_BACK, failure, respond
from undrift.proxy.ask import Ask, Bypass, ManagedBody
from undrift.proxy.coding import decoded, encoded, plain
from undrift.proxy.incoming import ClientGone, Incoming, NoRoom, TooLate, refuse_unread
from undrift.proxy.observe import Progress, safe_id
from undrift.proxy.recorded import RecordedAnswer, record_answer
from undrift.proxy.routes import Route
from undrift.proxy.shared import Asgi, GatewayContext
from undrift.wire.anthropic.editing import beta_in_body
from undrift.wire.refusals import REFUSAL_STATUSES, too_long
from undrift.wire.request_headers import is_signed

__all__ = ["Exchange"]

_log = logging.getLogger("undrift.proxy")

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
_KEPT_BYTES = 1 << 20  # of a body that is not managed; what is longer goes upstream while it still comes in
_REFUSAL_BYTES = 64 << 10
_LONGEST_ID = 500
_CHARACTERS_A_TOKEN = 4


class Exchange:
    """One request; `run` carries it out."""

    def __init__(self, shared: GatewayContext, asgi: Asgi, route: Route) -> None:
        self._shared = shared
        self._asgi = asgi
        self._route = route
        self._given = dict(asgi.pairs)
        self._progress = Progress()
        self._incoming = self._coming()
        self._parts: list[bytes] | None = None  # of the answer, for the session
        self._coding = ""
        self._packing = ",".join(value for name, value in asgi.pairs if name == "content-encoding")
        self._plain = b""  # the request's body without its coding
        self._packed = b""  # the managed body in that coding
        self._is_over = False
        self._me: asyncio.Task[Any] | None = None

    async def run(self) -> None:
        """Carry out the request; if the provider breaks off its response, ours is not ended either."""
        self._me = me = asyncio.current_task()
        assert me is not None
        self._shared.figures.streams += 1
        try:
            body, has_more = await self._incoming.first()
            if not has_more:
                self._all_in()
            await self._carry(body, self._incoming.rest(body, self._all_in) if has_more else None)
        except ClientGone:
            self._progress.end = "client-gone"
        except TooLate:
            await self._turn_away(408, "late-body", "the request's body did not come in time; send it again")
        except NoRoom:
            await self._turn_away(503, "no-room", "too many large requests come in at once; try again")
        except asyncio.CancelledError:
            if not self._incoming.is_gone:
                raise
            me.uncancel()
            self._progress.end = "client-gone"
            self._take_in()
        finally:
            self._asgi.connection.forget()
            self._incoming.close()
            self._shared.figures.streams -= 1
            self._progress.report(self._shared.figures, self._route, self._incoming.count, self._asgi.member)
            if self._shared.meter is not None and self._asgi.member is not None:
                self._shared.meter.ended(self._asgi.member, self._progress.status)

    def _coming(self) -> Incoming:
        """Return the reader of the body, with the size limit of a managed or of an unmanaged request."""
        config = self._shared.config
        most = config.most_body_bytes if self._route.wire else _KEPT_BYTES
        return Incoming(self._asgi.receive, self._shared.room, most, config.body_deadline_s)

    def _all_in(self) -> None:
        """Watch the client from now on: its body is complete."""
        self._asgi.connection.tell(self._left)

    def _left(self) -> None:
        """Cancel the request, because its client has left."""
        self._incoming.is_gone = True
        if not self._is_over and self._me is not None:
            self._me.cancel()

    async def _carry(self, body: bytes, rest: AsyncIterator[bytes] | None) -> None:
        if self._route.wire:
            self._parts = None if self._asgi.member is None else []  # what a member uses counts, managed or not
            if rest is not None:
                self._progress.bypass = "too-large"
            elif is_signed(self._given, self._asgi.query):
                self._progress.bypass = "signed"
            else:
                declined = await self._manage(body)
                if declined is not None:
                    await self._own(declined.status, json.dumps(declined.body).encode("ascii"))
                    return
        try:
            await self._ask(body, rest)
        except self._shared.pool.failures as error:
            if self._incoming.is_gone:
                self._progress.end = "client-gone"
            elif self._progress.status:  # the client sees that the answer ends where the provider's ended
                self._progress.end = "cut"
            elif self._incoming.is_late:
                raise TooLate from error
            elif isinstance(error, OSError) and error.errno in _NO_DESCRIPTOR:
                self._progress.end = "no-descriptor"
                message = "no file descriptor is left; try again, or raise `ulimit -n`"
                await self._own(503, failure(self._route.provider, 503, message), COME_BACK)
            else:
                self._progress.end = "unreachable"
                host = self._shared.config.upstreams[self._route.provider].host
                message = f"the provider, {host}, could not be reached, or gave no answer ({type(error).__name__})"
                await self._own(502, failure(self._route.provider, 502, message))

    async def _ask(self, body: bytes, rest: AsyncIterator[bytes] | None) -> None:
        """Send the request to the provider; if it refuses the prompt as too long, send a smaller one."""
        while True:
            managed = self._progress.managed
            is_edited = managed is not None and managed.body is not self._plain
            pairs = headers.upstream(
                self._route.provider,
                self._asgi.pairs,
                is_read=managed is not None or (self._parts is not None and self._progress.bypass != "signed"),
                added=managed.headers if managed else None,
            )
            if rest is not None and "content-length" in self._given:
                pairs.append(("content-length", self._given["content-length"]))
            data = rest if rest is not None else self._packed if is_edited else body
            asgi, route = self._asgi, self._route
            async with self._shared.pool.request(
                route.provider, asgi.method, route.path, asgi.query, pairs, data
            ) as response:
                try:
                    held, is_whole = b"", False
                    if managed is not None and not self._progress.is_retried and response.status in REFUSAL_STATUSES:
                        held, is_whole = await _held(response)
                        if is_whole and await self._is_smaller(response, held):
                            continue
                    await self._relay(response, held)
                    return
                except BaseException:
                    response.close()
                    raise

    async def _is_smaller(self, response: Any, held: bytes) -> bool:
        """Return whether the provider refused the length, and there is a shorter prompt to send."""
        said = plain(held, response.headers.get("content-encoding", ""), _REFUSAL_BYTES)
        refusal = too_long(response.status, said) if said is not None else None
        if refusal is None or self._progress.managed is None:
            return False
        self._progress.is_retried = True
        ask = self._asked(self._plain)
        smaller = await self._work("again", self._shared.sessions.again, ask, self._progress.managed, refusal)
        return isinstance(smaller, ManagedBody) and await self._take(smaller)

    async def _manage(self, body: bytes) -> Declined | None:
        """Prepare the body to send."""
        began_s = time.perf_counter()
        self._plain = body
        if self._packing:
            most = self._shared.config.most_body_bytes
            found = await self._work("decode", lambda ask: decoded(ask.body, self._packing, most), self._asked(body))
            if found is None:
                return None
            self._plain = found
        found = await self._work("prepare", self._shared.sessions.prepare, self._asked(self._plain))
        self._progress.plan_s = time.perf_counter() - began_s
        self._shared.figures.planned(self._progress.plan_s)
        if isinstance(found, Declined):
            return found
        if isinstance(found, ManagedBody) and await self._take(found):
            self._parts = []
            self._progress.bypass = found.bypass
            labels = f'wire="{self._route.wire}"'
            self._shared.figures.add("tokens_before_total", labels, found.tokens_before)
            self._shared.figures.add("tokens_after_total", labels, found.tokens_after)
        return None

    async def _take(self, managed: ManagedBody) -> bool:
        """Use a managed body, if it was edited in the coding that the client uses; return False if that fails."""
        if self._route.provider == "bedrock" and (betas := managed.headers.get("anthropic-beta")):
            managed = replace(managed, body=beta_in_body(managed.body, betas), headers={})
        self._packed = managed.body
        if self._packing and managed.body is not self._plain:
            packed = await self._work("encode", lambda ask: encoded(ask.body, self._packing), self._asked(managed.body))
            if packed is None:
                return False
            self._packed = packed
        self._progress.managed = managed
        return True

    def _asked(self, body: bytes) -> Ask:
        session, task = self._given.get("x-undrift-session", ""), self._given.get("x-undrift-task", "")
        agent = self._given.get("user-agent", "")
        own_name, parent = family_of(agent, self._given)
        return Ask(
            self._route.wire,
            body,
            self._route.model,
            session[:_LONGEST_ID],
            task[:_LONGEST_ID],
            time.monotonic() + self._shared.config.deadline_s,
            agent,
            is_sub_agent(self._given),
            self._route.needs,
            own_name[:_LONGEST_ID],
            parent[:_LONGEST_ID],
            project=self._asgi.place,
        )

    async def _work(self, what: str, job: Callable[..., Any], ask: Ask, *more: Any) -> Any:
        """Let a worker do a job for this request. None means: it failed or took too long; the reason is noted."""
        try:
            return await self._shared.workers.do(job, ask, *more)
        except Declined as declined:
            return declined
        except Bypass as bypass:
            if bypass.is_fault:
                self._fault(ask, bypass.reason, "")
            self._progress.bypass = bypass.reason
        except InputError:  # the provider says what is wrong with it
            self._progress.bypass = "not-understood"
        except StoreError:
            self._fault(ask, "store", what)
        except Exception as error:  # noqa: BLE001 - the client's request continues after any fault
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._fault(ask, "fault", f"{what}: {type(error).__name__} at {place.name}:{place.lineno}")
        return None

    def _fault(self, ask: Ask, reason: str, where: str) -> None:
        self._progress.bypass = reason
        self._shared.sessions.fault(ask.session_id)
        _log.error(
            "%s", json.dumps({"event": "fault", "reason": reason, "session": safe_id(ask.session_id), "at": where})
        )

    async def _relay(self, response: Any, held: bytes) -> None:
        """Pass the response on, chunk by chunk; `held` is the part of the body that was already read."""
        self._progress.status = response.status
        self._progress.first_s = time.perf_counter() - self._progress.began_s
        self._coding = response.headers.get("content-encoding", "")
        pairs = [*headers.downstream(response.raw_headers), *self._own_headers()]
        send, content, connection = self._asgi.send, response.content, self._asgi.connection
        parts, most = self._parts if response.status == 200 else None, self._shared.config.most_answer_bytes
        self._parts = parts
        if response.status < 500:
            self._shared.last_success_s[self._route.provider] = time.monotonic()
        connection.hold()  # head and first bytes leave as one piece if both are here
        try:
            await send({"type": "http.response.start", "status": response.status, "headers": pairs})
            if first := held or content.read_nowait():
                await self._pass(first, None if held else parts, most)
            self._is_over = content.at_eof()
            if self._is_over:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            connection.flush()
        if not self._is_over:
            async for chunk in content.iter_any():
                await self._pass(chunk, parts, most)
            self._is_over = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._take_in()  # not before: the worker would hold the interpreter while the last bytes wait to be sent

    async def _pass(self, chunk: bytes, parts: list[bytes] | None, most: int) -> None:
        """Pass a part of the answer on, and keep it for the session."""
        self._progress.bytes_out += len(chunk)
        if parts is not None and self._progress.bytes_out <= most:
            parts.append(chunk)
        await self._asgi.send({"type": "http.response.body", "body": chunk, "more_body": True})

    def _take_in(self) -> None:
        """Let the session record the answer before the client's next request is read."""
        parts, self._parts = self._parts, None
        asgi, progress = self._asgi, self._progress
        if parts is None or (not parts and asgi.member is None):
            return
        is_all = progress.bytes_out <= self._shared.config.most_answer_bytes
        tokens, unmanaged_tokens = (n // _CHARACTERS_A_TOKEN for n in (progress.bytes_out, self._incoming.count))
        answer = RecordedAnswer(
            self._route, progress.managed, parts if is_all else [], self._coding, asgi.member, tokens
        )
        self._shared.workers.threads.submit(record_answer, self._shared, answer, unmanaged_tokens)

    def _own_headers(self) -> list[tuple[bytes, bytes]]:
        found: list[tuple[str, str]] = []
        if (managed := self._progress.managed) is not None:
            found = [
                ("x-undrift-session", safe_id(managed.session_id)),
                ("x-undrift-tokens-before", str(managed.tokens_before)),
                ("x-undrift-tokens-after", str(managed.tokens_after)),
            ]
        if self._progress.bypass:
            found.append(("x-undrift-bypass", self._progress.bypass))
        return [(name.encode("ascii"), value.encode("ascii", "replace")) for name, value in found]

    async def _own(self, status: int, body: bytes, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Send the gateway's own answer."""
        self._progress.status, self._is_over = status, True
        self._progress.bytes_out = len(body)
        await respond(self._asgi.send, status, body, more=[*self._own_headers(), *more])

    async def _turn_away(self, status: int, end: str, message: str) -> None:
        """Refuse a body that is still coming in, so that its client can read why."""
        self._progress.end, self._progress.status, self._is_over = end, status, True
        body = failure(self._route.provider, status, message)
        self._progress.bytes_out = len(body)
        self._incoming.close()
        await refuse_unread(self._asgi.receive, self._asgi.send, status, body, [*self._own_headers(), *COME_BACK])


async def _held(response: Any) -> tuple[bytes, bool]:
    """Read the first bytes of a refusal, and return whether they are all of it."""
    held = b""
    while len(held) <= _REFUSAL_BYTES:
        chunk = await response.content.readany()
        if not chunk:
            return held, True
        held += chunk
    return held, False
