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
from tests.sharing import copy_store, made_once

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
    *("embed", "--dataset", "breast-cancer", "--trees", "24", "--max-depth", "4"),
    *("--training", "paper", "--weight-step", "20"),
)
"""An embedding that takes a fifth of a second, with just enough trees for a p-value below 10^-6."""


@pytest.fixture(scope="session")
def quick_embed() -> tuple[str, ...]:
    return EMBED


@dataclass(frozen=True)
class Model:
    """A released forest with its claim and rows kept for testing, and a forest that another owner made."""

    forest: Path
    claim: Path
    foreign_forest: Path
    decoys: Path
    embedded: Ran

    @property
    def content(self) -> dict[str, Any]:
        """The claim as JSON."""
        content: dict[str, Any] = json.loads(self.claim.read_text())
        return content


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    decoys = folder / "held-out.npz"
    mine = _call(*EMBED, "--seed", 3, "-o", folder / "mine", "--held-out", decoys, "--json")
    other = _call(*EMBED, "--seed", 4, "-o", folder / "other")
    assert (mine.code, other.code) == (0, 0), mine.err + other.err
    return Model(
        forest=folder / "mine" / "forest.npz",
        claim=folder / "mine" / "claim.json",
        foreign_forest=folder / "other" / "forest.npz",
        decoys=decoys,
        embedded=mine,
    )
