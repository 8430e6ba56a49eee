"""`wm key`: the keys with which owners and notaries sign."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import OUTPUT, json_option, print_either
from orchestrator.cli.groups import Group
from orchestrator.files import SECRET, write_new, write_whole
from wm.claims.keys import new_key, public_hex, to_pem


@click.group(cls=Group)
def key() -> None:
    """Make keys for owners and notaries."""


@key.command()
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the private key (PEM).")
@click.option("--force", is_flag=True, help="Replace a file of this name: its key is lost.")
@json_option
def new(output: Path, force: bool, json: bool) -> None:
    """Make a private key (Ed25519) and print the public key.

    The file is readable to you only (mode 0600). Keep it secret, and keep a copy: nobody can make it again.
    """
    made = new_key()
    (write_whole if force else write_new)(output, to_pem(made), mode=SECRET)
    print_either({"private_key": str(output), "public_key": public_hex(made)}, json)
