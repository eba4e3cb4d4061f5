"""The page's server: who may read it, what its answers allow a browser, and what it says when something fails."""

import gzip
from pathlib import Path

import pytest

from tests.web.builders import TOKEN, asked, recorded, source_of, turns
from undrift.web import views

NOW = "/undrift/api/now"


@pytest.mark.parametrize("path", ["/undrift/", NOW, "/undrift/api/live", "/undrift/app.js", "/", "/undrift/nothing"])
@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("", {}),
        ("b" * 64, {}),
        (TOKEN[:-1], {}),
        (TOKEN, {"host": "evil.example"}),
        (TOKEN, {"origin": "http://evil.example"}),
        (TOKEN, {"origin": "null"}),
        ("", {"x-undrift-token": TOKEN}),
        ("", {"cookie": f"token={TOKEN}"}),
    ],
)
def test_without_the_token_in_the_path_or_from_another_origin_there_is_nothing(
    tmp_path: Path, path: str, token: str, headers: dict[str, str]
):
    answer = asked(source_of(tmp_path), path, headers, token=token)
    assert answer.status == 401
    assert TOKEN.encode() not in answer.body
    assert answer.json == asked(source_of(tmp_path), "/", token="").json


def test_every_answer_keeps_a_browser_within_the_page(tmp_path: Path):
    for path in ("/undrift/", NOW, "/undrift/api/nothing", "/undrift/nothing"):
        headers = asked(source_of(tmp_path), path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer", "the address carries the token"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/undrift/../app.py", "/undrift/static/app.js", "/undrift/%2e%2e/app.py", "/undrift/api/../now"]
)
def test_nothing_but_the_pages_own_files_and_views_is_there(tmp_path: Path, path: str):
    assert asked(source_of(tmp_path), path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_page_only_reads(tmp_path: Path, method: str):
    assert asked(source_of(tmp_path), NOW, method=method).status == 404


def test_a_session_that_is_gone_is_an_answer_with_a_remedy(tmp_path: Path):
    answer = asked(source_of(tmp_path), "/undrift/api/session?key=gone")
    assert (answer.status, answer.json) == (
        400,
        {"error": "this session is not recorded here any more; go back to the list"},
    )


def test_a_fault_of_a_view_is_an_answer_and_says_nothing_of_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> dict[str, object]:
        raise RuntimeError("/home/someone/secret")

    monkeypatch.setitem(views.VIEWS, "now", broken)
    answer = asked(source_of(tmp_path), NOW)
    assert (answer.status, answer.json) == (500, {"error": "undrift failed here; its log says why"})


def test_a_stream_begins_with_what_is_live(tmp_path: Path):
    recorded(tmp_path, "s1", turns([9_000]))
    answer = asked(source_of(tmp_path), "/undrift/api/live", ends=False)
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.body.startswith(b'event: now\ndata: {"at_ms": ')
    assert b'"key": "s1"' in answer.body
    assert answer.body.isascii()


def test_the_whole_page_is_small_over_the_wire(tmp_path: Path):
    names = [one.name for one in (Path(views.__file__).parent / "static").iterdir()]
    source, sizes = source_of(tmp_path), []
    for name in names:
        answer = asked(source, f"/undrift/{name}", {"accept-encoding": "gzip, br"})
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(answer.body) == asked(source, f"/undrift/{name}").body
        sizes.append(len(answer.body))
    assert len(names) > 10
    assert sum(sizes) < 150_000
