"""How the trees of a line-up are trained, as its claim has it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from wm.claims.document import Document

MaxFeatures = Literal["sqrt", "log2"] | Annotated[float, Field(gt=0, lt=1)]
"""Features looked at for each split: a rule, or a share of all."""


class TreeSettings(Document):
    """How each tree is trained: scikit-learn's `DecisionTreeClassifier` with these limits and its own seed.

    Attributes
    ----------
    max_depth, max_leaf_nodes
        None: no limit.
    min_samples_leaf
        Rows in each leaf.
    max_features
        See `MaxFeatures`.
    bootstrap
        Whether each tree has its own sample of the rows, drawn by its seed.
    """

    max_depth: Annotated[int, Field(ge=1, le=1000)] | None = None
    max_leaf_nodes: Annotated[int, Field(ge=2, lt=2**31)] | None = None
    min_samples_leaf: Annotated[int, Field(ge=1, lt=2**31)] = 1
    max_features: MaxFeatures = "sqrt"
    bootstrap: bool = False


class BoostingSettings(Document):
    """How each round of a boosted model of two classes is trained, with its own seed.

    Attributes
    ----------
    max_depth
        Of each tree.
    learning_rate
        Factor of what each tree adds.
    subsample
        Share of the rows that each round sees, drawn by its seed without replacement.
    min_samples_leaf
        Rows in each leaf.
    max_features
        As in `TreeSettings`.
    """

    max_depth: Annotated[int, Field(ge=1, le=1000)]
    learning_rate: Annotated[float, Field(gt=0, le=1)]
    subsample: Annotated[float, Field(gt=0, le=1)]
    min_samples_leaf: Annotated[int, Field(ge=1, lt=2**31)] = 1
    max_features: MaxFeatures = "sqrt"


Settings = TreeSettings | BoostingSettings
"""Of a line-up's header: the fields of one are not those of the other."""
