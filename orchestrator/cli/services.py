"""`wm worker` and `wm orchestrate`: the services that run campaigns on many machines."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading

import click

from orchestrator.cli.common import open_store, store_option
from orchestrator.cli.urls import broker_option
from orchestrator.executors import default_workers
from orchestrator.store.ledger import StoreLedger

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@click.command()
@store_option
@broker_option
@click.option(
    "--concurrency",
    type=click.IntRange(min=1, max=1024),
    help="Jobs at once.  [default: number of processors]",
)
@click.option("--events", is_flag=True, help="Send an event about every message to monitors such as Flower.")
@click.option(
    "--until-idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End once there was no job for so long, as a batch system's job should.",
)
def worker(
    store_url: str, broker_url: str, concurrency: int | None, events: bool, until_idle: float | None
) -> None:
    """Run jobs from the broker until stopped.

    On SIGTERM or Ctrl-C unfinished jobs are given back at once, for other workers.
    """
    # One job, one processor: the slots are the parallelism.
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    _set_up_log()
    store = open_store(store_url)
    from orchestrator.celery_executor import open_broker
    from orchestrator.store.services import StoreRegistry
    from workers.celery.app import make_app
    from workers.celery.worker import Worker

    # Fails with a clear error now; a running worker waits for its broker for ever.
    open_broker(make_app(broker_url)).release()
    slots = concurrency or default_workers()
    try:
        Worker(
            broker_url,
            StoreLedger(store),
            StoreRegistry(store),
            concurrency=slots,
            events=events,
            until_idle_s=until_idle,
        ).run()
    finally:
        store.close()


@click.command()
@store_option
@broker_option
@click.option(
    "--metrics-port", type=click.IntRange(min=1, max=65535), help="Serve Prometheus metrics on this port."
)
@click.option("--metrics-host", default="127.0.0.1", help="Address of the metrics port.")
def orchestrate(store_url: str, broker_url: str, metrics_port: int | None, metrics_host: str) -> None:
    """Send jobs of launched campaigns to workers until stopped.

    Any number may run at the same time: one sends jobs, the others stand by.
    """
    _set_up_log()
    store = open_store(store_url)
    from orchestrator.celery_executor import CeleryExecutor
    from orchestrator.monitoring.metrics import Metrics
    from orchestrator.service import Orchestrator

    log = logging.getLogger("orchestrator")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    executor = CeleryExecutor(store, broker_url, log.warning)
    metrics = Metrics(store, executor.queue_length)
    try:
        with contextlib.ExitStack() as served:
            if metrics_port is not None:
                served.callback(metrics.serve(metrics_host, metrics_port))
            Orchestrator(store, executor, log.info, metrics).run(stop)
    finally:
        executor.close()
        store.close()
    log.info("stopped")


def _set_up_log() -> None:
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    for name in ("workers", "orchestrator"):
        logging.getLogger(name).setLevel(logging.INFO)
