"""Claude in the clouds of Amazon and Google: what Bedrock and Vertex AI ask of a request, and Bedrock's frames. Pure.

Law: a request is judged as its cloud would, then passed on in the words of Anthropic's own interface.
"""

import base64
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from undrift.testing.simulators import Refused

__all__ = ["CloudRequest", "cloud_request", "framed"]

_BEDROCK = re.compile(r"/model/(?P<model>[^/]+)/invoke(?P<stream>-with-response-stream)?")
_VERTEX = re.compile(
    r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>[^/:]+):(?P<act>streamRawPredict|rawPredict)"
)
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}")  # the version of the API itself, which the SDK of today sends to both clouds
_NAME = re.compile(r"claude-[a-z0-9-]+")
_TEXT = 7  # the kind of a header of a frame


@dataclass(frozen=True, slots=True)
class CloudRequest:
    """A request as Anthropic would get it.

    `is_framed`: whether the answer's events come in Bedrock's frames.
    """

    model: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    is_streamed: bool
    is_framed: bool = False


def cloud_request(path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> CloudRequest | None:
    """Read a request to Claude in a cloud. None means: the path is of no cloud.

    Raises Refused: the cloud does not accept it.
    """
    if found := _BEDROCK.fullmatch(path):
        _permit(body, "bedrock-2023-05-31", ("model", "stream"), "extraneous key [{}] is not permitted")
        betas = body.get("anthropic_beta") or []
        if not isinstance(betas, list):
            raise _refused("anthropic_beta: expected a list")
        given = {**headers, "anthropic-beta": ",".join(map(str, betas))}
        return CloudRequest(_name(found["model"]), _plain(body), given, bool(found["stream"]), bool(found["stream"]))
    if (found := _VERTEX.fullmatch(path)) and found["model"] != "count-tokens":
        _permit(body, "vertex-2023-10-16", ("model", "anthropic_beta"), "{}: Extra inputs are not permitted")
        is_streamed = found["act"] == "streamRawPredict"
        if bool(body.get("stream")) != is_streamed:
            raise _refused(f"{found['act']} does not go with stream: {body.get('stream')}")
        return CloudRequest(_name(found["model"]), _plain(body), headers, is_streamed)
    return None


def _permit(body: Mapping[str, Any], version: str, forbidden: tuple[str, ...], words: str) -> None:
    for name in forbidden:
        if name in body:
            raise _refused(words.format(name))
    given = body.get("anthropic_version")
    if given != version and not (isinstance(given, str) and _DATED.fullmatch(given)):
        raise _refused(f"anthropic_version: expected {version}")


def _refused(text: str) -> Refused:
    return Refused(400, text, {"message": text})


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in body.items() if name not in ("anthropic_version", "anthropic_beta", "stream")
    }


def _name(model: str) -> str:
    found = _NAME.search(model)
    return found[0] if found else model


def framed(stream: bytes) -> bytes:
    """Put the events of a stream into the frames of Amazon's event stream, as Bedrock sends them."""
    events = (line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: "))
    return b"".join(_frame(event) for event in events)


def _frame(event: bytes) -> bytes:
    payload = json.dumps({"bytes": base64.b64encode(event).decode("ascii"), "p": "abcdefgh"}).encode("ascii")
    named = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(_header(name.encode("ascii"), value.encode("ascii")) for name, value in named.items())
    prelude = struct.pack(">II", 12 + len(headers) + len(payload) + 4, len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", _TEXT, len(value)) + value
