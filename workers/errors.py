"""The exceptions of `workers`."""


class WorkerError(Exception):
    """Root of all errors that `workers` raises on purpose; its text is one line for the user."""
