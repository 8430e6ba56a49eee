"""The exceptions of `workers`."""


class WorkerError(Exception):
    """Root of all errors that `workers` raises on purpose; its text is one line for the user."""


class LedgerUnavailableError(WorkerError):
    """The ledger does not answer now: the same call may succeed later."""


class MessagingError(WorkerError):
    """Messages can no longer be received, and waiting would not help."""


class VersionMismatchError(WorkerError):
    """Worker and orchestrator have different versions."""
