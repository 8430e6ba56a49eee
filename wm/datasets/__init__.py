"""Data sets for a binary watermark: found, checked, cut into training and test rows, scaled, hashed.

A `Source` says where rows come from, `load` makes a `Dataset` of it (class 0 or 1 for each row), `split` a
`Split`, which is all that training sees. `source` and `model` hold the types; `files` and `csv_file` read the
user's files; `named` registers the public sets (`mnist`, `ijcnn1`, `openml`); `cache` finds, downloads and
keeps files; `labels` turns any labels into two classes; `splitting` cuts and scales.

May import `wm.errors` and `wm.formats.npz`. scikit-learn and pandas are imported only inside functions.
"""

from wm.datasets.loading import load
from wm.datasets.model import Dataset
from wm.datasets.source import Source, file_sha256
from wm.datasets.splitting import Scaling, Split, split, split_sizes

__all__ = ["Dataset", "Scaling", "Source", "Split", "file_sha256", "load", "split", "split_sizes"]
