"""Puts a file back into the request if the client notes "unchanged" but the file's text was removed."""

from collections.abc import Callable

from undrift.window.request import Request
from undrift.wire import raw, read_cache
from undrift.wire.form import Form

__all__ = ["put_back"]


def put_back(form: Form, request: Request, sent: bytes, count: Callable[[str], int]) -> tuple[bytes, int, int]:
    """Return the body with files in place of such notes, the number of files, and their tokens."""
    if sent is request.body or not read_cache.may_have_note(request.body):
        return sent, 0, 0
    request.open()
    edited = Request(sent, form)
    edited.open()
    items = [edited.load(number) for number in range(len(edited.raws))]
    changes = read_cache.restored(form, [request.load(n) for n in range(len(request.raws))], items)
    if not changes:
        return sent, 0, 0
    encoded = {number: raw.encode(item) for number, item in changes.items()}
    more = sum(count(encoded[n].decode()) - count(edited.raws[n].decode()) for n in encoded)
    out = [encoded.get(number, given) for number, given in enumerate(edited.raws)]
    return edited.with_items(out, {}), len(changes), max(0, more)
