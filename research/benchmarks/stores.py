"""Stores, broker, processes and campaigns that the benchmarks of the orchestrator start from."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.spec import parse_spec
from orchestrator.store import services
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from research.benchmarks.common import ROOT
from tests import servers
from wm.attacks.forgery import BATCH
from workers.jobs.forging import ForgeryParameters
from workers.jobs.kinds import JobKind

SPEC = """
name = "{name}"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
"""


@contextmanager
def opened(kind: str, *, durable: bool = False) -> Iterator[Store]:
    """Make an empty store, "sqlite" or "postgresql", with the newest schema, and remove it afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        server = servers.Postgres(durable=durable) if kind == "postgresql" else None
        try:
            with closing(Store(server.url() if server else f"sqlite:///{directory}/wm.db")) as store:
                store.upgrade()
                yield store
        finally:
            if server:
                server.close()


def url_of(store: Store) -> str:
    """Return a store's URL, password included."""
    return str(store._url.render_as_string(hide_password=False))


@contextmanager
def process(store: Store, broker_url: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of this project on a store and a broker until the block ends."""
    environment = os.environ | {"WM_STORE_URL": url_of(store), "WM_BROKER_URL": broker_url}
    command = [sys.executable, "-m", *words]
    started = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield started
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(timeout=60)


@contextmanager
def worker(store: Store, broker_url: str, slots: int) -> Iterator[None]:
    """Run a worker, which has registered before the block begins."""
    words = ("orchestrator.cli", "worker", "--concurrency", str(slots))
    with process(store, broker_url, *words) as started:
        _wait_for(started, store)
        yield


@contextmanager
def empty_worker(store: Store, broker_url: str, slots: int, *, in_turn: bool = False) -> Iterator[None]:
    """Run a worker whose handler answers at once, see empty_worker.py; it listens when the block begins."""
    words = ("research.benchmarks.empty_worker", str(slots), *(["in-turn"] if in_turn else []))
    with process(store, broker_url, *words) as started:
        _wait_for(started, store)
        time.sleep(1.0)  # until it listens
        yield


def _wait_for(started: subprocess.Popen[bytes], store: Store) -> None:
    while not services.workers(store):
        if started.poll() is not None:
            raise RuntimeError("the worker did not start")
        time.sleep(0.05)


def forgery_campaign(store: Store, jobs: int, *, name: str) -> int:
    """Store a campaign of so many made-up forgery batches that need no other job; return its id."""
    return create_campaign(store, parse_spec(SPEC.format(name=name)), planned(jobs, name), {})


def planned(count: int, name: str) -> Iterator[PlannedJob]:
    """Yield batches, all of one point of the grid; other names give other jobs."""
    point: dict[str, Any] = {"engine": "sat", "ones_share": 0.5, "repeat": 0, "signature": 0, "eps": 0.5}
    cell = GridPoint(scheme="paper", trigger_share=0.02, **point)
    for number in range(count):
        given = ForgeryParameters(**point, first=number * BATCH, count=BATCH, seed=1, timeout_s=1.0)
        key = hashlib.sha256(f"{name} {number}".encode()).hexdigest()
        yield PlannedJob(key, JobKind.FORGERY, given.model_dump(mode="json"), (), cell, BATCH)
