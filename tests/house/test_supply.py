"""What SECURITY.md says about the packages is what was looked at, and a list of parts that differs from the lock is refused."""

import json
from pathlib import Path

import pytest

from requirements import audit
from tests.house import built_parts

ROOT = Path(__file__).parents[2]
LOCK = 'click==8.5.1 \\\n    --hash=sha256:00\ntomli==2.0 ; python_version < "3.0" \\\n    --hash=sha256:00\n'


def parts(**versions: str) -> dict:
    return {"components": [{"name": name, "version": version} for name, version in versions.items()]}


def test_the_page_says_what_the_last_audit_found():
    found = json.loads((ROOT / "docs" / "audit.json").read_text(encoding="utf-8"))
    said = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())
    looked = f"{found['packages']} packages, {found['not_looked_at']} not looked at"
    assert f"**{found['result']}** ({found['date']}: {looked}; {found['database']})" in said


@pytest.mark.parametrize(
    ("packages", "result"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], "clean"),
        ([{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "not found"}], "not run"),
        ([], "not run"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}], "found"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}, {"name": "b", "skip_reason": "?"}], "found"),
    ],
)
def test_a_package_that_was_not_looked_at_is_never_clean(packages: list[dict], result: str):
    assert audit.result_of({"base.txt": packages})["result"] == result


def test_a_list_of_parts_is_compared_with_the_lock():
    assert built_parts.problems(parts(undrift="1", click="8.5.1"), LOCK) == []
    assert built_parts.problems({"components": [{"name": "A.b_C", "version": "1"}]}, "a-b-c==1 \\\n") == []
    assert len(built_parts.problems(parts(click="8.5.2"), LOCK)) == 1
    assert len(built_parts.problems(parts(click="8.5.1", left_pad="1"), LOCK)) == 1
    assert len(built_parts.problems(parts(), LOCK)) == 1
