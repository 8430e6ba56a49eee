"""`wm key new`: a private key that only its owner can read, and its public half on stdout."""

from __future__ import annotations

import stat
from pathlib import Path

from wm.claims.keys import public_hex, read_key


def test_a_key_is_written_for_its_owner_only(wm) -> None:
    ran = wm("key", "new", "-o", "owner.pem", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json() == {"private_key": "owner.pem", "public_key": public_hex(read_key("owner.pem"))}
    assert stat.S_IMODE(Path("owner.pem").stat().st_mode) == 0o600
    plain = wm("key", "new", "-o", "another.pem")
    assert plain.out.splitlines()[1].split() == ["public_key", public_hex(read_key("another.pem"))]
    assert "PRIVATE" not in plain.out + ran.out


def test_a_key_is_replaced_only_if_forced(wm) -> None:
    assert wm("key", "new", "-o", "owner.pem").code == 0
    Path("owner.pem").chmod(0o644)
    before = Path("owner.pem").read_bytes()
    assert "owner.pem: exists already" in wm("key", "new", "-o", "owner.pem").refusal()
    assert Path("owner.pem").read_bytes() == before
    assert wm("key", "new", "-o", "owner.pem", "--force").code == 0
    assert Path("owner.pem").read_bytes() != before
    assert stat.S_IMODE(Path("owner.pem").stat().st_mode) == 0o600


def test_a_folder_that_does_not_exist_is_named(wm) -> None:
    assert "nowhere/owner.pem: cannot be written" in wm("key", "new", "-o", "nowhere/owner.pem").refusal()
