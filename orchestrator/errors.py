"""The exceptions of `orchestrator`: one root, and one class for each thing that a user can fix."""

from __future__ import annotations

from collections.abc import Sequence

from workers.errors import LedgerUnavailableError


class OrchestratorError(Exception):
    """Root of all errors that `orchestrator` raises on purpose; its text is one line for the user."""


class SpecError(OrchestratorError):
    """A campaign file is wrong; the text has a line for each fault, with its place.

    `problems` are these lines.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class StoreError(OrchestratorError):
    """The store cannot be used: not reachable, another schema version, no rights, or no space."""


class SchemaError(StoreError):
    """The store has the schema of another version; `fix` says how to change it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.fix = fix


class StoreUnavailableError(StoreError, LedgerUnavailableError):
    """The store does not answer, or is too busy: the same call may succeed later."""


class BrokerError(OrchestratorError):
    """The broker cannot be used: a wrong URL, a wrong password, not reachable at the start."""


class StoreUrlError(OrchestratorError):
    """The store's URL is malformed, or its kind of database is not supported."""


class SecretError(OrchestratorError):
    """A file with a password cannot be used."""


class NotFoundError(OrchestratorError):
    """There is no campaign, result, artifact or store of that name."""


class ArchiveError(OrchestratorError):
    """A file is not an archive of a campaign, is damaged, or was written by a newer program."""


class OutputError(OrchestratorError):
    """A result cannot be written as asked."""


class MissingExtraError(OrchestratorError):
    """A package of an extra is not installed; the text says how to install it."""


class SelectionError(OrchestratorError):
    """A condition or column that the user asked for does not suit a result."""


class InUseError(OrchestratorError):
    """A campaign cannot be changed so: it is being run, or another one has that name."""


class AmbiguousNameError(NotFoundError):
    """Several campaigns have this name; `ids` are theirs, the newest last."""

    def __init__(self, text: str, ids: Sequence[int]) -> None:
        super().__init__(text)
        self.ids = tuple(ids)
