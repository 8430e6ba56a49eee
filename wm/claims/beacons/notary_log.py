"""A notary's log: every receipt that it gave, one a line, so that receipts of one owner are counted.

The file only grows. Any number of threads and processes may give receipts with one log at the same time: each
holds the file's lock (`flock`) while it counts, signs and appends. A receipt is on the disk before anybody
sees it.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wm.claims.beacons.base import Receipt
from wm.claims.beacons.notary import MAX_LINE, read_unchecked, sign_receipt
from wm.claims.beacons.request import CommitmentRequest
from wm.claims.keys import public_hex
from wm.errors import ClaimError

_PIECE: Final = 2**16
"""Bytes of the log that are read at once."""


class NotaryLog:
    """A notary with its log.

    Parameters
    ----------
    path
        The log's file; it is made, with mode 0600, for the first receipt.
    key
        The notary's.
    """

    def __init__(self, path: str | Path, key: Ed25519PrivateKey) -> None:
        self._path = Path(path)
        self._key = key
        self._notary = public_hex(key)
        self._turn = threading.Lock()
        self._forget()

    @property
    def notary(self) -> str:
        """The notary's public key, hex."""
        return self._notary

    def sign(self, request: CommitmentRequest, *, now: datetime | None = None) -> Receipt:
        """Return a receipt, after adding it to the log.

        Parameters
        ----------
        now
            As for `sign_receipt`.

        Raises
        ------
        ClaimError
            The log cannot be opened, has a line that is no receipt, or became shorter: the owner's receipts
            cannot be counted.
        OSError
            The disk is full or broken: no receipt was given.
        """
        with self._locked() as file:
            self._catch_up(file)
            receipt = sign_receipt(
                self._key,
                commitment=request.commitment,
                owner=request.owner,
                number=self._numbers.get(request.owner, 0) + 1,
                now=now,
            )
            _append(file, receipt.content.encode() + b"\n")
        return receipt

    def count(self) -> int:
        """Return the number of all receipts; errors as in `sign`."""
        with self._locked() as file:
            self._catch_up(file)
            return self._lines

    def copy(self) -> Iterator[bytes]:
        """Yield the log in pieces, as far as it is written now; nothing if there is none yet."""
        if not self._path.exists():
            return
        with self._locked() as file:  # so that the last line is whole
            left = os.fstat(file.fileno()).st_size
        with self._opened("rb") as reader:
            while left and (piece := reader.read(min(left, _PIECE))):
                left -= len(piece)
                yield piece

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        with self._turn, self._opened("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
            yield file

    @contextmanager
    def _opened(self, mode: Literal["rb", "r+b"]) -> Iterator[BinaryIO]:
        try:
            file = open(self._path, mode, opener=_opener)  # noqa: SIM115 - Path.open takes no opener
        except OSError as reason:
            raise ClaimError(f"{self._path}: the log cannot be opened ({reason.strerror})") from reason
        with file:
            yield file

    def _forget(self) -> None:
        self._file: tuple[int, int] | None = None  # device and inode
        self._read = 0  # bytes that are counted
        self._lines = 0
        self._numbers: dict[str, int] = {}  # of owners' receipts

    def _catch_up(self, file: BinaryIO) -> None:
        """Count the lines that are new, perhaps of other processes."""
        state = os.fstat(file.fileno())
        if self._file != (state.st_dev, state.st_ino):
            self._forget()
            self._file = (state.st_dev, state.st_ino)
        if state.st_size < self._read:
            raise ClaimError(f"{self._path}: the log became shorter: receipts are missing")
        file.seek(self._read)
        while line := file.readline(MAX_LINE):
            self._count(line)
            self._read += len(line)

    def _count(self, line: bytes) -> None:
        place = f"{self._path}: line {self._lines + 1}"
        if not line.endswith(b"\n"):
            raise ClaimError(f"{place}: is cut off or too long: if it is the last one, remove it")
        try:
            notary, statement = read_unchecked(line.decode())
        except (ClaimError, UnicodeDecodeError) as reason:
            raise ClaimError(f"{place}: is no receipt: {reason}") from reason
        self._lines += 1
        if notary == self._notary:
            owner, number = statement.predicate.owner, statement.predicate.number
            self._numbers[owner] = max(self._numbers.get(owner, 0) + 1, number)


def _opener(path: str, flags: int) -> int:
    make = os.O_CREAT if flags & os.O_RDWR else 0
    return os.open(path, flags | make | os.O_CLOEXEC, 0o600)


def _append(file: BinaryIO, line: bytes) -> None:
    """Write a line at the end and to the disk, or leave the file as it was."""
    # Past Python's buffer, which would be written again when the file is closed after a fault.
    descriptor = file.fileno()
    end = os.fstat(descriptor).st_size
    try:
        written = 0
        while written < len(line):
            written += os.pwrite(descriptor, line[written:], end + written)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, end)
        raise
    if end == 0:  # the file's name must be on the disk too
        folder = os.open(Path(file.name).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
