"""No secret of an address is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.addresses import masked


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///wm.db", "sqlite:///wm.db"),
        ("postgresql+psycopg://host/x", "postgresql+psycopg://host/x"),
        ("postgresql+psycopg://u:s3cret@host:1/x", "postgresql+psycopg://u:***@host:1/x"),
        ("postgresql+psycopg://u:s3c@s3cret@host/x", "postgresql+psycopg://u:***@host/x"),
        ("postgresql+psycopg://h/x?user=u&password=s3cret", "postgresql+psycopg://h/x?user=u&password=***"),
        ("postgresql+psycopg://h/x?sslpassword=s3cret&a=b", "postgresql+psycopg://h/x?sslpassword=***&a=b"),
        ("sqlite:///x?password=s3cret", "sqlite:///x?password=***"),
        ("redis://:s3cret@host:6379/0", "redis://***@host:6379/0"),
        ("redis://s3cret@host", "redis://***@host"),
        ("redis://host/0?password=s3cret", "redis://host/0?password=***"),
        ("postgresql://h/x?password=s3cret:@", "postgresql://h/x?password=***:***@"),
        ("u:s3cret", "u:***"),
        ("wm.db", "wm.db"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url, shown):
    assert masked(url) == shown


@given(st.text(st.characters(categories=["L", "N", "P"], exclude_characters="/?#&"), min_size=4))
def test_no_password_is_shown(password):
    secret = f"s3cret{password}"
    for url in (
        f"redis://:{secret}@h/0",
        f"postgresql://u:{secret}@h/x",
        f"postgresql://h/x?password={secret}",
    ):
        assert "s3cret" not in masked(url)
