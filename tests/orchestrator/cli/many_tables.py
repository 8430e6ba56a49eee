"""Some eighty small tables as users have them, each with what should become of it."""

from __future__ import annotations

import bz2
import gzip
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

ROWS = 48
NUMBERS = ("size", "weight")


@dataclass(frozen=True)
class Case:
    """A table and its outcome.

    Attributes
    ----------
    content
        The file's bytes.
    name
        The file's name.
    labels
        The class of each row, as `wm predict` should name it.
    options
        Of `wm embed`.
    refusal
        Parts of the one refusal; none: the table is accepted.
    fix
        Options with which a table that was refused is accepted; None: there are none.
    said
        Parts of what is printed about an accepted table.
    read
        Options of `wm predict`.
    """

    content: bytes
    name: str = "rows.csv"
    labels: tuple[str, ...] = ()
    options: str = "--label y"
    refusal: tuple[str, ...] = ()
    fix: str | None = None
    said: tuple[str, ...] = ()
    read: str = ""


@dataclass
class Rows:
    """A table of two classes that two numbers tell apart, and whatever a case adds."""

    names: list[str] = field(default_factory=lambda: [*NUMBERS, "y"])
    cells: list[list[str]] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    @classmethod
    def made(cls, classes: Sequence[str] = ("0", "1"), rows: int = ROWS, share: float = 0.5) -> Rows:
        """Return a table whose share of class 1 is as wanted."""
        rng = random.Random(7)  # noqa: S311 - no secret
        table = cls()
        ones = round(rows * share)
        for row in range(rows):
            code = int(row % 2) if share == 0.5 else int(row < ones)
            numbers = [f"{rng.gauss(3.0 * code, 0.7):.3f}" for _ in NUMBERS]
            table.cells.append([*numbers, classes[code]])
            table.codes.append(code)
        return table

    def adding(self, name: str, value: Callable[[int, int], object]) -> Rows:
        """Add a column before the label; `value` takes a row's number and its class."""
        self.names.insert(-1, name)
        for row, (cells, code) in enumerate(zip(self.cells, self.codes, strict=True)):
            cells.insert(-1, str(value(row, code)))
        return self

    def text(self, sep: str = ",", header: bool = True, newline: str = "\n") -> str:
        """Return the lines of the table."""
        lines = [sep.join(row) for row in ([self.names] if header else []) + self.cells]
        return newline.join(lines) + newline

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels as they are written."""
        return tuple(cells[-1] for cells in self.cells)

    def frame(self) -> pd.DataFrame:
        """Return the table as pandas reads it."""
        return pd.read_csv(io.StringIO(self.text()))


def _gap(mark: str, column: str = "age") -> Rows:
    return Rows.made().adding(column, lambda row, code: mark if row % 6 == 5 else 20 + row % 9 + 9 * code)


def _text(table: Rows, **rest: Any) -> Case:
    return Case(table.text().encode(), labels=table.labels, **rest)


def _refused(table: Rows, *parts: str, fix: str | None = None, **rest: Any) -> Case:
    return Case(table.text().encode(), labels=table.labels, refusal=parts, fix=fix, **rest)


def _dialects() -> dict[str, Case]:
    plain = Rows.made()
    labels = plain.labels
    commas = Rows.made()
    commas.cells = [[cell.replace(".", ",") for cell in cells] for cells in commas.cells]
    quoted = Rows.made()
    quoted.cells = [[f'"{cell}"' for cell in cells] for cells in quoted.cells]
    names = Rows.made().adding("city", lambda row, _code: f'"Paris, {["TX", "FR"][row % 2]}"')
    inner = Rows.made().adding("note", lambda row, _code: ['"a ""b"""', "c"][row % 2])
    spread = Rows.made().adding("note", lambda row, _code: ['"two\nlines"', "one"][row % 2])
    umlaut = Rows.made().adding("größe", lambda row, _code: row % 5)
    padded = Rows.made()
    padded.cells = [[f" {cell} " for cell in cells] for cells in padded.cells]
    text = plain.text()
    lines = text.splitlines(keepends=True)
    first = Rows.made()
    front = "".join(f"{cells[-1]},{cells[0]},{cells[1]}\n" for cells in first.cells)
    spaces = plain.text(sep=" ", header=False)
    aligned = "".join(f"{a:>9}   {b:>9}  {y}\n" for a, b, y in plain.cells)
    return {
        "comma": Case(text.encode(), labels=labels),
        "semicolon": Case(plain.text(";").encode(), labels=labels),
        "tab": Case(plain.text("\t").encode(), "rows.tsv", labels),
        "bar": Case(plain.text("|").encode(), labels=labels),
        "space": Case(spaces.encode(), "rows.data", labels, "--label -1"),
        "aligned": Case(aligned.encode(), "rows.data", labels, "--label 2"),
        "said separator": Case(
            plain.text(";").encode(), labels=labels, options="--label y --sep ;", read="--sep ;"
        ),
        "decimal commas": Case(
            commas.text(";").encode(), labels=labels, said=("decimal commas in 2 columns",)
        ),
        "byte order mark": Case(b"\xef\xbb\xbf" + text.encode(), labels=labels),
        "UTF-16": Case(text.encode("utf-16"), labels=labels),
        "Latin-1": Case(umlaut.text().encode("latin-1"), labels=labels, said=("read as Windows-1252",)),
        "CRLF": Case(plain.text(newline="\r\n").encode(), labels=labels),
        "no last newline": Case(text.rstrip("\n").encode(), labels=labels),
        "blank lines": Case("\n\n".join(text.splitlines()).encode(), labels=labels),
        "comments": Case(
            ("# made by hand\n" + "".join(lines[:9]) + "# more\n" + "".join(lines[9:])).encode(),
            labels=labels,
        ),
        "quotes": Case(quoted.text().encode(), labels=labels),
        "commas in quotes": _text(names, options="--label y --categorical onehot"),
        "quotes in quotes": _text(inner, options="--label y --categorical onehot"),
        "lines in quotes": _text(spread, options="--label y --categorical ordinal"),
        "padded": Case(padded.text().encode(), labels=labels),
        "trailing separators": Case(text.replace("\n", ",\n").encode(), labels=labels),
        "no header": Case(plain.text(header=False).encode(), labels=labels, options="--label -1"),
        "said no header": Case(
            plain.text(header=False).encode(),
            labels=labels,
            options="--label 2 --no-header",
            read="--no-header",
        ),
        "label first": Case(front.encode(), "rows.data", labels, "--label 0"),
        "gzip": Case(gzip.compress(text.encode()), "rows.csv.gz", labels),
        "bzip2": Case(bz2.compress(text.encode()), "rows.csv.bz2", labels),
    }


