"""`wm web`: a live page of the store."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address

import click

from orchestrator.cli.common import json_option, open_store, print_json, say, store_option
from orchestrator.errors import MissingExtraError, OutputError


@click.command()
@store_option
@click.option("--host", default="127.0.0.1", help="Address to listen on; see --allowed-host.")
@click.option(
    "--port", type=click.IntRange(min=0, max=65535), default=8642, help="Port; 0 takes one that is free."
)
@click.option(
    "--allowed-host",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="Another name of this server, for other machines or behind a proxy; may be repeated.",
)
@click.option("--token/--no-token", default=True, help="Ask for the token of the printed link.")
@click.option("--allow-actions", is_flag=True, help="Let the page retry and cancel campaigns and jobs.")
@json_option
def web(
    store_url: str,
    host: str,
    port: int,
    allowed: tuple[str, ...],
    token: bool,
    allow_actions: bool,
    json: bool,
) -> None:
    """Show campaigns in a browser while they run, until stopped.

    The page is read-only unless --allow-actions is given. Whoever has the printed link may see everything in
    the store but artifacts; behind a proxy that serves it to others, use HTTPS there.
    """
    if not token and not _is_loopback(host):
        raise click.UsageError(
            f"--no-token with --host {host} would show the store to everybody: leave it out"
        )
    store = open_store(store_url)
    try:
        import uvicorn

        from orchestrator.web.app import make_app
        from orchestrator.web.guard import Access
    except ModuleNotFoundError as reason:
        raise MissingExtraError(f"wm web needs {reason.name}: pip install 'treeproof[web]'") from reason

    names = frozenset(name.lower().strip("[]") for name in (host, "127.0.0.1", "localhost", "::1", *allowed))
    access = Access(names, allow_actions=allow_actions) if token else Access(names, None, allow_actions)
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as reason:
        raise OutputError(
            f"{host}:{port}: cannot listen ({reason.strerror or reason}); give another --host or --port"
        ) from reason
    server: uvicorn.Server
    # Requests are not logged: the first one's address holds the token.
    app = make_app(store, access, lambda: server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=5
        )
    )
    at = f"[{host}]" if ":" in host else host
    query = "" if access.token is None else f"?token={access.token}"
    address = f"http://{at}:{listening.getsockname()[1]}/{query}"
    if json:
        print_json({"address": address, "actions": allow_actions})
    else:
        click.echo(address)
    sys.stdout.flush()
    say(f"shows {store}{'' if allow_actions else ', read-only'}; stop with Ctrl-C")
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        say("stopped")
    finally:
        listening.close()
        store.close()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
