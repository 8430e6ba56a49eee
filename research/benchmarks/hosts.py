"""Many hosts on one machine: a campaign over separate network addresses, while the network fails.

    python -m research.benchmarks.hosts [--instances N] [--signatures N]     (as root, on Linux)

Each host is a network namespace with an address of its own on one bridge, its processes with a host name and
process ids of their own: store, broker, orchestrator and four workers. While the campaign runs, the first
worker's host is cut off for longer than a lease and comes back, the second's vanishes with all that runs on
it, the third's clock is five minutes ahead (if `faketime` is installed), and over the fourth's line everything
takes 0.1 s in each direction, and a frame in fifty is lost. Prints the fingerprints of the campaign and of an undisturbed local
run, which must be equal, and exits with 1 if they are not.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from orchestrator.results import fingerprint
from orchestrator.store.database import Store
from research.benchmarks.slow_line import make_tap, slow_line
from tests import servers
from tests.system.fleet import Fleet, Size, Started, undisturbed_rows
from workers.runtime.ledger import LEASE_S

BRIDGE = "tp-bridge"
NETWORK = "10.77.0"
HOSTS = ("store", "broker", "orchestrator", "worker1", "worker2", "worker3", "worker4")
SLOW, DELAY_S, LOSS = "worker4", 0.1, 0.02
"""The host with a slow line, what everything takes over it in each direction, and the share that is lost."""
PASSWORD = "of-a-benchmark"  # noqa: S105 - of a server that lives as long as this run
CLONE_NEWNET = 0x40000000


def call(*words: str) -> None:
    """Run a command that must succeed."""
    subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603 - our own words


def works(*words: str) -> bool:
    """Return whether a command succeeds."""
    return subprocess.run(words, check=False, capture_output=True).returncode == 0  # noqa: S603 - as above


def address(host: str) -> str:
    """Return a host's address."""
    return f"{NETWORK}.{10 + HOSTS.index(host)}"


@contextmanager
def network() -> Iterator[None]:
    """Make the bridge and the hosts; remove them at the end."""
    stack = ExitStack()
    try:
        call("ip", "link", "add", BRIDGE, "type", "bridge")
        call("ip", "link", "set", BRIDGE, "up")
        for host in HOSTS:
            line = f"tp-{host}"
            call("ip", "netns", "add", line)
            if host == SLOW:
                here = make_tap(line)
                with inside(host):
                    there = make_tap("eth0")
                stack.enter_context(slow_line(here, there, delay_s=DELAY_S, loss=LOSS))
            else:
                call("ip", "link", "add", line, "type", "veth", "peer", "name", "eth0", "netns", line)
            call("ip", "link", "set", line, "master", BRIDGE, "up")
            call("ip", "-n", line, "address", "add", f"{address(host)}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                call("ip", "-n", line, "link", "set", device, "up")
        yield
    finally:
        stack.close()
        for host in HOSTS:
            works("ip", "link", "del", f"tp-{host}")  # with a namespace it would go only some time later
            works("ip", "netns", "del", f"tp-{host}")
        works("ip", "link", "del", BRIDGE)


@contextmanager
def inside(host: str) -> Iterator[None]:
    """Be on a host within the block, with all that is started there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/tp-{host}", "rb") as there:  # noqa: PTH123
        for namespace in (there, here):
            if libc.setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            if namespace is there:
                try:
                    yield
                except BaseException:
                    libc.setns(here.fileno(), CLONE_NEWNET)
                    raise


def host_command(host: str, *more: str) -> Sequence[str]:
    """Return what a command begins with to run on a host, with process ids and a host name of its own."""
    namespaces = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
    named = ["sh", "-c", f'hostname {host}; exec "$@"', "sh"]
    return ["ip", "netns", "exec", f"tp-{host}", *namespaces, *named, *more]


def seconds_to_store() -> float:
    """Return how long a connection from the slow host to the store's takes."""
    started = time.monotonic()
    with inside(SLOW), socket.create_connection((address("store"), 5432), timeout=30):
        return time.monotonic() - started


def disturb(fleet: Fleet, processes: dict[str, Started]) -> None:
    """Let the network and hosts fail while the campaign runs."""
    fleet.until(fleet.begun(0.1), within_s=300)
    call("ip", "link", "set", "tp-worker1", "down")
    print("worker1 is cut off", flush=True)
    processes["worker2"].kill()
    call("ip", "link", "set", "tp-worker2", "down")
    print("worker2 has vanished", flush=True)
    time.sleep(LEASE_S + 15)
    call("ip", "link", "set", "tp-worker1", "up")
    print("worker1 is back", flush=True)


def run(directory: Path, size: Size) -> bool:
    """Run the campaign on one host and on all of them; return whether they found the same."""
    (directory / "one").mkdir()
    (directory / "many").mkdir()
    undisturbed = undisturbed_rows(directory / "one", size)
    with contextlib.closing(Store(f"sqlite:///{directory / 'one' / 'wm.db'}")) as store:
        expected = fingerprint(store, 1)
    with ExitStack() as stack:
        stack.enter_context(network())
        with inside("store"):
            database = servers.Postgres(port=5432, address=address("store"))
            stack.callback(database.close)
            with database.connect() as connection:
                connection.execute(f"ALTER ROLE postgres PASSWORD '{PASSWORD}'")
        with inside("broker"):
            broker = servers.Valkey(address=address("broker"))
            stack.callback(broker.close)
        url = f"postgresql+psycopg://postgres:{PASSWORD}@{address('store')}:5432/postgres"
        fleet = Fleet(directory / "many", url, broker.url, size)
        stack.callback(fleet.close)
        fleet.store = Store(f"{database.url()}&port=5432")
        fleet.launch()
        more = {"worker3": ("faketime", "-f", "+300s")} if shutil.which("faketime") else {}
        print(
            f"clock of worker3 ahead: {bool(more)}; line of {SLOW} slow: {seconds_to_store():.2f} s",
            flush=True,
        )
        processes = {"orchestrator": fleet.start("orchestrate", within=host_command("orchestrator"))}
        for host in HOSTS[3:]:
            command = host_command(host, *more.get(host, ()))
            processes[host] = fleet.start("worker", "--concurrency", "1", within=command)
        started = time.monotonic()
        disturb(fleet, processes)
        fleet.finish(within_s=1800)
        print(f"finished after {time.monotonic() - started:.0f} s; failed attempts: {fleet.attempts()}")
        found, difference = fingerprint(fleet.store, 1), fleet.difference(undisturbed)
    print(f"one host:   {expected}\nmany hosts: {found}\ndifference: {difference}")
    return found == expected and difference.is_none


def main() -> None:
    """Run it and exit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--instances", type=int, default=171)
    parser.add_argument("--signatures", type=int, default=4)
    options = parser.parse_args()
    if os.geteuid() != 0 or not sys.platform.startswith("linux"):
        sys.exit("network namespaces need root, on Linux")
    size = Size(engines=("sat", "z3"), instances=options.instances, signatures=options.signatures)
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        sys.exit(not run(Path(name), size))


if __name__ == "__main__":
    main()
