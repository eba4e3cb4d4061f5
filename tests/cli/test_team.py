"""`undrift team`: keys by the command line, as an administrator types them."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.stores.on_server import address_of, skip_without_server
from undrift.cli import main
from undrift.cli.show import again


def run(*words: str) -> str:
    done = CliRunner().invoke(main, ["team", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_key_is_shown_once_and_revoked_by_the_command_that_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    skip_without_server()
    monkeypatch.setenv("COLUMNS", "200")
    address = address_of(tmp_path)
    said = run("key", "ann@example.org", "--project", "shop", "--home", address)
    key, *_, command = said.splitlines()
    _, typed = command.split("undrift team ", 1)
    assert key not in run("keys", "--home", address)
    assert "Revoked 1 key" in run(*shlex.split(typed))
    assert "There are no keys yet" in run("keys", "--home", address)


def test_the_password_of_an_address_is_not_repeated_in_the_next_command():
    with main.make_context("undrift", [], resilient_parsing=True):
        assert again("postgresql://ann:s3cret@db/shop?sslmode=require&password=s3cret&sslpassword=s3cret") == (
            " --home 'postgresql://ann@db/shop?sslmode=require'"
        )