def _missing() -> dict[str, Case]:
    marks = {
        "empty": "",
        "question": "?",
        "NA": "NA",
        "N/A": "n/a",
        "NaN": "nan",
        "null": "NULL",
        "Excel": "#N/A",
        "pandas": "<NA>",
    }
    found = {
        f"missing, {name}": _refused(
            _gap(mark),
            "column 'age': missing or NaN",
            "in 8 of 48 rows",
            "--missing median",
            fix="--missing median",
        )
        for name, mark in marks.items()
    }
    text = Rows.made().adding("job", lambda row, code: "" if row % 6 == 5 else ["cook", "judge"][code])
    return found | {
        "missing category": _refused(
            text,
            "column 'job': missing",
            "column 'job': text of 2 values",
            fix="--missing median --categorical onehot",
        ),
        "nothing but gaps": _refused(
            Rows.made().adding("gone", lambda *_: ""),
            "column 'gone'",
            "it has no value: give --drop gone",
            fix="--drop gone",
        ),
        "missing in truth": _text(
            Rows.made().adding("owner", lambda row, code: "" if row % 6 == 5 else ["no", "yes"][code]),
            options="--label y --missing median",
        ),
        "a number for none": _text(_gap("-999")),
    }


def _types() -> dict[str, Case]:
    both = "--label y --categorical onehot"
    many = Rows.made().adding("name", lambda row, _code: f"person {row}")
    return {
        "true and false": _text(
            Rows.made().adding("owner", lambda row, code: [True, False][(row + code) % 2])
        ),
        "yes and no": _text(Rows.made().adding("owner", lambda row, code: ["yes", "No"][(row + code) % 2])),
        "categories": _refused(
            Rows.made().adding("job", lambda row, _code: ["cook", "judge", "pilot"][row % 3]),
            "column 'job': text of 3 values ('cook', 'judge', 'pilot')",
            "--categorical onehot or --categorical ordinal",
            fix="--categorical onehot",
        ),
        "ordered categories": _text(
            Rows.made().adding("level", lambda row, _code: "abc"[row % 3]),
            options="--label y --categorical ordinal",
        ),
        "text with numbers": _text(
            Rows.made().adding("code", lambda row, _code: ["A1", "7", "B"][row % 3]), options=both
        ),
        "numbers and a word": _refused(
            Rows.made().adding("doors", lambda row, _code: [2, 3, 4, "5more"][row % 4]),
            "column 'doors': text among numbers ('5more') in 12 of 48 rows, first in line 5",
            "--categorical onehot or --categorical ordinal",
            fix="--categorical onehot",
        ),
        "words among numbers": _refused(
            Rows.made().adding("age", lambda row, _code: "old" if row == 5 else row % 7),
            "column 'age': text among numbers ('old') in 1 of 48 rows, first in line 7",
            fix="--drop age",
        ),
        "dates": _refused(
            Rows.made().adding("day", lambda row, _code: f"2020-01-{1 + row % 28:02}"),
            "column 'day': dates ('2020-01-01'",
            "--drop day, or --categorical ordinal",
            fix="--drop day",
        ),
        "dates in order": _text(
            Rows.made().adding("day", lambda row, _code: f"2020-01-{1 + row % 28:02}"),
            options="--label y --categorical ordinal",
        ),
        "German dates": _refused(
            Rows.made().adding("day", lambda row, _code: f"{1 + row % 28}.1.2020"),
            "column 'day': dates",
            fix="--drop day",
        ),
        "names": _refused(many, "column 'name': text of 48 values", fix="--drop name"),
        "record numbers": _text(
            Rows.made().adding("id", lambda row, _code: 1000 + row),
            said=("columns 'id' number the rows", "--drop id"),
        ),
        "thousands": _refused(
            Rows.made().adding("pay", lambda row, _code: f'"1,{row:03}"'),
            "numbers with commas ('1,000'",
            fix="--drop pay",
        ),
        "percents": _refused(
            Rows.made().adding("rate", lambda row, _code: f"{row}%"),
            "column 'rate': numbers with a unit ('0%'",
            fix="--drop rate",
        ),
        "infinite": _refused(
            Rows.made().adding("ratio", lambda row, _code: "inf" if row == 3 else row % 5),
            "column 'ratio': infinite in 1 of 48 rows",
            fix="--drop ratio",
        ),
        "beyond float32": _refused(
            Rows.made().adding("huge", lambda row, _code: 1e39 if row == 3 else row % 5),
            "more than a float32 can hold",
            fix="--drop huge",
        ),
        "exponents": _text(Rows.made().adding("small", lambda row, _code: f"{row % 7}e-9")),
        "all problems at once": _refused(
            Rows.made()
            .adding("job", lambda row, _code: "ab"[row % 2])
            .adding("age", lambda row, _code: "?" if row % 9 == 0 else row % 4),
            "2 problems with its columns",
            "column 'job'",
            "column 'age'",
            fix="--missing median --categorical onehot",
        ),
    }


