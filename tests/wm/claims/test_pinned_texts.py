"""One fixed claim of each kind: its commitment and its file's bytes are what they always were."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wm.claims.claim import make_claim
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupHeader, new_lineup
from wm.claims.lineup_opened import open_lineup
from wm.claims.lineup_settings import BoostingSettings, TreeSettings
from wm.claims.opened import open_claim
from wm.claims.pooled import Header, new_claim
from wm.claims.reading import read_any_claim
from wm.datasets.preparation import MinMax
from wm.embedding.claimed import own_receipt, owner_key
from wm.signature import Signature

KEY = owner_key(5)
SALT, SECRET = b"\x01" * 32, b"\x02" * 32
X = np.array([[0.0, 0.5], [0.25, 1.0], [1.0, 0.0], [0.75, 0.125], [0.5, 0.5]], dtype=np.float32)
Y = np.array([0, 1, 1, 0, 1])
TREES = TreeSettings(max_depth=4)
NAMES = {"class_names": ("no", "yes"), "feature_names": ("age", "höhe")}
COMMON = NAMES | {
    "owner": public_hex(KEY),
    "model_id": "model",
    "domain": ((0.0, 1.0), (0.0, 1.0)),
    "preparation": MinMax(low=(0.0, -1.5), span=(1.0, 2.0)),
}


def old(version):
    return make_claim(
        scheme="paper",
        signature=Signature.of("0110"),
        X=X,
        y=Y,
        model_hash="ab" * 32,
        model_id="model",
        class_names=("no", "yes"),
        nonce=SALT,
        version=version,
    )


def pooled():
    header = Header(scheme="paper", trees=4, ones=2, trigger_size=2, pool_size=5, **COMMON)
    claim = new_claim(header, X, Y, salt=SALT, secret=SECRET, source={"path": "rows.csv", "drop": ("id",)})
    return claim.model_copy(update={"receipts": (own_receipt(5),)})


def lineup(training=TREES):
    header = LineupHeader(
        mode="retrained",
        trees=4,
        candidates=None,
        candidates_root=None,
        training=training,
        environment={"numpy": "2", "sklearn": "1"},
        context="cd" * 32,
        **COMMON,
    )
    return new_lineup(header, salt=SALT, secret=SECRET, source={"path": "rows.csv"})


MADE = {
    "version 1": lambda: old(1),
    "version 2": lambda: old(2),
    "version 3": pooled,
    "line-up": lineup,
    "boosted line-up": lambda: lineup(BoostingSettings(max_depth=2, learning_rate=0.1, subsample=0.5)),
    "opening": lambda: open_claim(pooled(), KEY, "court of X", [1, 3]),
    "line-up opening": lambda: open_lineup(lineup(), KEY, "court of X", 2),
}
PINNED = {
    "version 1": (
        "777a6dcacbd5dbd27051f2648c1e1493e29cea6bd70026da2ff3a3f0c2b232be",
        "db103acca5ab0c44f7da5d68da9d022a8170f3e69818d30b16bd8425705fb59f",
    ),
    "version 2": (
        "0be12d8cf800b58665f1a7fff4eeae325cc61c597dcc1d29b0a472d5d82dfc7f",
        "ae287cacbd69a2d4e95ed269137b8c94a4c6cda48fcf2104a496a19193451408",
    ),
    "version 3": (
        "b9b87c712d1bc7cb15fcc793f370e6436f6debf4d4ac7e0ebc487d7fbf2ba762",
        "d03dc571f0713e0905a9e738b69bbb038db2dad07c11403b682d5882cc441e79",
    ),
    "line-up": (
        "f64855df3ea6375f20b6e77ccb6b251302ba15156f819fcd4c33185f0b984063",
        "740c76c5be033ea0b2e2848e516c99844010b19bfd763b9ce73388d3b613ed4a",
    ),
    "boosted line-up": (
        "65d3ff5c3dac9ddf6280cd23c04c7e5ec7b99071cda584cb2429eb32e9b737b9",
        "d97bdd7ae1ba3424fb329d7e2f38046f206f9c7b612338c597349a05f80bef0e",
    ),
    "opening": (
        "b9b87c712d1bc7cb15fcc793f370e6436f6debf4d4ac7e0ebc487d7fbf2ba762",
        "498c104c497bea9da0d7d2ef91d36fffcc8702bb5c2f3d9fbb1e541ff7684717",
    ),
    "line-up opening": (
        "f64855df3ea6375f20b6e77ccb6b251302ba15156f819fcd4c33185f0b984063",
        "1ecc40b60e44f0c278970a77eef1956a0400ab7105ce9bec928f3ff92fbca6a8",
    ),
}
"""Commitment, and SHA-256 of the file."""


@pytest.mark.parametrize("kind", MADE)
def test_a_claim_of_each_kind_has_the_commitment_and_the_text_that_it_had(kind, tmp_path):
    claim = MADE[kind]()
    text = claim.to_json()
    assert (claim.commitment, hashlib.sha256(text.encode()).hexdigest()) == PINNED[kind]
    file = tmp_path / "claim.json"
    file.write_text(text)
    assert read_any_claim(file) == claim
