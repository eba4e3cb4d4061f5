"""docs/http.md: ``python -m tests.reference.http`` writes it from the routes of the gateway and the views of the living page.

Law: each row is what the code answers: a path is asked of `route_of`, a view's words are its docstring.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.reference.prose import prose
from undrift.proxy.routes import route_of
from undrift.web.actions import ACTIONS
from undrift.web.app import PATH
from undrift.web.views import VIEWS

__all__ = ["OWN_ROUTES", "PAGE", "PROVIDER_PATHS", "written"]

PAGE = Path(__file__).parents[2] / "docs" / "http.md"

PROVIDER_PATHS = (
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1beta/models/MODEL:generateContent",
    "/v1beta/models/MODEL:streamGenerateContent",
    "/v1/projects/P/locations/L/publishers/anthropic/models/MODEL:rawPredict",
    "/model/MODEL/invoke",
    "/model/MODEL/converse",
    "/backend-api/codex/responses",
)
"""Paths of requests, each with POST and no header that names a provider."""

OWN_ROUTES = {
    "/undrift/health": ("", "whether the store can be written and read, and when each provider last answered"),
    "/undrift/metrics": ("token", "counters and gauges for Prometheus, as text"),
    "/undrift/sessions": ("token", "the open sessions with their names and tokens"),
    "/undrift/window/ID": (
        "token",
        "the newest window of the session that the client calls ID; 404: it has sent no request",
    ),
    "/undrift/": ("token", "leads a browser to the living page (307)"),
}
"""Path -> what it wants beside proof of the owner, and what it answers to GET."""

_INTRODUCTION = """\
# HTTP: the gateway and the living page
`python -m tests.reference.http` makes this page from the code, and tests ask each route. [gateway.md](gateway.md) and [web.md](web.md) are
the guides. Both servers listen on 127.0.0.1. `TOKEN` is the content of `http-token` in the home. A fault is JSON with one sentence.

## The gateway's own routes
`undrift proxy` and `undrift wrap` serve them. Each request has to [prove its owner](gateway.md#your-requests); the others get 401. Those with
*token* want the token in a header, `Authorization: Bearer TOKEN` or `x-undrift-token: TOKEN`.

| `GET` | wants | answers |
| --- | --- | --- |
"""

_PROVIDERS = """
## Requests for a provider
The path names the provider, or a header that only its clients send. If nothing names it, the answer is 404. `/via/PROVIDER` in front of any path
names it, and `/TOKEN` in front of that proves the owner. *Managed* requests are kept within the budget; the others pass unchanged.
[Headers](gateway.md#headers) say what was done with a request.

| `POST` | provider | managed, as the wire |
| --- | --- | --- |
"""

_VIEWS = f"""
## The living page's data
`undrift web` serves the page below `/TOKEN{PATH}/`. Its data are JSON below `/TOKEN{PATH}/api/`. A view only reads. `key`, `session_id`, `place`
and `ref` are as another view returns them. These routes may change with the page; [the Python API](api.md) is the one to build on.

| `GET …/api/` | answers | wants |
| --- | --- | --- |
"""

_LIVE = "\n`GET …/api/live` is a stream of events (`text/event-stream`): `now` holds what the view `now` answers, whenever it changes.\n"

_ACTIONS = """
An action is a `POST` with a JSON object as `application/json`, at most 64 kB. No form of another page can send it.

| `POST …/api/` | does | wants |
| --- | --- | --- |
"""


def written() -> str:
    """Return the page as the code is now."""
    own = [f"| `{path}` | {wants or '-'} | {answers} |" for path, (wants, answers) in OWN_ROUTES.items()]
    asked = [(path, route_of("POST", path, "", {})) for path in PROVIDER_PATHS]
    routes = [f"| `{path}` | {route.provider} | {route.wire or 'no'} |" for path, route in asked if route is not None]
    assert len(routes) == len(PROVIDER_PATHS)
    rows = [*_rows(VIEWS, "query")]
    acts = [*_rows(ACTIONS, "given")]
    parts = [
        _INTRODUCTION,
        *_lines(own),
        _PROVIDERS,
        *_lines(routes),
        _VIEWS,
        *_lines(rows),
        _LIVE,
        _ACTIONS,
        *_lines(acts),
    ]
    return "".join(parts)


def _lines(rows: list[str]) -> list[str]:
    return [f"{row}\n" for row in rows]


def _rows(table: Mapping[str, Callable[..., dict[str, Any]]], given: str) -> list[str]:
    """Return a row for each entry: its name, the first sentence of its docstring, and what it wants."""
    rows = []
    for name, act in table.items():
        text = " ".join(prose(inspect.getdoc(act) or "").split())
        said, _, rest = text.partition(f"`{given}`: ")
        wants, _, more = rest.partition(". ")
        if more.startswith("`"):
            wants, more = f"{wants}. {more}", ""
        said = " ".join(part for part in (said.strip(), more.strip()) if part)
        said = re.sub(r"^Return ", "", said)
        said = f"{said[0].lower()}{said[1:]}".rstrip(".")
        rows.append(f"| `{name}` | {said} | {wants.rstrip('.') or '-'} |")
    return rows


def main() -> None:
    """Write the page."""
    PAGE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
