"""The published numbers: of the paper (EDBT 2025, arXiv 2410.04570) and of its notebooks (Zenodo 13269530).

S. Calzavara, L. Cazzaro, D. Gera, S. Orlando, "Watermarking Decision Tree Ensembles". Each number says where
it stands. Nothing else in this package has a number of the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

SETTINGS = "Section 4, settings"
NOTEBOOKS = "authors' notebooks"
ACCURACY = "Section 4, accuracy"
DETECTION = "Section 4.2.1, detection"
FORGERY = "Section 4.2.2, forgery"


@dataclass(frozen=True)
class Setting:
    """One data set as the paper uses it."""

    dataset: str  # our name for it
    title: str  # the paper's
    rows: int  # training and test rows together
    features: int
    positive_train: int | None  # rows of class 1, where they are published
    positive_test: int | None
    n_estimators: int  # what the grid search chose
    max_depth: int
    cap_leaves: int  # most leaves of a watermarked tree, from the notebooks
    accuracy: float  # of the standard forest, a share of the test rows with four decimals
    trigger_rows: int  # at a trigger share of 2%


DATASETS = (
    Setting("breast-cancer", "breast-cancer", 569, 30, None, None, 70, 8, 19, 0.9591, 7),
    Setting("mnist2-6", "MNIST2-6", 13_866, 784, None, None, 90, 24, 230, 0.9976, 194),
    Setting("ijcnn1", "ijcnn1", 20_000, 22, 931, 876, 80, 18, 500, 0.9706, 200),
)

TRIGGER_SHARE = 0.02
"""Of the training rows, in detection and forgery and over shares of ones."""

ONES_SHARE = 0.5
"""Of the trees, in detection and forgery and over trigger shares."""

NEGLIGIBLE_UP_TO = 0.02
"""Trigger share up to which the loss of accuracy is called negligible."""

LARGEST_DROP = 2.0
"""About the largest drop of accuracy over shares of ones, in percentage points."""


@dataclass(frozen=True)
class Detection:
    """What detection read off one forest by one measure, which is named as in our frames."""

    dataset: str
    measure: str
    mean: float  # over the trees, two decimals
    std: float
    by_strategy: dict[str, tuple[int, int, int]]  # "A" and "B": bits got right, got wrong, and not told


DETECTIONS = (
    Detection("mnist2-6", "depth", 19.82, 2.69, {"A": (31, 11, 48), "B": (57, 33, 0)}),
    Detection("mnist2-6", "leaves", 229.99, 0.10, {"A": (1, 0, 89), "B": (46, 44, 0)}),
    Detection("breast-cancer", "depth", 7.03, 0.81, {"A": (34, 9, 27), "B": (46, 24, 0)}),
    Detection("breast-cancer", "leaves", 18.90, 0.45, {"A": (4, 0, 66), "B": (39, 31, 0)}),
    Detection("ijcnn1", "depth", 18.00, 0.00, {"A": (0, 0, 80), "B": (40, 40, 0)}),
    Detection("ijcnn1", "leaves", 498.88, 5.86, {"A": (0, 3, 77), "B": (37, 43, 0)}),
)


@dataclass(frozen=True)
class MostForged:
    """A statement on the size of forged sets at `eps`, as a share of the true trigger set's."""

    dataset: str
    eps: float
    share: float
    is_limit: bool  # "at most", else about the size itself


FORGED = (
    MostForged("breast-cancer", 0.9, 0.14, is_limit=True),
    MostForged("ijcnn1", 0.1, 0.01, is_limit=False),
)


@dataclass(frozen=True)
class Parity:
    """The least eps at which forged sets reach the true size."""

    dataset: str
    eps: float


PARITY = Parity("mnist2-6", 0.7)


@dataclass(frozen=True)
class TooSlow:
    """Where forgery is said not to scale: more than `hours` for one signature at `eps`."""

    dataset: str
    eps: float
    hours: float


TOO_SLOW = TooSlow("ijcnn1", 0.3, 4.0)


@dataclass(frozen=True)
class Independent:
    """Accuracy of a standard forest on the true trigger set, and on the one forged at `eps`; two decimals.

    The forged set must be large enough to speak of its accuracy; among the paper's that is MNIST2-6's.
    """

    dataset: str
    eps: float
    on_true: float
    on_forged: float


INDEPENDENT = Independent("mnist2-6", 0.7, 0.99, 0.62)

SIGNATURES = {"breast-cancer": 10, "mnist2-6": 10, "ijcnn1": 5}
"""Signatures that the paper's forgery tried."""

DISTANCES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Values of eps that the paper's forgery tried."""

MARGIN = 1e-4
"""How far the notebooks keep a forged instance from every threshold."""

SHARED_SEED_FORGED = (1, 6, 7, 7, 7)
"""Rows of breast-cancer that the notebooks' first signature, the owner's own, forges at `DISTANCES`."""
