"""Run what an image has as it is meant to be run, and a campaign through it; called by scripts/run_image.sh.

    python -m research.image ROOT IMAGE.json        (as root)

ROOT is where the image is mounted, read-only but for /data and /tmp; IMAGE.json is what ``buildah inspect`` says
of it. Everything runs as the image's user with the image's variables but HOME. A worker and an orchestrator of
the image work on a real broker and a real PostgreSQL of this machine; what the campaign finds is held against
a run of this tree on one machine, row by row. Exit code 1 if anything is otherwise than it should be.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from tests import servers
from tests.system.fleet import NAME, Fleet, Size, undisturbed_rows

PASSWORD = "of-a-test"  # noqa: S105 - of a server that lives as long as this run
LIMIT_S = 1200.0


class Image:
    """A mounted image: what a command begins with to run in it.

    Attributes
    ----------
    user
        Ids of user and group, as the image's USER says.
    """

    def __init__(self, root: Path, described: Path) -> None:
        found = json.loads(described.read_text())["OCIv1"]["config"]
        self.root, self.user, self.folder = root, found["User"], found["WorkingDir"]
        self._variables = [each for each in found["Env"] if not each.startswith("HOME=")]
        self._entrypoint: list[str] = found["Entrypoint"]

    def command(self, *words: str, **variables: str) -> list[str]:
        """Return the words that run a program in the image."""
        added = [f"{name}={value}" for name, value in variables.items()]
        environment = ["/usr/bin/env", "-i", f"--chdir={self.folder}", *self._variables, *added]
        return ["chroot", f"--userspec={self.user}", str(self.root), *environment, *words]

    def program(self, variables: Mapping[str, str]) -> list[str]:
        """Return the words that run the image's own entry point."""
        return self.command(*self._entrypoint, **variables)


def output(*command: str) -> str:
    """Return what a command that must succeed prints."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S)  # noqa: S603 - ours
    if done.returncode:
        raise RuntimeError(f"{command[-1]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def alone(image: Image) -> None:
    """Run what needs no server."""
    print("user:", output(*image.command("id", "-u")).strip(), flush=True)
    write = image.command("touch", "/opt/written")
    refused = subprocess.run(write, check=False, capture_output=True, text=True)  # noqa: S603 - ours
    print(refused.stderr.strip(), flush=True)
    if "Read-only file system" not in refused.stderr:
        raise RuntimeError("the image's root can be written")
    wm = image.program({})
    print(output(*wm, "--version").strip(), flush=True)
    print(output(*wm, "demo"), flush=True)


def with_servers(image: Image, directory: Path) -> None:
    """Run a campaign by a worker and an orchestrator of the image."""
    size = Size(instances=50)
    (directory / "here").mkdir()
    (directory / "image").mkdir()
    expected = undisturbed_rows(directory / "here", size)
    with ExitStack() as stack:
        broker = stack.enter_context(closing(servers.Valkey()))
        database = stack.enter_context(closing(servers.Postgres(port=servers.free_port())))
        with database.connect() as connection:
            connection.execute(f"ALTER ROLE postgres PASSWORD '{PASSWORD}'")
        url = f"postgresql+psycopg://postgres:{PASSWORD}@127.0.0.1:{database.port}/postgres"
        fleet = Fleet(directory / "image", url, broker.url, size)
        stack.callback(fleet.close)
        ours = {*fleet.family.environment, "WM_STORE_URL", "WM_BROKER_URL"}
        fleet.program = image.program({name: fleet.environment[name] for name in ours})
        campaign = Path(shutil.copy(directory / "image" / "c.toml", image.root / image.folder.lstrip("/")))
        fleet.wm("db", "upgrade")
        services = fleet.worker(), fleet.start("orchestrate")
        fleet.wm("campaign", "launch", f"{image.folder}/{campaign.name}")
        print(fleet.wm("campaign", "status", NAME, "--watch"), flush=True)
        for process in services:
            if fleet.stop(process) != 0:
                raise RuntimeError(f"it did not end in good order: {fleet.log(process)}")
        difference = fleet.difference(expected)
        print(f"{len(expected)} rows; missing, surplus, changed, doubled:", end=" ")
        print(*map(len, (difference.missing, difference.surplus, difference.changed)), difference.duplicates)
        if not difference.is_none:
            raise RuntimeError("the campaign found something else than this tree does")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("described", type=Path)
    given = parser.parse_args()
    image = Image(given.root, given.described)
    alone(image)
    with tempfile.TemporaryDirectory() as name:
        with_servers(image, Path(name))


if __name__ == "__main__":
    main()
