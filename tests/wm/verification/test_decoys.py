"""Decoys: labelled rows from the user's files, with the claim's labels."""

from __future__ import annotations

import numpy as np
import pytest

from wm.claims.claim import make_claim
from wm.errors import ClaimError, DataError
from wm.signature import Signature
from wm.verification.decoys import read_decoys


def claim_of(*class_names):
    return make_claim(
        scheme="paper",
        signature=Signature.of("01"),
        X=np.zeros((1, 2), dtype=np.float32),
        y=np.zeros(1),
        model_hash="",
        model_id="",
        class_names=class_names,
    )


@pytest.mark.parametrize(
    ("labels", "names", "codes"),
    [
        (["malignant", "benign"], ("benign", "malignant"), [1, 0]),
        (["benign", "benign"], ("benign", "malignant"), [0, 0]),
        (["0", "1"], ("benign", "malignant"), [0, 1]),
        (["6", "2"], ("2", "6"), [1, 0]),
        (["cat", "dog"], ("not cat", "cat"), [1, 0]),
    ],
)
def test_labels_are_the_claims(tmp_path, labels, names, codes):
    csv, npz = tmp_path / "rows.csv", tmp_path / "rows.npz"
    csv.write_text("a,kind,b\n" + "\n".join(f"0.5,{label},{row}" for row, label in enumerate(labels)))
    np.savez(npz, X=[[0.5, 0], [0.5, 1]], y=labels)
    for path, label in ((csv, "kind"), (csv, 1), (npz, None)):
        decoys = read_decoys(path, claim_of(*names), label=label)
        assert decoys.X.dtype == np.float32
        assert decoys.X.tolist() == [[0.5, 0], [0.5, 1]]
        assert decoys.y.tolist() == codes


@pytest.mark.parametrize(
    ("X", "y", "kind", "reason"),
    [
        ([[0, 0], [1, 1]], ["a", "c"], ClaimError, "has labels a, c; 0 and 1, or 'a' and 'b' are needed"),
        ([[0, 0], [1, np.nan]], ["a", "b"], ClaimError, "missing or not finite"),
        ([[0, 0], [1, 1e39]], ["a", "b"], ClaimError, "missing or not finite"),
        ([[0, 0], [1, 1]], ["a"], DataError, "one label for each row"),
    ],
)
def test_other_files_are_refused(tmp_path, X, y, kind, reason):
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    with pytest.raises(kind) as refused:
        read_decoys(tmp_path / "rows.npz", claim_of("a", "b"))
    assert reason in str(refused.value)
