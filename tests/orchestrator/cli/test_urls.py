"""Passwords from files, put into the URLs of servers."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.urls import add_password

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


@pytest.mark.parametrize("url", ["redis://:known@broker/0", "sqlite:///wm.db", "nonsense"])
def test_other_urls_stay_as_they_are(url: str) -> None:
    assert add_password(url, "secret") == url
