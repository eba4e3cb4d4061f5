"""Search the lock files for known faults and write the result to docs/audit.json: ``make audit``. It needs the network.

Law: a package that the database does not know, or cannot be asked about, counts as not looked at. Then the result is
"not run", never "clean".
"""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["main", "result_of"]

HERE = Path(__file__).parent
RESULT = HERE.parent / "docs" / "audit.json"
DATABASE = "Python Packaging Advisory Database, by pip-audit"


def result_of(answers: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the result over the packages of all lock files, as pip-audit lists them by file."""
    packages = {(one["name"], one.get("version", "")): one for many in answers.values() for one in many}
    left_out = sorted(name for (name, _), one in packages.items() if "skip_reason" in one)
    faults = sorted(
        f"{name} {version}: {fault['id']}, mended in {', '.join(fault.get('fix_versions', [])) or 'no release'}"
        for (name, version), one in packages.items()
        for fault in one.get("vulns", [])
    )
    result = "found" if faults else "not run" if left_out or not packages else "clean"
    return {"result": result, "packages": len(packages), "not_looked_at": len(left_out), "faults": faults}


def _asked(lock: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    done = subprocess.run(
        [*command, "--format=json", f"--requirement={lock}"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        return list(json.loads(done.stdout)["dependencies"])
    except (ValueError, KeyError):
        return [{"name": lock.name, "skip_reason": "pip-audit gave no answer"}]


def main() -> int:
    """Ask about every lock file, write the result down, and return the exit code: 1 if a fault is known."""
    answers = {lock.name: _asked(lock) for lock in sorted(HERE.glob("*.txt"))}
    found = result_of(answers)
    today = datetime.now(UTC).date().isoformat()
    RESULT.write_text(json.dumps({"date": today, "database": DATABASE, **found}, indent=2) + "\n", encoding="utf-8")
    print(
        f"{found['result']}: {found['packages']} packages, {found['not_looked_at']} not looked at",
        *found["faults"],
        sep="\n",
    )
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