def _labels() -> dict[str, Case]:
    three = Rows.made()
    for row, cells in enumerate(three.cells):
        cells[-1] = ["low", "high", "top"][three.codes[row] + (row % 4 == 3)]
    some = Rows.made()
    for row in (3, 8):
        some.cells[row][-1] = ""
    kept = tuple("1" if code else "0" for code in some.codes)
    alone = Rows.made(("1", "1"))
    return {
        "labels 1 and 2": _text(Rows.made(("1", "2"))),
        "labels -1 and +1": Case(
            Rows.made(("-1", "+1")).text().encode(), labels=Rows.made(("-1", "1")).labels
        ),
        "labels in words": _text(Rows.made(("benign", "malignant"))),
        "labels with spaces": _text(Rows.made(("not good", "good"))),
        "labels of money": _text(Rows.made(("<=50K", ">50K"))),
        "labels of truth": _text(Rows.made(("False", "True"))),
        "labels as floats": Case(Rows.made(("0.0", "1.0")).text().encode(), labels=Rows.made().labels),
        "few of class 1": _text(Rows.made(rows=120, share=0.15)),
        "three classes": Case(
            three.text().encode(),
            labels=tuple(three.labels),
            said=("3 classes, 'high', 'low', 'top'", "--positive"),
        ),
        "one of three classes": Case(
            three.text().encode(),
            labels=tuple("low" if label == "low" else "not low" for label in three.labels),
            options="--label y --positive low",
        ),
        "one class": _refused(alone, "all rows have the same label '1': two classes are needed"),
        "labels that lack": Case(
            some.text().encode(),
            labels=kept,
            refusal=("the label is missing or not finite (2 such rows in all)", "--missing drop"),
            fix="--missing drop",
        ),
        "unknown label": _refused(
            Rows.made(), "no column 'target' for the label", options="--label target", fix="--label y"
        ),
        "no label": _refused(
            Rows.made(), "say which column is the label with --label", options="", fix="--label y"
        ),
    }


