"""The service manager: what is loaded already is replaced, and comes back if it cannot be."""

from pathlib import Path

import pytest

from tests.cli.test_replay import NEEDS_POSIX
from undrift.cli.service import Manager
from undrift.errors import SettingsError

pytestmark = NEEDS_POSIX

LAUNCHCTL = """#!/bin/sh
cd "${0%/*}"
case $1 in
bootout) rm -f loaded ;;
bootstrap) ! grep -q refused "$3" && [ ! -e loaded ] && : > loaded ;;
esac
"""
"""As the real one, it takes no second agent of a name."""
SYSTEMCTL = """#!/bin/sh
[ "$2" != enable ] || ! grep -q refused "${0%/*}"/files/*.service
"""


@pytest.mark.parametrize(
    ("name", "program", "text"), [("launchd", "launchctl", LAUNCHCTL), ("systemd", "systemctl", SYSTEMCTL)]
)
def test_a_service_is_replaced_and_comes_back_if_the_new_one_is_refused(
    name: str, program: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / program).write_text(text)
    (tmp_path / program).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    manager = Manager(name, tmp_path / "files")
    manager.install(["/old/python"], 8787)
    manager.install(["/new/python"], 8787)
    assert manager.is_installed(["/new/python"], 8787)
    with pytest.raises(SettingsError, match="nothing was changed"):
        manager.install(["/refused/python"], 8787)
    assert manager.is_installed(["/new/python"], 8787)
    assert (tmp_path / "loaded").exists() is (name == "launchd")
