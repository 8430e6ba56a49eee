"""Text tables for tests: read and prepared in one step."""

from __future__ import annotations

from wm.datasets.cells import prepared_table
from wm.datasets.csv_file import read_csv
from wm.datasets.model import RawTable
from wm.datasets.preparing import Preparing
from wm.datasets.wording import as_key


def parse_csv(content, *, where, label, header=None, sep=None, preparing=None) -> RawTable:
    """Read a text table with labels, whose columns become numbers as `preparing` says."""
    options = preparing or Preparing()
    cells = read_csv(content, where=where, label=label, header=header, sep=sep, drop=options.drop)
    return prepared_table(cells, options, as_key)
