"""Source of a data set: a public name or a file, and how to read its labels."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from wm.datasets.cache import default_data_dir
from wm.datasets.dialect import separator
from wm.datasets.preparing import Categorical, Missing, Preparing
from wm.datasets.wording import Naming, as_key
from wm.errors import DataError
from wm.user_cache import expanded

BUNDLED_NAMES = ("breast-cancer", "iris", "wine", "digits")
"""Sets that are part of scikit-learn: 569 rows of 30 features, 150 of 4, 178 of 13, 1,797 of 64; the last
three have three, three and ten classes."""

FIXED_NAMES = (*BUNDLED_NAMES, "mnist2-6", "ijcnn1")
"""Public sets with a label of their own; `loading` has a reader for each."""

_OPENML_NAME = re.compile(r"openml:([1-9][0-9]{0,8})")


class FileFormat(StrEnum):
    """Formats of files that hold a data set."""

    CSV = "csv"
    NPZ = "npz"
    SVMLIGHT = "svmlight"
    PARQUET = "parquet"
    FEATHER = "feather"
    ARFF = "arff"


_FORMATS = {
    ".csv": FileFormat.CSV,
    ".npz": FileFormat.NPZ,
    ".svm": FileFormat.SVMLIGHT,
    ".svmlight": FileFormat.SVMLIGHT,
    ".libsvm": FileFormat.SVMLIGHT,
    ".txt": FileFormat.SVMLIGHT,
    ".tsv": FileFormat.CSV,
    ".data": FileFormat.CSV,
    ".parquet": FileFormat.PARQUET,
    ".feather": FileFormat.FEATHER,
    ".arff": FileFormat.ARFF,
}
OF_NUMBERS = (FileFormat.NPZ, FileFormat.SVMLIGHT)
"""Formats that hold arrays of numbers, not tables of named columns."""

_BINARY = (FileFormat.NPZ, FileFormat.PARQUET, FileFormat.FEATHER)
_COMPRESSED_ENDINGS = (".bz2", ".gz")


@dataclass(frozen=True)
class Source:
    """Source of rows and labels; exactly one of `name` and `path` is given.

    Raises
    ------
    DataError
        Name and path are both given or both missing, the name or the file's ending is unknown, or an option
        does not apply to the kind of source.
    """

    name: str | None = None
    """One of `FIXED_NAMES`, or "openml:<id>"."""
    path: Path | None = None
    """A file: .csv (also .tsv, .data), .arff, .parquet, .feather, .npz, or svmlight (.svm, .svmlight,
    .libsvm, .txt); text may be .gz or .bz2. A relative path is looked for in the working directory, then in
    the data directory."""
    label: str | int | None = None
    """The label's column, by name or by index from 0 (negative: from the right), required; ARFF: default the
    last one. OpenML: the target's name, default the set's own. npz: the array's name, default "y" (rows are
    in "X")."""
    header: bool | None = None
    """csv: whether the first row holds names. None: found out from `label` and the other rows."""
    sep: str | None = None
    """csv: what separates cells: "," ";" "tab" "|" or "space". None: found out."""
    positive: str | None = None
    """The class that becomes 1, against all others. None: each class counts, in order: numbers in numeric
    order, other labels in alphabetical order."""
    missing: Missing = "refuse"
    """Missing values: "refuse", "drop" their rows, or put the "median" of the training rows."""
    categorical: Categorical = "refuse"
    """Text: "refuse", "onehot" (a feature for each value) or "ordinal" (places in sorted order)."""
    drop: tuple[str | int, ...] = ()
    """Columns to leave out, by name or index from 0."""
    naming: Naming = field(default=as_key, compare=False, repr=False)
    """How errors name these options: as keys, or as options of the command line."""

    def __post_init__(self) -> None:
        if self.name is not None and self.path is not None:
            raise DataError(f"data set has both name {self.name!r} and path {str(self.path)!r}: give one")
        if self.sep is not None:
            separator(self.sep)
        if self.name is not None:
            self._check_named(self.name)
        elif self.path is not None:
            self._check_file(self.path)
        else:
            raise DataError("data set has neither name nor path: give one")

    def _check_named(self, name: str) -> None:
        self._check_text_only(f"data set {name!r}")
        self._check_categories(f"data set {name!r}")
        if self.openml_id is None:
            if name not in FIXED_NAMES:
                known = ", ".join((*FIXED_NAMES, "openml:<id>"))
                raise DataError(f"unknown data set {name!r}: known are {known}; for a file give its path")
            if self.label is not None:
                raise DataError(f"data set {name!r} has its own label: leave label out")
        elif isinstance(self.label, int):
            raise DataError(f"data set {name!r}: label must be the target's name, not {self.label}")

    def _check_file(self, path: Path) -> None:
        kind = file_format(path)
        if kind is not FileFormat.CSV:
            self._check_text_only(str(path))
        if kind in OF_NUMBERS:
            self._check_categories(str(path))
        if kind is FileFormat.SVMLIGHT and self.label is not None:
            raise DataError(f"{path}: an svmlight row starts with its label: leave label out")
        if kind is FileFormat.NPZ and isinstance(self.label, int):
            raise DataError(f"{path}: label must be the name of an array, not {self.label}")

    def _check_text_only(self, what: str) -> None:
        for name, value in {"header": self.header, "sep": self.sep}.items():
            if value is not None:
                raise DataError(f"{what}: {name} applies to csv files only")

    def _check_categories(self, what: str) -> None:
        if self.categorical != "refuse":
            raise DataError(f"{what}: categorical applies to tables with text only")

    @property
    def preparing(self) -> Preparing:
        """How columns become numbers."""
        return Preparing(self.missing, self.categorical, self.drop)

    @property
    def title(self) -> str:
        """The public name, or the file's name without its directory."""
        return self.path.name if self.path is not None else str(self.name)

    @property
    def openml_id(self) -> int | None:
        """The number of an "openml:<id>" source, else None."""
        match = _OPENML_NAME.fullmatch(self.name or "")
        return int(match[1]) if match else None


def file_format(path: Path) -> FileFormat:
    """Return a file's format by its ending; raise `DataError` for an unknown one."""
    endings = [ending.lower() for ending in path.suffixes]
    compressed = bool(endings) and endings[-1] in _COMPRESSED_ENDINGS
    if compressed:
        endings.pop()
    kind = _FORMATS.get(endings[-1]) if endings else None
    if kind is None or (compressed and kind in _BINARY):
        known = ", ".join(_FORMATS)
        raise DataError(f"{path}: unknown ending: known are {known} (text also with .gz or .bz2)")
    return kind


def find_file(path: Path, data_dir: Path) -> Path:
    """Return the path of a source's file, as given or in the data directory; raise `DataError` if missing."""
    for candidate in (expanded(path), data_dir / path):
        if candidate.is_file():
            return candidate
    if path.is_dir():
        raise DataError(f"{path}: is a directory, not a file")
    where = "" if path.is_absolute() else f" in {Path.cwd()} or {data_dir}"
    raise DataError(f"{path}: no such file{where}")


def file_sha256(source: Source, data_dir: Path | None = None) -> str | None:
    """Return the SHA-256 (hex) of a source's file, None for a named set.

    Raises
    ------
    DataError
        The file is missing or unreadable.
    """
    if source.path is None:
        return None
    path = find_file(source.path, default_data_dir() if data_dir is None else data_dir)
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
