"""The container files, read against the code and checked by the real Compose program."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from psycopg import sql

from tests import ending, servers
from tests.commands import assert_exists, assert_is_read

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
    assert ending.run([program, *profile, "config", "-q"], cwd=place).stderr == ""


@pytest.mark.parametrize("service", OWN)
def test_every_command_and_option_exists(compose, service):
    words = [word.replace("${WM_CONCURRENCY:-2}", "2") for word in compose["services"][service]["command"]]
    assert_exists(words)


@pytest.mark.parametrize("service", OWN)
def test_every_variable_is_read_by_the_code(compose, service):
    for variable in compose["services"][service]["environment"]:
        assert_is_read(variable)


def test_every_secret_that_is_named_is_mounted_and_none_is_written_here(compose):
    for name, service in compose["services"].items():
        text = yaml.safe_dump(service)
        mounted = set(service.get("secrets", ()))
        named = {secret for secret in compose["secrets"] if f"/run/secrets/{secret}" in text}
        assert named == mounted, name
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
    assert "secrets/" in (ROOT / ".gitignore").read_text().split()


def test_the_commands_of_the_document_make_secrets_that_every_service_can_read(compose, tmp_path):
    """Mounted files keep owner and mode, and each service is another user without any capability."""
    document = (ROOT / "docs" / "scaling.md").read_text()
    commands = document.split("## Compose\n```\n")[1].split("docker compose up")[0]
    ending.run(["/bin/sh", "-euc", commands], cwd=tmp_path)
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    for secret in compose["secrets"].values():
        file = tmp_path / secret["file"]
        assert file.stat().st_mode & 0o777 == 0o644
        assert re.fullmatch("[0-9a-f]{48}", file.read_text()), "goes into URLs and files of settings as it is"


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
            for source in shlex.split(rest)[:-1]:
                assert (ROOT / source).exists()
                assert source in kept


def test_the_image_is_slim_and_runs_wm_as_no_root(dockerfile):
    stages = [rest for word, rest in dockerfile if word == "FROM"]
    assert stages == ["${BUILD_BASE} AS build", "${BASE}"]
    assert ("ARG", "BASE=python:3.11-slim") in dockerfile
    assert any("sh scripts/trim.sh /opt/venv" in rest for word, rest in dockerfile if word == "RUN")
    assert ("USER", "10001:10001") in dockerfile
    assert ("ENTRYPOINT", '["wm"]') in dockerfile
    assert any("--require-hashes" in rest for word, rest in dockerfile if word == "RUN")


class Image:
    """What the image has: the three packages beside nothing else, its environment, and a wm that calls them.

    The services run with their very commands and variables; only servers, ports and directories are those of
    the test.
    """

    def __init__(self, directory, dockerfile, replaced):
        self.code, self.data, temporary = (directory / name for name in ("code", "data", "tmp"))
        for layer in ("wm", "workers", "orchestrator"):
            shutil.copytree(ROOT / layer, self.code / layer)  # compiled, as in the image
        self.logs = {}
        self.processes = []
        self.data.mkdir()
        temporary.mkdir()
        self.replaced = {"/data": str(self.data), "/tmp": str(temporary)} | replaced  # noqa: S108 - in the image
        (words,) = (rest for word, rest in dockerfile if word == "ENV")
        self.environment = dict(word.split("=", 1) for word in shlex.split(words))
        self.environment["PATH"] = "/usr/bin:/bin"

    def fitted(self, text):
        """Return a text of the files with the test's servers, ports and directories."""
        pattern = "|".join(map(re.escape, self.replaced))
        return re.sub(pattern, lambda found: self.replaced[found[0]], text)

    def start(self, service, *command):
        """Start a service, by default with its own command."""
        own = [word.replace("${WM_CONCURRENCY:-2}", "2") for word in service["command"]]
        environment = self.environment | service["environment"]
        main = (
            f"import sys; sys.path.insert(0, {str(self.code)!r}); from orchestrator.cli import main; main()"
        )
        log = self.data.parent / f"log-{len(self.logs)}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", main, *(self.fitted(word) for word in command or own)],
                cwd=self.data,
                env={name: self.fitted(value) for name, value in environment.items()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.logs[process.pid] = log
        self.processes.append(process)
        return process

    def said(self, process):
        """Return what a service has said."""
        return self.logs[process.pid].read_text()

    def end(self, process, *, within_s):
        """Wait for a service's good end; return what it said."""
        try:
            assert process.wait(timeout=within_s) == 0, self.said(process)
        except subprocess.TimeoutExpired as late:
            raise AssertionError("\n".join(log.read_text() for log in self.logs.values())) from late
        return self.said(process)

    def run(self, service, *command):
        """Run a service to its end, which must be a good one; return what it said."""
        return self.end(self.start(service, *command), within_s=240)

    def files(self):
        """Return the files of the code, which is read-only in the image."""
        return sorted(path for path in self.code.rglob("*") if path.is_file())


@pytest.fixture
def image(tmp_path, dockerfile, compose):
    """The image, secrets in files, and servers that ask for these, as the other services of the file do."""
    secrets = {name: f"it's {name}: $1 @/" for name in compose["secrets"]}
    (tmp_path / "secrets").mkdir()
    for name, secret in secrets.items():
        (tmp_path / "secrets" / name).write_text(f"{secret}\n")
    broker = servers.Valkey(password=secrets["broker_password"])
    port = servers.free_port()
    database = servers.Postgres(port=port)
    settings = compose["services"]["postgres"]["environment"]
    with database.connect() as connection:
        user, name = (sql.Identifier(settings[f"POSTGRES_{what}"]) for what in ("USER", "DB"))
        password = sql.Literal(secrets["postgres_password"])
        connection.execute(sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(user, password))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, user))
    made = Image(
        tmp_path,
        dockerfile,
        {
            "@postgres:5432": f"@127.0.0.1:{port}",
            "@broker:6379": f"@127.0.0.1:{broker.port}",
            "/run/secrets/": f"{tmp_path / 'secrets'}/",
            "9464": str(servers.free_port()),
        },
    )
    yield made
    for process in made.processes:
        process.kill()
        process.wait(30)
    broker.close()
    database.close()


