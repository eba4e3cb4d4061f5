"""`undrift.wrap`: an SDK's client whose every prompt fits the budget."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from undrift.errors import InputError
from undrift.sdk.gemini import inner_client, is_managed_inner, manage_inner
from undrift.sdk.http import managed_client, plain_client
from undrift.sdk.prompts import Listeners, PromptManager
from undrift.sdk.sessions import FoundSessions, GivenSession, SessionFinder
from undrift.session.session import Session
from undrift.settings import Settings
from undrift.values.prepared import Prepared
from undrift.wire.form import ProviderReply

if TYPE_CHECKING:
    from undrift.session.async_session import AsyncSession

__all__ = ["wrap"]

C = TypeVar("C")

_MARK = "_undrift_is_managed"  # of the client itself: a copy by `with_options` has none, and can be managed on its own


def wrap(
    client: C,
    *,
    session: "Session | AsyncSession | str | None" = None,
    settings: Settings | None = None,
    home: str | os.PathLike[str] | None = None,
    on_prepared: Callable[[Prepared], object] | None = None,
    on_recorded: Callable[[ProviderReply], object] | None = None,
) -> C:
    """Manage an SDK's client in place, and return it: its prompts fit the budget, its answers are recorded.

    Everything else of the client stays as it is: its type, errors, streams, retries and copies. If undrift fails, the
    original request is sent, a warning is logged, and the response has the header ``x-undrift-bypass``. Other responses
    have ``x-undrift-session``, ``x-undrift-tokens-before`` and ``x-undrift-tokens-after``.

    >>> from anthropic import Anthropic
    >>> client = wrap(Anthropic(), home=home, settings=Settings(budget_tokens=60_000))
    >>> messages = [{"role": "user", "content": "Say hello."}]
    >>> reply = client.messages.create(model="claude-opus-4-5", max_tokens=99, messages=messages)
    >>> reply.content[0].text, type(client).__name__
    ('Hello!', 'Anthropic')
    >>> client.close()

    Args:
        client: ``Anthropic``, ``AsyncAnthropic``, ``OpenAI``, ``AsyncOpenAI`` or ``genai.Client``, subclasses too. It
            is changed in place, one time. For several sessions wrap a client each, such as ``client.with_options()``.
        session: A session, or the id of one, for all requests. None: each conversation has its own, known by its content.
            A request may name its session itself: ``extra_headers={"x-undrift-session": ID}``.
        settings: Default: from the environment. A given session has its own.
        home: See `Session.open`. A given session has its own.
        on_prepared: Called with each prompt before it is sent, such as to print what left; `body` is its JSON as bytes.
            Its errors are logged. An asynchronous client calls it in a thread of its own.
        on_recorded: Called with each answer, read: its usage, its calls, and the results for calls of the task tool.

    Raises:
        InputError: It is no such client, it is managed already, or `settings` or `home` is given beside an open session.
        SettingsError: A setting is wrong.
        StoreError: The store cannot be opened; the message says why and what to do.
    """
    inner = inner_client(client)
    http = _http_of(client) if inner is None else None
    if _MARK in vars(client) or is_managed_inner(inner):
        raise InputError(
            "this client is managed already. For another session wrap a client of its own, such as client.with_options(), "
            'or name the session in a request: extra_headers={"x-undrift-session": ID}'
        )
    manager = PromptManager(_finder(session, settings, home), Listeners(on_prepared, on_recorded))
    if inner is not None:
        manage_inner(inner, manager)
        return client
    vars(client).update({"_client": managed_client(plain_client(http), manager), _MARK: True})
    return client


def _http_of(client: Any) -> Any:
    http = getattr(client, "_client", None)
    if not callable(getattr(http, "send", None)) or not callable(getattr(http, "build_request", None)):
        raise InputError(
            f"wrap takes a client of the anthropic, openai or google-genai package, not {type(client).__name__}"
        )
    return http


def _finder(session: Any, settings: Settings | None, home: str | os.PathLike[str] | None) -> SessionFinder:
    if session is not None and not isinstance(session, str):
        given = session if isinstance(session, Session) else getattr(session, "session", None)
        if not isinstance(given, Session):
            raise InputError(f"session must be a Session, an AsyncSession or an id, not {type(session).__name__}")
        if settings is not None or home is not None:
            raise InputError("a Session has its own settings and home; give either the Session or these")
        return GivenSession(given)
    chosen = settings if settings is not None else Settings.from_environment()
    if session is not None and not session:
        raise InputError("a session id must be a non-empty string, not ''")
    return FoundSessions(home, chosen, session)
