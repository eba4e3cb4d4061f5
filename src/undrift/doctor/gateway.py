"""The gateways of a home: which run, whether they are well, what they let pass, and who can read their token.

Law: changes nothing. A gateway is asked on the address that its file names, on this machine alone, and the wait is short.
"""

import http.client
import json
import os
import re
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from undrift.doctor.finding import Finding, note, ok, wrong
from undrift.stores.gateways import Presence, known
from undrift.stores.secret import TOKEN_NAME
from undrift.values.running import is_running

__all__ = ["gateway"]

_TIMEOUT_S = 7.0  # more than a gateway gives its store
_UNAUTHORIZED = 401
_MOST_BYTES = 1 << 20
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999
_BYPASS = re.compile(r'^undrift_bypass_total\{reason="([a-z-]{1,40})"\} (\d{1,18})$', re.M)
_UNPROVEN = re.compile(r'^undrift_refused_total\{status="401"\} (\d{1,18})$', re.M)
_REQUESTS = re.compile(r"^undrift_requests_total\{[^}\n]*\} (\d{1,18})$", re.M)
_MEANING = {
    "busy": "an earlier request of the session took more than 5 seconds: is the machine under load, or the disk slow?",
    "content-encoding": "the client compresses its requests in a way that cannot be undone here, or a body is damaged; gzip and zstd can",
    "deadline": "managing took more than 5 seconds: is the machine under load, the disk slow, or the store held by another?",
    "fault": "a bug: the gateway's log names the place; report it",
    "not-understood": "the body has another shape than its form; the provider's answer says what is wrong with it",
    "overloaded": "too many large requests came at once, so that they had no turn within 60 seconds: is the machine under load?",
    "repeated-faults": "the session was left alone after three faults in a row; the other reasons say which",
    "signed": "Amazon's signature covers the body; with a Bedrock API key (AWS_BEARER_TOKEN_BEDROCK) they are managed",
    "store": "the store could not be opened, read or written: see what is found about the home and the store",
    "too-large": "a request was longer than 64 MB",
    "unhealthy": "the store could not be written and read after three faults in a row",
}


def gateway(home: Path) -> Iterator[Finding]:
    """Yield what is found about the gateways of a home; nothing if there never was one."""
    found = known(home)
    yield from _token(home, is_wanted=bool(found))
    for presence in found:
        yield from _one(home, presence)


def _token(home: Path, *, is_wanted: bool) -> Iterator[Finding]:
    path, here = home / TOKEN_NAME, str(home)
    try:
        status = path.lstat()
    except FileNotFoundError:
        if is_wanted:
            text = f"{path} is not there: a gateway knows your requests by your user alone, and only on Linux"
            yield wrong("token", text, "restart what serves the home: a new one is made", home=here)
        return
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        text = f"{path} leads to another place, or is no file"
        yield wrong("token", text, f"rm {shlex.quote(str(path))}, and restart what serves the home", home=here)
    elif mode & 0o077 and os.name != "nt":
        text = f"{path} can be read or written by others than you ({mode:04o}): they know the token"
        yield wrong("token", text, f"rm {shlex.quote(str(path))}, and restart what serves the home: a new one is made", home=here)  # fmt: skip
    else:
        yield ok("token", f"{path} is for its owner alone", home=here)


def _one(home: Path, presence: Presence) -> Iterator[Finding]:
    here, name = str(home), f"{presence.url}, process {presence.pid}"
    if is_running(presence.pid) is False:
        text = f"{name}: it has ended without saying so, as after a kill; the next one on that port takes its file away"
        yield note("gateway", text, home=here)
        return
    try:
        token = _token_of(home)
        status, answer = _asked(presence, "/undrift/health", token)
        health = json.loads(answer)
        if status == _UNAUTHORIZED:
            raise ValueError("it does not take the token of this home")
        if not isinstance(health, dict) or "store" not in health:
            raise ValueError("no gateway answers there")
    except (OSError, http.client.HTTPException, ValueError) as error:
        remedy = (
            f"end it and start it again; is it another program's process by now, remove gateway-{presence.port}.json"
        )
        yield wrong("gateway", f"{name}: it runs, and does not answer ({str(error)[:200]})", remedy, home=here)
        return
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(max(0, min(presence.started_at_ms, _LATEST_MS)) / 1000))
    lines = [f"{provider}: {url}" for provider, url in sorted(presence.upstreams.items())]
    requests, bypassed, unproven = _counted(presence, token)
    if status != 200 or health["store"] != "ok":
        remedy = (
            "see what is found about the home and the store; it manages again by itself once the store can be written"
        )
        text = f"{name}, since {since} (UTC): its store fails, so that requests pass unchanged"
        yield wrong("gateway", text, remedy, home=here, details=(*lines, *_reasons(bypassed)))
        return
    text = f"{name}, since {since} (UTC): it is well"
    if requests is not None:
        text += f"; {requests:,} requests, {sum(bypassed.values()):,} of them passed unchanged"
    else:
        lines.append("what it has let pass is not known: it does not take the token of this home")
    if left := health.get("sessions_bypassed"):
        lines.append(f"{left} sessions are left alone for now")
    if unproven:
        lines.append(
            f"{unproven:,} requests got 401: they had no token, and no process of yours sent them: see docs/gateway.md, Your requests"
        )
    if bypassed or unproven or requests is None:
        yield note("gateway", text, home=here, details=(*lines, *_reasons(bypassed)))
    else:
        yield Finding("gateway", "ok", text, home=here, details=tuple(lines))


def _token_of(home: Path) -> str:
    try:
        return (home / TOKEN_NAME).read_text(encoding="ascii").strip()
    except (OSError, ValueError):  # what is found about the token says so
        return ""


def _counted(presence: Presence, token: str) -> tuple[int | None, dict[str, int], int]:
    """Return the number of requests, how many were not managed, by reason, and how many got 401; None if it does not say."""
    try:
        status, answer = _asked(presence, "/undrift/metrics", token)
    except (OSError, http.client.HTTPException, ValueError):
        return None, {}, 0
    if status != 200:
        return None, {}, 0
    text = answer.decode("utf-8", "replace")
    bypassed = {reason: int(count) for reason, count in _BYPASS.findall(text)}
    return sum(map(int, _REQUESTS.findall(text))), bypassed, sum(map(int, _UNPROVEN.findall(text)))


def _reasons(bypassed: dict[str, int]) -> list[str]:
    return [
        f"{count:,} {reason}: {_MEANING.get(reason, 'see docs/gateway.md')}"
        for reason, count in sorted(bypassed.items())
    ]


def _asked(presence: Presence, path: str, token: str) -> tuple[int, bytes]:
    """Ask a gateway of this machine.

    Raises OSError: it does not answer. Raises ValueError: its address is none of this machine's.
    """
    host = urlsplit(presence.url).hostname or ""
    if host != "localhost" and not ip_address(host).is_loopback:
        host = "::1" if ":" in host else "127.0.0.1"  # it listens on more than this machine's own address
    with closing(http.client.HTTPConnection(host, presence.port, timeout=_TIMEOUT_S)) as connection:
        connection.request("GET", path, headers={"x-undrift-token": token} if token else {})
        response = connection.getresponse()
        return response.status, response.read(_MOST_BYTES)
