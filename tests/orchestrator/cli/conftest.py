"""The command line called in this process, a finished campaign and a watermarked model, each made once."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

import orchestrator.cli
from tests import witness
from tests.sharing import copy_store, made_once
from wm.claims.keys import to_pem
from wm.claims.pooled import PooledClaim
from wm.claims.reading import read_whole_claim
from wm.embedding.claimed import owner_key
from wm.verification.samples import Sample, sample_of

_CAMPAIGN = """\
name = "tiny"
seed = 5

[dataset]
name = "breast-cancer"

[forest]
n_estimators = 24
max_depth = 3

[embedding]
trigger_share = [0.01, 0.02]
training = "paper"
weight_step = 20.0

[[attack]]
kind = "detection"

[[attack]]
kind = "suppression"

[[attack]]
kind = "forgery"
engine = "sat"
signatures = 2
eps = [0.1, 0.5]
timeout_s = 10
only = { trigger_share = 0.02 }
"""


@dataclass(frozen=True)
class Ran:
    """What one call of `wm` did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return stdout as the one strict JSON document that it must be."""
        return json.loads(self.out, parse_constant=_refuse)

    def refusal(self) -> str:
        """Return the only line of a refusal."""
        assert (self.code, self.out) == (2, "")
        (line,) = self.err.splitlines()
        assert line.startswith("wm: ")
        assert line.isprintable()
        return line


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


class Wm(Protocol):
    """Calls `wm` as the installed command does: arguments as given, whatever their type."""

    def __call__(self, *arguments: object) -> Ran: ...


@pytest.fixture(scope="session")
def wm() -> Wm:
    return _call


def _call(*arguments: object) -> Ran:
    """Run `main` and catch its streams, byte streams underneath as in a process of its own."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, write_through=True)
        for errors in ("strict", "backslashreplace")
    )
    former = signal.getsignal(signal.SIGTERM)
    try:
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.setattr(sys, "argv", ["wm", *map(str, arguments)])
            with pytest.raises(SystemExit) as left:
                orchestrator.cli.main()
    finally:
        signal.signal(signal.SIGTERM, former)
    assert isinstance(left.value.code, int)
    return Ran(left.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


@pytest.fixture(autouse=True)
def quiet_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in an empty directory, with no variable set that the command line would heed."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("WM_") or name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name)


@dataclass(frozen=True)
class Campaign:
    """A campaign file, a store that holds it, and the output of its first run."""

    file: Path
    url: str
    first: Ran

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.read_text()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A finished campaign: 24 trees, two watermarks, all attacks, 28 queries."""

    def make(folder: Path) -> None:
        (folder / "tiny.toml").write_text(_CAMPAIGN)
        store = f"sqlite:///{folder / 'wm.db'}"
        first = _call("campaign", "run", folder / "tiny.toml", "--store", store, "--workers", 1)
        assert first.code == 0, first.err
        (folder / "first.json").write_text(json.dumps(asdict(first)))

    made = made_once(tmp_path_factory, "tiny", make)
    own = copy_store(made / "wm.db", tmp_path_factory.mktemp("tiny") / "wm.db")
    first = Ran(**json.loads((made / "first.json").read_text()))
    return Campaign(made / "tiny.toml", f"sqlite:///{own}", first)


EMBED = (
    *("embed", "--dataset", "breast-cancer", "--scaling", "train", "--trees", "24", "--max-depth", "4"),
    *("--training", "paper", "--weight-step", "20"),
)
"""An embedding that takes a fifth of a second, with just enough trees for a p-value below 10^-6."""


CLAIM = ("claim", "new", "--dataset", "breast-cancer", "--scaling", "train", "--trees", "24")
"""A claim that the options of `FIT` can be trained for."""

FIT = EMBED[7:]


@pytest.fixture(scope="session")
def quick_embed() -> tuple[str, ...]:
    """The words of a rehearsal: the claim is made at once, and nobody witnesses its draw."""
    return EMBED


@pytest.fixture(scope="session")
def quick_claim() -> tuple[str, ...]:
    return CLAIM


@pytest.fixture(scope="session")
def quick_fit() -> tuple[str, ...]:
    """The options of `quick_embed` that a claim does not fix."""
    return FIT


@dataclass(frozen=True)
class Model:
    """A released forest with its claim, drawn by a notary, and all files on the way to it.

    Attributes
    ----------
    forest, claim, held_out, embedded
        What `wm embed --claim` wrote and printed.
    key, trust
        The owner's private key, and a judge's list of trusted beacons: the notary.
    undrawn, commitment, receipt
        What `wm claim new` wrote, and the notary's receipt for it.
    old_claim
        A claim of version 2 with the same trigger rows and signature.
    foreign_forest, foreign_claim
        Made by another owner, for nobody's draw.
    """

    forest: Path
    claim: Path
    held_out: Path
    embedded: Ran
    key: Path
    trust: Path
    undrawn: Path
    commitment: Path
    receipt: Path
    old_claim: Path
    foreign_forest: Path
    foreign_claim: Path

    @property
    def content(self) -> dict[str, Any]:
        """The claim as JSON."""
        content: dict[str, Any] = json.loads(self.claim.read_text())
        return content

    @property
    def read(self) -> PooledClaim:
        """The claim."""
        return read_whole_claim(self.claim)

    @property
    def sample(self) -> Sample:
        """What the claim shows a judge."""
        return sample_of(self.read)

    @property
    def judge(self) -> tuple[object, ...]:
        """Options of a judge who trusts the notary and knows the suspect's age."""
        return ("--trust", self.trust, "--suspect-since", witness.LATER)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    names = ("owner.key", "trust.json", "undrawn.json", "commitment.json", "receipt.json", "old.json")
    key, trust, undrawn, commitment, receipt, old = (folder / name for name in names)
    key.write_bytes(to_pem(owner_key(3)))
    trust.write_text(witness.TRUST.to_json())
    committed = _call(*CLAIM, "--key", key, "--seed", 3, "-o", undrawn, "--commitment", commitment)
    assert committed.code == 0, committed.err
    receipt.write_text(witness.witness(read_whole_claim(undrawn)).to_json())
    held_out = folder / "held-out.npz"
    drawn = ("--claim", undrawn, "--receipt", receipt)
    with pytest.MonkeyPatch.context() as patch:  # the same model in every run of the tests
        patch.setattr("secrets.randbits", lambda _bits: 3)
        mine = _call("embed", *drawn, *FIT, "-o", folder / "mine", "--held-out", held_out, "--json")
    other = _call(*EMBED, "--seed", 4, "-o", folder / "other")
    assert (mine.code, other.code) == (0, 0), mine.err + other.err
    claim = folder / "mine" / "claim.json"
    old.write_text(witness.old_claim(read_whole_claim(claim)).to_json())
    return Model(
        forest=folder / "mine" / "forest.npz",
        claim=claim,
        held_out=held_out,
        embedded=mine,
        key=key,
        trust=trust,
        undrawn=undrawn,
        commitment=commitment,
        receipt=receipt,
        old_claim=old,
        foreign_forest=folder / "other" / "forest.npz",
        foreign_claim=folder / "other" / "claim.json",
    )
