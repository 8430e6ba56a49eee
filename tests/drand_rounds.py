"""Rounds of drand networks, as others have published them."""

from __future__ import annotations

from wm.claims.beacons.base import DrandChain
from wm.claims.beacons.drand import DEFAULT, QUICKNET

TESTNET = DrandChain(
    hash="7672797f548f3f4748ac4bf3352fc6c6b6468c9ad40ad456a397545c6e2df5bf",
    public_key="8200fc249deb0148eb918d6e213980c5d01acd7fc251900d9260136da3b54836ce125172399ddc69c4e3e11429b62c11",
    scheme="pedersen-bls-unchained",
    genesis_time=1651677099,
    period=3,
)
"""drand's former test network of 3 s."""

ROUNDS = {
    # https://github.com/mcdcam/python-drand-verify, README.md, with its randomness
    "quicknet": (
        QUICKNET,
        {
            "round": 657413,
            "randomness": "fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
            "signature": "b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56"
            "e91a6b85b89cd97b",
        },
    ),
    # https://github.com/noislabs/drand-verify, src/verify.rs
    "default": (
        DEFAULT,
        {
            "round": 72785,
            "signature": "82f5d3d2de4db19d40a6980e8aa37842a0e55d1df06bd68bddc8d60002e8e959eb9cfa368b3c1b77"
            "d18f02a54fe047b80f0989315f83b12a74fd8679c4f12aae86eaf6ab5690b34f1fddd50ee3cc6f6cdf59e95526d5a5d8"
            "2aaa84fa6f181e42",
            "previous_signature": "a609e19a03c2fcc559e8dae14900aaefe517cb55c840f6e69bc8e4f66c8d18e8a609685d"
            "9917efbfb0c37f058c2de88f13d297c7e19e0ab24813079efe57a182554ff054c7638153f9b26a60e7111f71a0ff63d9"
            "571704905d3ca6df0b031747",
        },
    ),
    # https://github.com/drand/drand, crypto/schemes_test.go
    "testnet": (
        TESTNET,
        {
            "round": 7601003,
            "signature": "af7eac5897b72401c0f248a26b612c5ef68e0ff830b4d78927988c89b5db3e997bfcdb7c24cb19f5"
            "49830cd02cb854a1143fd53a1d4e0713ded471260869439060d170a77187eb6371742840e43eccfa225657c4cc2d9619"
            "f7c3d680470c9743",
        },
    ),
}
