"""The exceptions of `orchestrator`: one root, one kind for each thing that a user can fix."""

from __future__ import annotations

from collections.abc import Sequence

from workers.errors import LedgerUnavailableError


class OrchestratorError(Exception):
    """Root of all errors that `orchestrator` raises on purpose; its text is one line for the user."""


class SpecError(OrchestratorError):
    """A campaign file is wrong; the text has one line for each fault, with its place.

    Attributes
    ----------
    problems
        The lines.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class StoreError(OrchestratorError):
    """The store cannot be used: not reachable, another schema version, no rights, or no space."""


class SchemaError(StoreError):
    """The store's tables are not those of this program.

    Attributes
    ----------
    fix
        What to do about it.
    """

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.fix = fix


class StoreUnavailableError(StoreError, LedgerUnavailableError):
    """The store does not answer now, or was too busy: the same may succeed later."""


class BrokerError(OrchestratorError):
    """The broker cannot be used: a wrong URL, a wrong password, not reachable at the start."""


class StoreUrlError(OrchestratorError):
    """The store's URL is malformed, or names a kind of database that is not supported."""


class SecretError(OrchestratorError):
    """A file with a password cannot be used."""


class NotFoundError(OrchestratorError):
    """No campaign, job or artifact of that name."""


class OutputError(OrchestratorError):
    """A result cannot be written as asked."""
