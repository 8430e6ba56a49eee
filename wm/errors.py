"""The exceptions of `wm`: one root, one class for each kind of input that a user can fix."""


class WmError(Exception):
    """Root of all errors that `wm` raises; its text is one line for the user."""


class ModelError(WmError):
    """A forest, or a file that should hold one, is damaged, hostile or of an unsupported kind."""


class DataError(WmError):
    """A data set is missing, malformed or unfit for a watermark."""


class SignatureError(WmError):
    """A signature or owner's key is malformed or impossible."""


class EmbeddingError(WmError):
    """The watermark could not be embedded; the text says how far embedding went."""


class ClaimError(WmError):
    """A claim or a votes file is malformed, edited, or does not fit the suspect model."""


class EndpointError(WmError):
    """The address of a suspect model or beacon cannot be used, or its response is not a valid answer."""


class EndpointUnavailableError(EndpointError):
    """A suspect model or beacon is not reachable, overloaded or too slow; a later attempt may succeed."""


class QueryError(WmError):
    """A forgery query does not fit its forest."""


class AttackError(WmError):
    """An unknown attack, an attack of an installed package that cannot be used, or invalid options."""


class FitError(EmbeddingError, ValueError):
    """The data given to the estimator's `fit` cannot carry a watermark; scikit-learn expects a ValueError."""