def _degenerate() -> dict[str, Case]:
    twice = Rows.made()
    twice.names = ["size", "size", "y"]
    same = Rows.made().adding("mass", lambda *_: 0)
    for cells in same.cells:
        cells[2] = cells[1]
    wide = Rows.made()
    for number in range(120):
        wide.adding(f"p{number}", lambda row, _code, number=number: (row * number) % 11)
    repeated = Rows.made()
    repeated.cells, repeated.codes = repeated.cells * 12, repeated.codes * 12
    header = ",".join(Rows.made().names) + "\n"
    ragged = Rows.made().text().replace("\n", ",9\n", 3).replace(",9\n", "\n", 2)
    return {
        "names twice": _refused(twice, "the header names 'size' more than once", options="--label y"),
        "constant": _text(
            Rows.made().adding("unit", lambda *_: 1),
            said=("columns 'unit' have one value only", "--drop unit"),
        ),
        "constant text": _refused(
            Rows.made().adding("unit", lambda *_: "kg"),
            "column 'unit': constant text ('kg')",
            fix="--drop unit",
        ),
        "equal in float32": _text(
            Rows.made().adding("time", lambda row, _code: 10**12 + row),
            said=("rows.csv: column 'time': 48 values become 1 as float32", "--scaling train or --drop time"),
        ),
        "equal columns": _text(same, said=("columns 'mass' are equal to earlier columns", "--drop mass")),
        "wide": _text(wide),
        "each row many times": _refused(repeated, "training rows occur just once"),
        "empty": Case(b"", refusal=("the file is empty",)),
        "blank": Case(b"\n \n", refusal=("the file is empty",)),
        "header alone": Case(header.encode(), refusal=("there are no rows below the header",)),
        "one row": Case(
            (header + "1,2,0\n").encode(), refusal=("all rows have the same label|rows are too few",)
        ),
        "label alone": Case(b"y\n0\n1\n0\n1\n", refusal=("there is no feature, only the label",)),
        "ragged": Case(ragged.encode(), refusal=("line 3 has 4 values, the first row has 3 columns",)),
        "binary": Case(b"a,y\n1\0,2\n", refusal=("is no text: it has a NUL character",)),
    }