CAMPAIGN = """
name = "c"
seed = 1
dataset = { name = "breast-cancer" }
forest = { n_estimators = 12, max_depth = 4 }
embedding = { trigger_share = 0.02 }

[[attack]]
kind = "forgery"
engine = "sat"
signatures = 1
eps = [0.5]
"""


@pytest.mark.system
def test_the_images_commands_run_a_campaign_and_stop_in_time(image, compose):
    """As `docker compose up` and the commands of docs/scaling.md do it."""
    services = compose["services"]
    before = image.files()
    assert image.run(services["orchestrator"], "--version").startswith("wm, version ")
    assert "wm_worker_login can log in as a worker" in image.run(services["migrate"])
    (image.data / "c.toml").write_text(CAMPAIGN)
    started = {name: image.start(services[name]) for name in ("orchestrator", "worker")}
    try:
        image.run(services["orchestrator"], "campaign", "launch", "/data/c.toml")
        shown = image.run(services["orchestrator"], "campaign", "status", "c", "--watch")
        assert "c: finished" in shown or "c: running" in shown, shown
        health = services["orchestrator"]["healthcheck"]["test"]
        assert health[:2] == ["CMD", "python"]
        checked = [sys.executable, *map(image.fitted, health[2:])]
        assert subprocess.run(checked, timeout=20).returncode == 0
        port = image.replaced["9464"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as metrics:
            assert "wm_store_up 1.0" in metrics.read().decode().splitlines()
        doctor = image.run(services["orchestrator"], "doctor")
        assert "FAULT" not in doctor
        assert {process.poll() for process in started.values()} == {None}
    finally:
        for process in started.values():
            process.terminate()
    for name, process in started.items():
        grace_s = int(services[name]["stop_grace_period"].removesuffix("s"))
        said = image.end(process, within_s=min(SHUTDOWN_S, grace_s - 5))
        assert "Traceback" not in said
    assert "stopped" in image.said(started["orchestrator"])
    assert subprocess.run(checked, timeout=20, stderr=subprocess.DEVNULL).returncode != 0
    assert image.files() == before, "something was written beside the code, which is read-only"
