"""`wm db`: the store's schema."""

from __future__ import annotations

import click

from orchestrator.cli.common import store_option
from orchestrator.store.database import Store, head_revision


@click.group()
def database() -> None:
    """Look after the store's schema."""


@database.command()
@store_option
def upgrade(store_url: str) -> None:
    """Bring the schema up to date; creates it in an empty database."""
    store = Store(store_url)
    before = store.revision()
    store.upgrade()
    click.echo(f"{store}: schema {before or 'none'} -> {head_revision()}")


@database.command()
@store_option
def check(store_url: str) -> None:
    """Tell whether the schema is the one that this program uses."""
    store = Store(store_url)
    store.check()
    click.echo(f"{store}: schema {head_revision()}, up to date")
