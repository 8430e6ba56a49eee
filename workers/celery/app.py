"""Make the Celery application, the same for senders and receivers of messages.

The store is the truth and the broker is disposable. So messages are acknowledged before the work begins,
only JSON is read, and results, ETA, workflows and remote control are off. A lost message costs time, never a
job.
"""

from __future__ import annotations

from celery import Celery
from kombu import Exchange, Queue

from workers.celery import broker

QUEUE = "treeproof"
TASK = "treeproof.run"

_CONNECT_LIMIT_S = 5.0


def make_app(broker_url: str) -> Celery:
    """Return the application for a broker, ``redis://`` (Redis or Valkey), without connecting to it."""
    broker.install()
    app = Celery("treeproof", broker=broker_url, set_as_current=False, fixups=[])
    app.conf.update(
        accept_content=["json"],
        broker_connection_max_retries=None,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            # A sender must not wait for ever: it tries again itself.
            "max_retries": 1,
            "interval_start": 0.0,
            "socket_connect_timeout": _CONNECT_LIMIT_S,
            "socket_keepalive": True,
            # Messages that a killed worker had fetched return after this; their jobs were sent again before.
            "visibility_timeout": 600,
        },
        result_backend=None,
        task_acks_late=False,
        task_default_queue=QUEUE,
        task_ignore_result=True,
        # The default exchange needs no entry in the broker, which could be deleted.
        task_queues=[Queue(QUEUE, exchange=Exchange(""), routing_key=QUEUE)],
        task_serializer="json",
        task_store_errors_even_if_ignored=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_prefetch_multiplier=1,
        worker_redirect_stdouts=False,
    )
    return app
