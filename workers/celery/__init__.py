"""Receive jobs through Celery: application, transport, the one task, the worker process."""
