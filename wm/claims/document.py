"""JSON documents that owner and judge exchange: strict models, and errors of one line that name the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wm.errors import ClaimError
from wm.formats.bounded import read_bounded

MAX_DOCUMENT_BYTES = 96 * 2**20
"""Largest file of this kind that is read: a judge parses it within ten seconds and a gigabyte."""

MAX_PARTS = 2**22
"""Largest number of commas in a claim, which bounds its numbers and texts: each costs 100 bytes or more."""

MAX_CLASSES = 100
"""Most classes of one model: more labels are mostly quantities. A claim has a byte for each row's label."""

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""32 bytes as hex: a hash, a nonce, or an Ed25519 public key."""

_LONGEST_PLACE = 100
"""Characters of a field's path that an error shows: a hostile file's keys may be any text."""


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("names are given twice")
    return names


Names = Annotated[tuple[str, ...], AfterValidator(_distinct)]
"""Names of classes or features, each once."""


class Document(BaseModel):
    """Content of a file, accepted exactly as written or refused."""

    # Strict: a file that says the same in another way (true for 1, "0.5" for 0.5) was edited.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    def to_json(self) -> str:
        """Return the file's text, indented.

        Raises
        ------
        ClaimError
            It would be larger than `MAX_DOCUMENT_BYTES`: nobody could read it.
        """
        text = json.dumps(self.model_dump(mode="json"), indent=1) + "\n"
        if len(text) > MAX_DOCUMENT_BYTES:
            raise ClaimError(
                f"it would have {len(text)} bytes, more than the {MAX_DOCUMENT_BYTES} that are read: choose "
                "a smaller pool"
            )
        return text

    def to_line(self) -> str:
        """Return the document as one line of text, with its end."""
        return json.dumps(self.model_dump(mode="json")) + "\n"

    def canonical(self) -> bytes:
        """Return the bytes that are hashed: ASCII text with sorted keys and without spaces."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":")).encode()


_Document = TypeVar("_Document", bound=Document)


def read_document(path: str | Path, kind: str) -> bytes:
    """Return a file's content; `kind` says, with its article, what the file should be.

    Raises
    ------
    ClaimError
        No such file, or one larger than `MAX_DOCUMENT_BYTES`.
    """
    return read_bounded(path, error=ClaimError, max_bytes=MAX_DOCUMENT_BYTES, kind=kind)


def check_parts(text: str | bytes) -> None:
    """Raise `ClaimError` for a claim of more than `MAX_PARTS` parts, before it is parsed."""
    parts = text.count(b",") if isinstance(text, bytes) else text.count(",")
    if parts > MAX_PARTS:
        raise ClaimError(f"it has more than the {MAX_PARTS} numbers and texts that a claim may have")


class SecretDocument(Document):
    """A document whose secrets and rows do not show when it is printed or logged."""

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        header = getattr(self, "header", self)
        yield from ((name, getattr(header, name)) for name in ("scheme", "model_id") if hasattr(header, name))
        yield "commitment", getattr(self, "commitment", None)

    def __str__(self) -> str:
        return repr(self)


@contextmanager
def named_errors(what: str, kind: str) -> Iterator[None]:
    """Raise a validation error or `ClaimError` again as a `ClaimError` that starts with the file's name.

    Parameters
    ----------
    what
        The file's name.
    kind
        What the file should be, with its article.
    """
    try:
        yield
    except ValidationError as reason:
        raise ClaimError(f"{what}: not {kind}: {first_error(reason)}") from reason
    except ClaimError as reason:
        raise ClaimError(f"{what}: {reason}") from reason


def parse_checked(
    text: str | bytes, of: type[_Document], check: Callable[[_Document], None], *, what: str, kind: str
) -> _Document:
    """Read and check the text of a claim or an opening; `what` and `kind` are as in `named_errors`."""
    with named_errors(what, kind):
        check_parts(text)
        found = of.model_validate_json(text)
        check(found)
    return found


def first_error(reason: ValidationError) -> str:
    """Return the first validation error as one short line; a hostile file may choose its keys' names."""
    first = reason.errors()[0]
    place = ".".join(str(part) for part in first["loc"])[:_LONGEST_PLACE]
    message = first["msg"].removeprefix("Value error, ")
    if not place:
        return message
    return f"{place if place.isprintable() else repr(place)}: {message}"
