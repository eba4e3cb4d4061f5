"""The log of a gateway that runs in the foreground, and the addresses that only this machine can reach."""

import logging

from undrift.cli.show import safe

__all__ = ["JsonLine", "LOOPBACK", "log_to"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class JsonLine(logging.Formatter):
    """Escapes what a terminal would not show, so that no name in a message steers it or begins a line of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the standard library
        return safe(super().formatMessage(record))


def log_to(handler: logging.Handler, formatter: logging.Formatter | None = None) -> None:
    """Send the gateway's log to a handler alone, a line for each message; its JSON as it is if no formatter is given."""
    log = logging.getLogger("undrift.proxy")
    handler.setFormatter(formatter or JsonLine("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
