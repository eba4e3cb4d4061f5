"""docs/http.md is what the code says, and each route answers as its row says."""

import re
from pathlib import Path

import pytest

from tests.proxy.builders import ask, gateway
from tests.reference.http import OWN_ROUTES, PAGE, PROVIDER_PATHS, written
from undrift.proxy.routes import _MANAGED, OWN, route_of
from undrift.stores.secret import TOKEN_NAME
from undrift.values.provider import PROVIDERS

SOURCE = (Path(__file__).parents[2] / "src" / "undrift" / "proxy" / "app.py").read_text(encoding="utf-8")


def test_the_page_is_what_the_code_says() -> None:
    assert written() == PAGE.read_text(encoding="utf-8"), "docs/http.md must follow: python -m tests.reference.http"


def test_every_provider_and_every_managed_path_has_a_row() -> None:
    found = [route_of("POST", path, "", {}) for path in PROVIDER_PATHS]
    assert {route.provider for route in found if route} == set(PROVIDERS)
    assert {f"/v1{path}" for path in _MANAGED} <= set(PROVIDER_PATHS)


def test_every_own_route_of_the_gateway_has_a_row() -> None:
    named = {f"{OWN}{path}" for path in re.findall(r'f"\{OWN\}(/[a-z]+)"', SOURCE)}
    assert named == {path for path in OWN_ROUTES if path.count("/") == 2 and not path.endswith("/")}


@pytest.mark.parametrize("path", OWN_ROUTES)
def test_a_route_wants_what_its_row_says(path: str, tmp_path: Path) -> None:
    wants, _ = OWN_ROUTES[path]
    asked = path.replace("/ID", "/no-such-session")
    with gateway(tmp_path, "http://127.0.0.1:9") as server:
        token = {"x-undrift-token": (tmp_path / TOKEN_NAME).read_text(encoding="ascii").strip()}
        foreign = ask(server.url, asked, method="GET", headers={"origin": "http://example.org"})
        bare = ask(server.url, asked, method="GET")
        shown = ask(server.url, asked, method="GET", headers=token)
    assert foreign.status == 401
    assert bare.status == (401 if wants else 200)
    assert shown.status == {"/undrift/window/ID": 404, "/undrift/": 307}.get(path, 200)
