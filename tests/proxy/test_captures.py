"""A true request of each client, as it was recorded: it finds its provider, is managed, and crosses byte for byte."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from tests.proxy.builders import ask, gateway
from undrift.proxy.routes import route_of
from undrift.testing import RawUpstream, Send, response

OWN = {"host", "connection", "content-length"}


def test_each_clients_own_request_is_managed_and_unchanged(shared: Path, tmp_path):
    captures = {path.stem: json.loads(path.read_text()) for path in sorted((shared / "captures").glob("*.json"))}
    assert len(captures) > 20
    with RawUpstream(lambda _: [Send(response(b'{"id": "m"}'))]) as upstream, gateway(tmp_path, upstream.url) as server:
        for name, capture in captures.items():
            headers = {k.lower(): v for k, v in capture["headers"].items() if k.lower() not in OWN and v.isascii()}
            parts = urlsplit(capture["path"])
            route = route_of("POST", parts.path, parts.query, headers)
            assert route is not None, name
            assert route.wire, name
            sent = json.dumps(capture["body"], ensure_ascii=False).encode()
            heard = ask(server.url, capture["path"], sent, headers=headers)
            if "thread" in capture["body"]:
                assert heard.status == 400, name
                continue
            assert (heard.status, heard.headers.get("x-undrift-bypass")) == (200, None), name
            seen = upstream.requests[-1]
            assert (seen.body, seen.target) == (sent, capture["path"]), name
            missing = {k for k in headers if k not in seen.header}
            assert not missing, f"{name}: {missing}"
