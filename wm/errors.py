"""The exceptions of `wm`: one root, one kind for each thing that a user can fix."""


class WmError(Exception):
    """Root of all errors that `wm` raises on purpose; its text is one line for the user."""


class ModelError(WmError):
    """A forest, or a file that should hold one, is damaged, hostile or of an unsupported kind."""


class DataError(WmError):
    """A data set is missing, malformed or unfit for a binary watermark."""


class SignatureError(WmError):
    """A signature or owner's key is malformed or impossible."""


class EmbeddingError(WmError):
    """The watermark could not be embedded; the text says how far it came."""


class ClaimError(WmError):
    """A claim or a votes file is malformed, edited, or does not fit the suspect model."""


class EndpointError(WmError):
    """A suspect's address cannot be used as given, or what it answered is no answer."""


class EndpointUnavailableError(EndpointError):
    """A suspect does not answer now: not reachable, overloaded or too slow; the same may succeed later."""


class QueryError(WmError):
    """A forgery query does not fit its forest."""


class AttackError(WmError):
    """An unknown attack, an installed package's attack that cannot be used, or options without a meaning."""


class FitError(EmbeddingError, ValueError):
    """What the estimator's `fit` was given cannot carry a watermark; scikit-learn expects a ValueError."""
