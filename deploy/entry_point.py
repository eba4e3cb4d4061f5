"""The entry point of the image of PostgreSQL, as far as compose.yaml needs it: a new cluster, its scripts, then the server.

``python entry_point.py BIN SCRIPTS postgres ...``: BIN has PostgreSQL's programs, SCRIPTS the files that an empty cluster
gets. PGDATA and POSTGRES_PASSWORD_FILE are the image's variables.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Make the cluster if there is none, and become the server."""
    programs, scripts, *command = arguments
    data = Path(os.environ["PGDATA"])
    if not (data / "PG_VERSION").exists():
        _make(Path(programs), data, sorted(Path(scripts).glob("*.sql")))
    # The folder of the socket is the image's own; a build from elsewhere may have another one.
    server = [
        str(Path(programs, command[0])),
        *command[1:],
        "-c",
        f"unix_socket_directories={_sockets()}",
        "-D",
        str(data),
    ]
    os.execv(server[0], server)  # noqa: S606


def _make(programs: Path, data: Path, scripts: Sequence[Path]) -> None:
    password = os.environ["POSTGRES_PASSWORD_FILE"]
    options: list[str | Path] = [
        "-D",
        data,
        "--username=postgres",
        f"--pwfile={password}",
        "--encoding=UTF8",
        "--locale=C",
    ]
    _run(programs, "initdb", *options, "--auth-local=trust", "--auth-host=scram-sha-256")
    with (data / "pg_hba.conf").open("a", encoding="utf-8") as rules:
        rules.write("host all all all scram-sha-256\n")
    _run(
        programs,
        "pg_ctl",
        "-D",
        data,
        "-w",
        "-o",
        f"-c listen_addresses= -c unix_socket_directories={_sockets()}",
        "start",
    )
    for script in scripts:
        _run(programs, "psql", "-X", "-q", "-h", _sockets(), "-U", "postgres", "-d", "postgres", "-f", script)
    _run(programs, "pg_ctl", "-D", data, "-w", "-m", "fast", "stop")


def _sockets() -> str:
    return os.environ.get("SOCKETS", "/var/run/postgresql")


def _run(programs: Path, name: str, *arguments: str | Path) -> None:
    subprocess.run([programs / name, *arguments], check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
