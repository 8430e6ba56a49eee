"""The container files, read against the code and checked by the real Compose program."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from orchestrator.cli import cli

ROOT = Path(__file__).resolve().parent.parent
OWN = ("migrate", "orchestrator", "worker")
SHUTDOWN_S = 30
"""The longest that a worker takes to end in good order."""


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(scope="module")
def dockerfile():
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, rest in lines]


@pytest.fixture
def place(tmp_path):
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("profile", [(), ("--profile", "monitoring")])
def test_compose_accepts_it(place, profile):
    program = Path(sys.executable).parent / "docker-compose"
    done = subprocess.run([program, *profile, "config", "-q"], cwd=place, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def command_of(arguments):
    """Walk down from `wm` to the command that arguments name; return it and what is left."""
    command, left = cli, list(arguments)
    while isinstance(command, click.Group):
        name = left.pop(0)
        command = command.get_command(click.Context(command), name)
        assert command is not None, name
    return command, left


@pytest.mark.parametrize("service", OWN)
def test_every_command_and_option_exists(compose, service):
    words = [word.replace("${WM_CONCURRENCY:-2}", "2") for word in compose["services"][service]["command"]]
    command, left = command_of(words)
    options = {name: option for option in command.params for name in option.opts}
    while left:
        name = left.pop(0)
        option = options[name]
        if not option.is_flag:
            option.type.convert(left.pop(0), option, None)


@pytest.mark.parametrize("service", OWN)
def test_every_variable_is_read_by_the_code(compose, service):
    code = "\n".join(
        path.read_text()
        for layer in ("wm", "workers", "orchestrator")
        for path in (ROOT / layer).rglob("*.py")
    )
    for variable in compose["services"][service]["environment"]:
        sister = variable.replace("_PASSWORD_FILE", "_URL")
        assert f'"{variable}"' in code or f'envvar="{sister}"' in code, variable


def test_every_secret_that_is_named_is_mounted_and_none_is_written_here(compose):
    for name, service in compose["services"].items():
        text = yaml.safe_dump(service)
        mounted = set(service.get("secrets", ()))
        named = {secret for secret in compose["secrets"] if f"/run/secrets/{secret}" in text}
        assert named == mounted, name
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
    assert "secrets/" in (ROOT / ".gitignore").read_text().split()


def test_every_service_is_confined(compose):
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].partition(":")[0]) > 0, name
        assert {"cpus", "memory"} <= set(service["deploy"]["resources"]["limits"]), name


def test_nothing_is_published_but_the_monitor_on_loopback(compose):
    published = {
        name: service["ports"] for name, service in compose["services"].items() if "ports" in service
    }
    assert published == {"flower": ["127.0.0.1:5555:5555"]}
    assert compose["services"]["flower"]["profiles"] == ["monitoring"]
    assert "FLOWER_BASIC_AUTH" in compose["services"]["flower"]["entrypoint"][2]


def test_workers_can_be_scaled_and_stopped_in_good_order(compose):
    worker = compose["services"]["worker"]
    assert "container_name" not in worker
    assert "hostname" not in worker
    assert int(worker["stop_grace_period"].removesuffix("s")) > SHUTDOWN_S


def test_the_broker_keeps_what_it_has_and_the_database_its_place(compose):
    broker = compose["services"]["broker"]["command"][2]
    assert "--appendonly yes" in broker
    assert "--maxmemory-policy noeviction" in broker
    assert "requirepass" in broker
    postgres = compose["services"]["postgres"]
    assert postgres["image"].startswith("postgres:18")
    assert postgres["volumes"] == ["postgres:/var/lib/postgresql"]


def test_health_checks_cost_little(compose):
    for service in compose["services"].values():
        assert "celery" not in str(service.get("healthcheck", ""))


def test_every_path_that_is_copied_exists_and_is_not_ignored(dockerfile):
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")}
    for word, rest in dockerfile:
        if word == "COPY" and not rest.startswith("--from"):
            source = shlex.split(rest)[0]
            assert (ROOT / source).exists()
            assert source in kept


def test_the_image_is_slim_and_runs_wm_as_no_root(dockerfile):
    stages = [rest for word, rest in dockerfile if word == "FROM"]
    assert len(stages) == 2
    assert all("-slim" in stage for stage in stages)
    assert ("USER", "10001:10001") in dockerfile
    assert ("ENTRYPOINT", '["wm"]') in dockerfile
    assert any("--require-hashes" in rest for word, rest in dockerfile if word == "RUN")


def test_the_code_that_is_copied_is_enough_to_run(tmp_path):
    """As in the image: the three packages beside nothing else, and a wm that calls them."""
    for layer in ("wm", "workers", "orchestrator"):
        shutil.copytree(ROOT / layer, tmp_path / layer, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sys; sys.path.insert(0, '.'); from orchestrator.cli import main; main()"
    for arguments in (["--version"], ["db", "upgrade", "--store", f"sqlite:///{tmp_path / 'wm.db'}"]):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *arguments],
            cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
