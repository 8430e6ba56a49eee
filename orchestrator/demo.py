"""What the demo shows beside the report: an exported model, its verification, and three small tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator import results
from orchestrator.files import SECRET, write_whole
from orchestrator.frames import records
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from wm.claims.claim import read_claim
from wm.forest import Forest
from wm.verification.evidence import Evidence, verify
from workers.jobs import JobKind

Table = tuple[str, list[str], list[list[Any]]]


def verify_exported(store: Store, campaign_id: int, directory: Path) -> Evidence:
    """Write the first watermarked forest and its claim to files, read them back, and verify."""
    embedded = results.first_result(store, campaign_id, JobKind.EMBED)
    assert embedded is not None  # noqa: S101 - the caller ran the campaign to its end
    ledger = StoreLedger(store)
    write_whole(directory / "forest.npz", ledger.artifact(embedded["forest"]))
    write_whole(directory / "claim.json", ledger.artifact(embedded["claim"]), mode=SECRET)
    forest = Forest.load(directory / "forest.npz")
    claim = read_claim(directory / "claim.json")
    return verify(forest.votes(claim.trigger_set.X), claim.trigger_set.y, claim.bits)


def tables(store: Store, campaign_id: int) -> list[Table]:
    """Return title, columns and rows of what a first look should show."""
    accuracy = results.frame(store, campaign_id, "accuracy")
    by_share = accuracy.groupby("trigger_share")[
        ["accuracy_standard", "accuracy_capped", "accuracy_watermarked"]
    ]
    suppression = results.frame(store, campaign_id, "suppression")
    by_method = suppression.groupby("method")[["auc", "tpr_at_1pct_fpr"]].mean()
    forgery = results.frame(store, campaign_id, "forgery")
    by_eps = forgery.groupby(["engine", "eps"]).agg(
        signatures=("signature", "nunique"),
        trigger_size=("trigger_size", "max"),
        mean_forged=("forged", "mean"),
        most_forged=("forged", "max"),
        impossible=("impossible", "sum"),
        timeout=("timeout", "sum"),
        seconds=("seconds", "sum"),
    )
    return [
        ("Accuracy (mean over repeats)", *_flat(by_share.mean())),
        ("Suppression: how well trigger queries are spotted", *_flat(by_method)),
        ("Forgery: size of the forged trigger set over signatures", *_flat(by_eps)),
    ]


def _flat(frame: Any) -> tuple[list[str], list[list[Any]]]:
    plain = frame.reset_index()
    return [str(column) for column in plain.columns], [list(row.values()) for row in records(plain)]