def _bytes(write: Callable[[Any], None]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def _formats() -> dict[str, Case]:
    plain = Rows.made()
    labels = plain.labels
    frame = plain.frame()
    mixed = frame.assign(
        job=pd.Categorical(["cook", "judge", None] * 16),
        owner=[True, False] * 24,
        count=pd.array([1, None, 3] * 16, dtype="Int64"),
    )
    dated = frame.assign(day=pd.date_range("2020-01-01", periods=ROWS))
    both = "--label y --categorical onehot --missing median"
    numbers = frame[list(NUMBERS)].to_numpy()
    svm = "".join(f"{y} 1:{a} 2:{b}\n" for a, b, y in plain.cells)
    attributes = "@relation r\n@attribute size numeric\n@attribute weight real\n"
    data = "@data\n" + plain.text(header=False)
    nominal = (
        "@relation r\n@attribute size numeric\n@attribute job {cook,'test pilot'}\n@attribute class {a,b}\n"
        "@data\n"
    )
    jobs = ["cook", "'test pilot'", "?"]
    rows = [
        f"{cells[0]},{jobs[row % 3]},{'ab'[code]}"
        for row, (cells, code) in enumerate(zip(plain.cells, plain.codes, strict=True))
    ]
    noted = "".join(f"{a},{b},'note, {row}',{y}\n" for row, (a, b, y) in enumerate(plain.cells))
    return {
        "parquet": Case(_bytes(frame.to_parquet), "rows.parquet", labels),
        "parquet of all types": Case(
            _bytes(mixed.to_parquet),
            "rows.parquet",
            labels,
            refusal=("column 'job': text of 2 values", "column 'count': missing"),
            fix="--categorical onehot --missing median",
        ),
        "parquet with dates": Case(
            _bytes(dated.to_parquet),
            "rows.parquet",
            labels,
            refusal=("column 'day': dates ('2020-01-01'",),
            fix="--drop day",
        ),
        "feather": Case(_bytes(mixed.to_feather), "rows.feather", labels, both),
        "damaged parquet": Case(b"PAR1 not", "rows.parquet", refusal=("not a readable parquet file",)),
        "ARFF": Case((attributes + "@attribute y {0,1}\n" + data).encode(), "rows.arff", labels, ""),
        "ARFF with categories": Case(
            (nominal + "\n".join(rows)).encode(),
            "rows.arff",
            tuple("ab"[code] for code in plain.codes),
            "",
            refusal=("column 'job': text of 2 values", "column 'job': missing"),
            fix="--categorical onehot --missing median",
        ),
        "ARFF with text": Case(
            (attributes + "@attribute note string\n@attribute y {0,1}\n@data\n" + noted).encode(),
            "rows.arff",
            labels,
            "",
            refusal=("column 'note': text of 48 values", "--drop note"),
            fix="--drop note",
        ),
        "sparse ARFF": Case(
            (attributes + "@attribute y {0,1}\n@data\n{0 1, 2 1}\n").encode(),
            "rows.arff",
            refusal=("line 6: sparse ARFF is not read",),
            options="",
        ),
        "LIBSVM": Case(svm.encode(), "rows.svm", labels, ""),
        "damaged LIBSVM": Case(b"1 1:x\n", "rows.libsvm", refusal=("malformed svmlight text",), options=""),
        "npz": Case(
            _bytes(lambda stream: np.savez(stream, X=numbers, y=np.array(plain.codes))),
            "rows.npz",
            labels,
            "",
        ),
        "npz of text": Case(
            _bytes(lambda stream: np.savez(stream, X=numbers.astype(str), y=np.array(plain.codes))),
            "rows.npz",
            refusal=("array 'X' is <U", "it must be numbers"),
            options="",
        ),
        "a spreadsheet": Case(b"PK\x03\x04", "rows.xlsx", refusal=("unknown ending", ".csv")),
    }


CASES = {**_dialects(), **_missing(), **_types(), **_labels(), **_degenerate(), **_formats()}
