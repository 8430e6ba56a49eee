"""`wm db`: the store's schema."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import json_option, print_json, store_option
from orchestrator.cli.groups import Group
from orchestrator.cli.urls import read_secret
from orchestrator.store.database import Store, head_revision
from orchestrator.store.roles import set_worker_login


@click.group(cls=Group)
def database() -> None:
    """Manage the store's schema."""


@database.command()
@store_option
@click.option("--worker-user", metavar="NAME", help="PostgreSQL: also create this login for workers.")
@click.option(
    "--worker-password-file",
    envvar="WM_WORKER_PASSWORD_FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with that login's password.",
)
@json_option
def upgrade(store_url: str, worker_user: str | None, worker_password_file: Path | None, json: bool) -> None:
    """Bring the schema up to date, or create it in an empty database.

    A worker's login can only run jobs: it cannot read campaigns or change plans and outcomes.
    """
    store = Store(store_url)
    if worker_user is not None and worker_password_file is None:
        raise click.UsageError("--worker-user needs --worker-password-file")
    before = store.revision()
    store.upgrade()
    if not json:
        click.echo(f"{store}: schema {before or 'none'} -> {head_revision()}")
    if worker_user is not None and worker_password_file is not None:
        set_worker_login(store, worker_user, read_secret(worker_password_file, "--worker-password-file"))
        if not json:
            click.echo(f"{store}: {worker_user} can log in as a worker")
    if json:
        facts = {"store": str(store), "before": before, "schema": head_revision()}
        print_json(facts | {"worker_user": worker_user})


@database.command()
@store_option
@json_option
def check(store_url: str, json: bool) -> None:
    """Check that the store has the schema of this program."""
    store = Store(store_url)
    store.check()
    if json:
        print_json({"store": str(store), "schema": head_revision(), "up_to_date": True})
    else:
        click.echo(f"{store}: schema {head_revision()}, up to date")
