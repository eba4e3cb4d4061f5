"""The memory of one open session, estimated."""

from collections import OrderedDict

__all__ = ["Footprint"]

# An open session's memory. The process used 0.7 to 1.2 of this estimate, for histories of 2 to 2,000 messages and 1 kB to
# 4 MB; `python -m bench.gateway memory` checks the sum.
_SESSION_BYTES = 24 << 10
_BYTES_PER_ITEM = 3 << 10
_TIMES_BODY = 3.2
_TIMES_BODY_WITHOUT_ID = 1.5  # more, if the session is known by its history alone
_CONVERSATIONS = 8  # that a session keeps in memory, see `undrift.session.prepare`


class Footprint:
    """The memory of one open session, estimated from the newest body of each of its histories."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, int] = OrderedDict()
        self.bytes = _SESSION_BYTES
        self.largest_body = 0
        """The bytes of the largest body so far."""

    def add(self, beginning: bytes, body_bytes: int, item_count: int, *, has_id: bool) -> int:
        """Note a request, whose history begins so; return by how many bytes the session grew."""
        before, key = self.bytes, hash(beginning)
        self.largest_body = max(self.largest_body, body_bytes)
        times = _TIMES_BODY if has_id else _TIMES_BODY + _TIMES_BODY_WITHOUT_ID
        self._sizes[key] = int(times * body_bytes) + _BYTES_PER_ITEM * item_count
        self._sizes.move_to_end(key)
        while len(self._sizes) > _CONVERSATIONS:
            self._sizes.popitem(last=False)
        self.bytes = _SESSION_BYTES + sum(self._sizes.values())
        return self.bytes - before
