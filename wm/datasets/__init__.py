"""Data sets: found, checked, split, scaled and hashed.

A `Source` names the rows, `load` makes a `Dataset` of them (class 0, 1, ... for each row), `split` a `Split`
for training. `source` and `model` hold the types. `files` reads the user's files as `cells` of `columns`:
`csv_file` (`dialect`: encoding and separator, `heading`: names or values), `arff`, and `frames`, also of
pandas. `preparing` makes numbers of them (`problems`: what is refused, `oddities`: what is said);
`preparation` is what travels with a model, `applying` does it to raw rows. `mnist`, `ijcnn1` and `openml`
read the public sets; `cache` finds, downloads and keeps files; `labels` encodes labels as classes;
`loading` holds the registry; `splitting` splits and scales; `narrowing` says what float32 takes away.

May import `wm.errors`, `wm.formats` and `wm.claims.document`. scikit-learn and pandas are imported only
inside functions.
"""

from wm.datasets.loading import load, load_frame
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
    "load_frame",
    "split",
    "split_sizes",
    "with_medians",
]
