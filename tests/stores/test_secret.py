"""The token of a home: made once, for its owner alone, and never taken from a file that others could have written."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from undrift.errors import StoreError
from undrift.stores.secret import TOKEN_NAME, http_token


def test_it_is_made_once(tmp_path: Path):
    home = tmp_path / "a" / "home"
    token = http_token(home)
    assert len(token) == 64
    assert http_token(home) == token
    assert stat.S_IMODE((home / TOKEN_NAME).stat().st_mode) == 0o600
    assert http_token(tmp_path / "other") != token


def test_those_who_ask_at_once_get_the_same(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: http_token(tmp_path), range(32)))) == 1


@pytest.mark.parametrize(
    "content", ["short!", "x" * 64 + "y", "not a token at all " * 4], ids=["short", "long", "words"]
)
def test_a_file_that_holds_no_token_is_refused(tmp_path: Path, content: str):
    (tmp_path / TOKEN_NAME).write_text(content)
    (tmp_path / TOKEN_NAME).chmod(0o600)
    with pytest.raises(StoreError, match="delete it"):
        http_token(tmp_path)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path):
    http_token(tmp_path)
    (tmp_path / TOKEN_NAME).chmod(0o644)
    with pytest.raises(StoreError, match="others can read it"):
        http_token(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "elsewhere").write_text("a" * 64)
    (tmp_path / TOKEN_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="link"):
        http_token(tmp_path)
