"""Judge a copy behind real servers by its address; the first run installs them.

python -m research.interop [NAME ...] [--python /usr/bin/python3]

Tells the story of docs/servers.md with MLflow itself, then asks every server, and prints a table. Exits with 1 if
one of them is not understood as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import sklearn

from research.interop.environments import environment, free_ports, running
from research.interop.servers import SERVERS, USUAL, Server, filled
from tests.documents import Step, blocks, matches, steps
from wm.claims.keys import public_hex, read_key
from wm.claims.reading import read_whole_claim

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "servers.md"
ADDRESS = "http://127.0.0.1:5001"
"""Of the page's server."""

JUDGE = ("--controls", "300", "--trust", "trust.json", "--suspect-since", "2100-01-01")
TITLE = "| server | address | asked | answered | verdict |\n| --- | --- | --- | --- | --- |\n"


def _wm(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-m", "orchestrator.cli", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def _tell(step: Step, folder: Path) -> None:
    """Run a step of the page; raise `SystemExit` if it does something else."""
    program, *arguments = shlex.split(step.command)
    if "NOTARY" in arguments:
        arguments[arguments.index("NOTARY")] = public_hex(read_key(folder / "notary.key"))
    if program == "python":
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True)  # noqa: S603
        return
    ran = _wm(arguments, folder)
    if ran.returncode != step.code or not matches(step.output, ran.stdout):
        raise SystemExit(f"{step.command}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")


@contextmanager
def _serving(name: str, server: Server, folder: Path, python: str) -> Iterator[tuple[str, str]]:
    """Install and run a server; yield its address and its version."""
    programs = environment(
        server.package, [*server.requirements, f"scikit-learn=={sklearn.__version__}", "joblib"], python
    )
    shutil.copytree(Path(__file__).with_name("served"), folder / "served", dirs_exist_ok=True)
    header = read_whole_claim(folder / "mine" / "claim.json").header
    (folder / "names.txt").write_text("\n".join(header.feature_names))
    ports = free_ports(3)
    place = folder / name
    place.mkdir()
    for file, text in server.files.items():
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).write_text(filled(text, ports, header.feature_names))
    if server.prepare:
        subprocess.run(  # noqa: S603 - our own words
            [f"{programs}/{server.prepare[0]}", *server.prepare[1:]],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            check=True,
            capture_output=True,
        )
    version = subprocess.run(  # noqa: S603 - the same
        [f"{programs}/python", "-c", f"import importlib.metadata as m; print(m.version('{server.package}'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    url = f"http://127.0.0.1:{ports[0]}"
    command = [filled(word, ports, header.feature_names) for word in server.command]
    with running(command, programs, place if server.files else folder, f"{url}{server.ready}"):
        yield url, version


def _asked(name: str, server: Server, url: str, version: str, folder: Path) -> Iterator[tuple[bool, str]]:
    """Yield for each question whether it was understood as it should be, and a row of the table."""
    for question in server.questions:
        words = (
            "verify",
            "mine/claim.json",
            "--url",
            f"{url}{question.path}",
            *question.options,
            *JUDGE,
            "--json",
        )
        ran = _wm(words, folder)
        if ran.returncode not in (0, 1):
            yield False, f"| {name} {version} | `{question.path}` | | | {ran.stderr.strip()} |"
            continue
        found = json.loads(ran.stdout)
        note = f"asked in format {question.format}, answered by {question.answers}"
        # A server's labels show a tie of the trees as class 0: how much they tell depends on the drawn rows.
        enough = question.answers == "labels" or found["verdict"] == "verified"
        as_expected = note in found["notes"] and enough
        verdict = f"{found['verdict']}, p = 10^{found['log10_p']:.1f}"
        asked = f"`{question.format}`, {'named' if question.options else 'found'}"
        row = f"| {server.package} {version} | `{question.path}` | {asked} | {question.answers} | {verdict} |"
        yield as_expected, row if as_expected else f"{row} but: {found['notes']}"


def main() -> None:
    """Ask the servers that the command line names, by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SERVERS)}")
    parser.add_argument(
        "--python", default=f"{sys.base_prefix}/bin/python3", help="Python of the environments"
    )
    given = parser.parse_args()
    names = given.names or USUAL
    if unknown := set(names) - set(SERVERS):
        raise SystemExit(f"unknown servers: {', '.join(sorted(unknown))}; known are: {', '.join(SERVERS)}")
    told = [step for block in blocks(PAGE) if block.language == "console" for step in steps(block)]
    judge = next(place for place, step in enumerate(told) if ADDRESS in step.command)
    failed = 0
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for step in told[:judge]:
            _tell(step, folder)
        sys.stdout.write(TITLE)
        for name in names:
            with _serving(name, SERVERS[name], folder, given.python) as (url, version):
                if name == "mlflow":
                    for step in told[judge:]:
                        _tell(Step(step.command.replace(ADDRESS, url), step.code, step.output), folder)
                for as_expected, row in _asked(name, SERVERS[name], url, version, folder):
                    failed += not as_expected
                    sys.stdout.write(f"{row}\n")
                    sys.stdout.flush()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
