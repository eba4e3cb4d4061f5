"""A client of google-genai whose prompts are managed, at the one place that all its transports share.

Why here: httpx, httpx2, aiohttp, requests and Google's authorised sessions all stand behind one method of the SDK's inner
client, and behind another one for asyncio. Every version since 1.0 has both, above its retries.

Law: google-genai is never imported; its classes are taken from the objects at hand.
"""

import copy
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

from undrift.errors import InputError
from undrift.sdk.answer_parts import AnswerParts
from undrift.sdk.calls import SdkCall, call_of
from undrift.sdk.off_loop import OffLoop
from undrift.sdk.prompts import HEADERS, SESSION_HEADER, ManagedPrompt, PromptManager
from undrift.wire import raw

__all__ = ["inner_client", "is_managed_inner", "manage_inner"]

_log = logging.getLogger("undrift.sdk")

_MANAGER = "_undrift_manager"


def inner_client(client: Any) -> Any:
    """Return the part of a `genai.Client`, or of its ``aio``, that sends requests. None means: it is another client.

    Raises InputError: it is of a version that works otherwise.
    """
    inner = getattr(client, "_api_client", None)
    if inner is None or all(callable(getattr(inner, name, None)) for name in ("_request", "_async_request")):
        return inner
    raise InputError(f"wrap takes google-genai 1.0 to 3.4, and {_installed()} works otherwise; install one of those")


def is_managed_inner(inner: Any) -> bool:
    """Tell whether a client's inner part is managed already."""
    return hasattr(inner, _MANAGER)


def manage_inner(inner: Any, manager: PromptManager) -> None:
    """Manage the requests of a client in place."""
    setattr(inner, _MANAGER, manager)
    inner._undrift_off_loop = OffLoop()
    plain: Any = type(inner)
    inner.__class__ = _managed_class(plain)


def _installed() -> str:
    try:
        return version("google-genai")
    except PackageNotFoundError:
        return "this version"


@cache
def _managed_class(plain: Any) -> Any:
    """Return the class of an inner client with managed requests.

    A class, because methods kept in the client would refer to it, and it would live on when its program has left it.
    """

    class ManagedClient(plain):  # type: ignore[misc]
        def _request(self, http_request: Any, *more: Any, **options: Any) -> Any:
            managed, http_request = _prepared(self._undrift_manager, http_request)
            response = super()._request(http_request, *more, **options)
            if managed is not None and _has_answer(response, managed, self):
                self._undrift_manager.record(managed, lambda: _joined(response.response_stream))
            return response

        async def _async_request(self, http_request: Any, *more: Any, **options: Any) -> Any:
            run, managed = self._undrift_off_loop.run, None
            if _call_of(http_request) is not None:
                managed, http_request = await run(_prepared, self._undrift_manager, http_request)
            else:
                http_request = _unnamed(http_request)
            response = await super()._async_request(http_request, *more, **options)
            if managed is not None and _has_answer(response, managed, self):
                await run(self._undrift_manager.record, managed, lambda: _joined(response.response_stream))
            return response

        def __reduce_ex__(self, protocol: Any) -> Any:
            return object.__new__, (plain,), vars(self)  # pickled as before: not at all, with the same words

        if hasattr(plain, "close"):

            def close(self) -> None:
                try:
                    super().close()
                finally:
                    self._undrift_manager.close()

        if hasattr(plain, "aclose"):

            async def aclose(self) -> None:
                try:
                    await super().aclose()
                finally:
                    await self._undrift_off_loop.run(self._undrift_manager.close)
                    self._undrift_off_loop.close()

    return _named_like(plain, ManagedClient)


@cache
def _kept_class(plain: Any) -> Any:
    """Return the class of a stream that records its chunks at the end, or when the caller leaves."""

    class KeptResponse(plain):  # type: ignore[misc]
        def segments(self) -> Iterator[Any]:
            parts = AnswerParts()
            try:
                for part in super().segments():
                    parts.add(part)
                    yield part
            finally:
                manager, _, managed = self._undrift_kept
                manager.record(managed, lambda: _joined(parts.all()))

        async def async_segments(self) -> AsyncIterator[Any]:
            parts = AnswerParts()
            try:
                async for part in super().async_segments():
                    parts.add(part)
                    yield part
            finally:
                manager, off_loop, managed = self._undrift_kept
                await off_loop.run(manager.record, managed, lambda: _joined(parts.all()))

    return _named_like(plain, KeptResponse)


def _named_like(plain: type, ours: type) -> type:
    """Give a class the name of the SDK's, which a program may print."""
    ours.__name__, ours.__qualname__, ours.__module__ = plain.__name__, plain.__qualname__, plain.__module__
    return ours


def _call_of(http_request: Any) -> SdkCall | None:
    if hasattr(http_request, _MANAGER):  # version 1.0 sends by the other method, in a thread
        return None
    with suppress(Exception):  # a request in which another version names things otherwise
        return call_of(http_request.method, urlsplit(http_request.url).path)
    return None


def _prepared(manager: PromptManager, http_request: Any) -> tuple[ManagedPrompt | None, Any]:
    """Return what becomes of a request, and the request to send; None if it is not managed."""
    call = _call_of(http_request)
    if call is None:
        return None, _unnamed(http_request)
    try:
        renewed = copy.copy(http_request)
        given = http_request.headers.items()
        renewed.headers = {SESSION_HEADER if name.lower() == SESSION_HEADER else name: value for name, value in given}
        setattr(renewed, _MANAGER, manager)
        managed = manager.prepare(call, lambda: raw.encode(http_request.data), renewed.headers)
        if managed.body is not None:
            renewed.data = raw.decode(managed.body)  # with credentials of Vertex AI the SDK takes no bytes
    except Exception as error:  # noqa: BLE001 - the request goes out after any fault
        _log.warning("the original request is sent unchanged: %s: %s", type(error).__name__, error)
        return None, http_request
    return managed, renewed


def _unnamed(http_request: Any) -> Any:
    """Return a request that is not managed, without the name of a session, which is no provider's business."""
    if hasattr(http_request, _MANAGER):
        return http_request
    with suppress(Exception):  # a request in which another version names things otherwise
        kept = {name: value for name, value in http_request.headers.items() if name.lower() != SESSION_HEADER}
        if len(kept) < len(http_request.headers):
            http_request = copy.copy(http_request)
            http_request.headers = kept
    return http_request


def _has_answer(response: Any, managed: ManagedPrompt, inner: Any) -> bool:
    """Name what was done in the response's headers, and tell whether it has a whole answer; a stream is kept as it comes."""
    try:
        kept = {name: value for name, value in response.headers.items() if name.lower() not in HEADERS}
        response.headers = {**kept, **managed.headers()}
        if managed.prepared is not None and not isinstance(response.response_stream, list):
            plain: Any = type(response)
            response.__class__ = _kept_class(plain)
            response._undrift_kept = inner._undrift_manager, inner._undrift_off_loop, managed
            return False
    except Exception as error:  # noqa: BLE001 - the caller has its answer
        _log.warning("an answer was not recorded: %s: %s", type(error).__name__, error)
        return False
    return managed.prepared is not None


def _joined(parts: list[Any]) -> bytes:
    """Return the chunks of an answer as one array, which is another form that Gemini answers in."""
    texts = (part.encode("utf-8", "surrogatepass") if isinstance(part, str) else raw.encode(part) for part in parts)
    return b"[" + b",".join(texts) + b"]"
