"""Passwords from files, put into the URLs of servers."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.urls import add_password, read_secret
from orchestrator.errors import SecretError

PASSWORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1)


@given(
    PASSWORDS, st.sampled_from(["redis://@broker:6379/0", "redis://:@broker:6379/0", "redis://me@broker/0"])
)
def test_a_password_survives_in_a_url_that_has_none(password: str, url: str) -> None:
    """An empty one is none: compose files write redis://:@broker."""
    found = urlsplit(add_password(url, password))
    assert unquote(found.password or "") == password
    assert found.hostname == "broker"
    assert found.username == ("me" if "me@" in url else "")


@pytest.mark.parametrize(
    "url",
    [
        "redis://:known@broker/0",
        "postgresql+psycopg://me:known@db/wm",
        "postgresql+psycopg://me@/wm?host=/run",
        "sqlite:///wm.db",
        "nonsense",
    ],
)
def test_other_urls_stay_as_they_are(url: str) -> None:
    assert add_password(url, "secret") == url


def test_a_secret_is_a_files_text_without_its_last_newline(tmp_path) -> None:
    (tmp_path / "secret").write_text("it's $1 @/:#?\n", encoding="utf-8")
    assert read_secret(tmp_path / "secret", "WM_X") == "it's $1 @/:#?"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
def test_a_file_without_a_secret_is_one_line(tmp_path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(SecretError, match=r"^WM_X: .*secret (is empty|cannot be read)") as caught:
        read_secret(tmp_path / "secret", "WM_X")
    assert len(str(caught.value).splitlines()) == 1
