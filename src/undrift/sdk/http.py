"""An SDK's HTTP client whose `send` is managed; it shares settings, state and connections with the given one.

Why here: all ways of an SDK (streams, tool runners, raw responses, retries, copies by `with_options`) send through this one
method of httpx, so all of them are managed, and each stays what it is.

Law: httpx and httpx2 are never imported; their classes are taken from the objects at hand. The given client is not changed.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from undrift.sdk.answer_parts import AnswerParts, too_long
from undrift.sdk.off_loop import OffLoop
from undrift.sdk.prompts import HEADERS, SESSION_HEADER, ManagedPrompt, PromptManager, Read
from undrift.wire.request_headers import is_signed

__all__ = ["is_asynchronous", "managed_client", "plain_client"]

_PLAIN = "_undrift_plain"


def is_asynchronous(http: Any) -> bool:
    """Tell whether an HTTP client is one for asyncio."""
    return hasattr(http, "aclose")


def plain_client(http: Any) -> Any:
    """Return the client that was given before it was managed; the same one if it never was."""
    return getattr(http, _PLAIN, http)


def managed_client(http: Any, manager: PromptManager) -> Any:
    """Return a client of the same class as an httpx client that manages what it sends.

    It keeps the given client alive, which closes the connections of both when it is collected.
    """
    kind: Any = type(http)
    methods = (_asynchronous if is_asynchronous(http) else _synchronous)(kind, manager)
    own = {
        **methods,
        "__del__": lambda _: None,
        "__module__": kind.__module__,
        "__reduce_ex__": lambda self, _: (plain_client, (plain_client(self),)),
        "__slots__": (_PLAIN,),
    }
    managed: Any = object.__new__(type(kind.__name__, (kind,), own))
    managed.__dict__ = http.__dict__
    setattr(managed, _PLAIN, http)
    return managed


def _synchronous(kind: Any, manager: PromptManager) -> Mapping[str, Callable[..., Any]]:
    def send(self: Any, request: Any, **options: Any) -> Any:
        managed, request = _prepared(manager, request)
        if managed is not None and managed.declined is not None:
            return _declined(request, managed)
        response = kind.send(self, request, **options)
        if managed is not None and _has_answer(response, managed):
            if response.is_closed:
                manager.record(managed, lambda: _content(response))
            else:
                response.stream = _kept(response, lambda read: manager.record(managed, read))
        return response

    def close(self: Any) -> None:
        try:
            kind.close(self)
        finally:
            manager.close()

    return {"send": send, "close": close}


def _asynchronous(kind: Any, manager: PromptManager) -> Mapping[str, Callable[..., Any]]:
    off_loop = OffLoop()
    run = off_loop.run

    async def send(self: Any, request: Any, **options: Any) -> Any:
        managed = None
        if manager.call_of(request) is not None:
            managed, request = await run(_prepared, manager, request)
        else:
            request = _unnamed(request)
        if managed is not None and managed.declined is not None:
            return _declined(request, managed)
        response = await kind.send(self, request, **options)
        if managed is not None and _has_answer(response, managed):
            if response.is_closed:
                await run(manager.record, managed, lambda: _content(response))
            else:
                response.stream = _kept_async(response, lambda read: run(manager.record, managed, read))
        return response

    async def aclose(self: Any) -> None:
        try:
            await kind.aclose(self)
        finally:
            await run(manager.close)
            off_loop.close()

    return {"send": send, "aclose": aclose}


def _prepared(manager: PromptManager, request: Any) -> tuple[ManagedPrompt | None, Any]:
    """Return what becomes of a request, and the request to send; None if it is not managed."""
    call = manager.call_of(request)
    if call is None:
        return None, _unnamed(request)
    headers = request.headers.copy()
    managed = manager.prepare(call, lambda: _content(request), headers)
    if managed.body is None and headers == request.headers:
        return managed, request
    if managed.body is None:
        return managed, _with_headers(request, headers)
    for name in ("content-length", "transfer-encoding"):
        headers.pop(name, None)
    kind, url, extensions = type(request), request.url, request.extensions
    return managed, kind(request.method, url, headers=headers, content=managed.body, extensions=extensions)


def _unnamed(request: Any) -> Any:
    """Return a request that is not managed, without the name of a session, which is no provider's business."""
    if SESSION_HEADER not in request.headers or is_signed(request.headers):
        return request
    headers = request.headers.copy()
    del headers[SESSION_HEADER]
    return _with_headers(request, headers)


def _with_headers(request: Any, headers: Any) -> Any:
    """Return a request with other headers and the same body, which may be one that can be read only once."""
    kind, url, extensions = type(request), request.url, request.extensions
    try:
        body = {"content": _content(request)}
    except Exception:  # noqa: BLE001 - it was not read yet; httpx and httpx2 have each an error of their own
        body = {"stream": request.stream}
    return kind(request.method, url, headers=headers, extensions=extensions, **body)


def _declined(request: Any, managed: ManagedPrompt) -> Any:
    """Return a response that declines a request in the provider's words."""
    assert managed.declined is not None
    kind = sys.modules[type(request).__module__.partition(".")[0]].Response
    declined = managed.declined
    return kind(declined.status, headers=managed.headers(), json=dict(declined.body), request=request)


def _has_answer(response: Any, managed: ManagedPrompt) -> bool:
    """Name what was done in the response's headers, and tell whether it has an answer to record."""
    for name in [name for name in response.headers if name in HEADERS]:  # of a provider that says them in our name
        del response.headers[name]
    response.headers.update(managed.headers())
    return bool(response.status_code == 200 and managed.prepared is not None)


def _content(message: Any) -> bytes:
    """Return the body of a request or a response."""
    body: bytes = message.content
    return body


def _decoded(response: Any, parts: AnswerParts) -> bytes:
    """Return a body without its content coding. Raises InputError: it is too long; a small one may decode to any size."""
    found = AnswerParts()
    for part in type(response)(200, headers=response.headers, content=iter(parts.all())).iter_bytes():
        found.add(part)
        if found.is_too_long:
            raise too_long()
    return b"".join(found.all())


def _class_of(stream: Any, name: str) -> Any:
    """Return the class of httpx that all streams of this kind have in common."""
    return next(one for one in type(stream).__mro__ if one.__name__ == name)


def _kept(response: Any, record: Callable[[Read], object]) -> Any:
    """Return the response's stream, which passes each part on, and records all of them at its end."""
    inner = response.stream

    class Kept(_class_of(inner, "SyncByteStream")):  # type: ignore[misc]
        def __init__(self) -> None:
            self._parts = AnswerParts()

        def __iter__(self) -> Iterator[bytes]:
            for part in inner:
                self._parts.add(part)
                yield part
            self._end()

        def close(self) -> None:
            inner.close()
            self._end()

        def _end(self) -> None:
            parts, self._parts = self._parts, AnswerParts()
            if parts:
                record(lambda: _decoded(response, parts))

    return Kept()


def _kept_async(response: Any, record: Callable[[Read], Awaitable[object]]) -> Any:
    """The same for asyncio."""
    inner = response.stream

    class Kept(_class_of(inner, "AsyncByteStream")):  # type: ignore[misc]
        def __init__(self) -> None:
            self._parts = AnswerParts()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in inner:
                self._parts.add(part)
                yield part
            await self._end()

        async def aclose(self) -> None:
            await inner.aclose()
            await self._end()

        async def _end(self) -> None:
            parts, self._parts = self._parts, AnswerParts()
            if parts:
                await record(lambda: _decoded(response, parts))

    return Kept()
