"""Jobs that come through Celery: application, transport, the one task, the worker process."""
