"""Data sets for a binary watermark: found, checked, split, scaled and hashed.

A `Source` names the rows, `load` makes a `Dataset` of them (class 0 or 1 for each row), `split` a `Split` for
training. `source` and `model` hold the types; `files` and `csv_file` read the user's files (`dialect`:
encoding and separator, `heading`: names or values, `columns`: cells, `preparing`: numbers, `problems`: what
is refused); `mnist`, `ijcnn1` and `openml` the public sets; `cache` finds, downloads and keeps files;
`labels` encodes labels as two classes; `loading` holds the registry; `splitting` splits and scales.

May import `wm.errors` and `wm.formats`. scikit-learn and pandas are imported only inside functions.
"""

from wm.datasets.loading import load
from wm.datasets.model import Dataset, with_medians
from wm.datasets.preparing import Categorical, Missing
from wm.datasets.source import Source, file_sha256
from wm.datasets.splitting import AnyScaling, Scaling, Split, split, split_sizes

__all__ = [
    "AnyScaling",
    "Categorical",
    "Dataset",
    "Missing",
    "Scaling",
    "Source",
    "Split",
    "file_sha256",
    "load",
    "split",
    "split_sizes",
    "with_medians",
]
