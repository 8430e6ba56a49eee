"""URLs of servers as options, and their passwords from files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import click

from orchestrator.errors import SecretError

DEFAULT_BROKER = "redis://127.0.0.1:6379/0"


def with_password(_context: click.Context, option: click.Parameter, url: str) -> str:
    """Add the password in the file that WM_STORE_PASSWORD_FILE (or the broker's variable) names to a URL.

    So no password needs to be in the environment or on a command line, where others can read it.
    """
    variable = f"{option.envvar}".replace("_URL", "_PASSWORD_FILE")
    file = os.environ.get(variable)
    return url if not file else add_password(url, read_secret(Path(file), variable))


def read_secret(file: Path, what: str) -> str:
    """Return the text of a file that holds one secret.

    Raises
    ------
    SecretError
        It cannot be read, or is empty.
    """
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as reason:
        raise SecretError(f"{what}: {file} cannot be read ({reason})") from reason
    if not secret:
        raise SecretError(f"{what}: {file} is empty")
    return secret


def add_password(url: str, password: str) -> str:
    """Return a URL with a password, if it has a host and no password yet; other URLs as they are."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    credentials, _, host = authority.rpartition("@")
    user, _, known = credentials.partition(":")
    if not separator or not host or known:
        return url
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}{slash}{path}"


broker_option = click.option(
    "--broker",
    "broker_url",
    envvar="WM_BROKER_URL",
    default=DEFAULT_BROKER,
    metavar="URL",
    callback=with_password,
    help="Redis or Valkey server that delivers jobs to workers.",
)
