"""`wm demo`: a small campaign on breast-cancer, from embedding to report."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.campaign import WORKERS, executor_maker, run_to_end
from orchestrator.cli.common import FOLDER, print_frame
from orchestrator.cli.marks import mark
from orchestrator.files import SECRET, write_whole, writing
from orchestrator.launch import launch
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from wm.claims.claim import read_claim
from wm.forest import Forest
from wm.verification.evidence import Evidence, verify
from workers.jobs.kinds import JobKind


@click.command()
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    default=Path("demo"),
    help="Directory for the store, the watermarked forest, its claim and the report.",
)
@WORKERS
def demo(output: Path, workers: int | None) -> None:
    """Embed, verify, attack and report on the breast-cancer data set.

    This takes about a minute. A second run computes nothing again.
    """
    from orchestrator.report import write_report

    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    store = Store(f"sqlite:///{output / 'wm.db'}")
    text = (resources.files("orchestrator") / "demo.toml").read_text(encoding="utf-8")
    spec = parse_spec(text, what="demo.toml")
    campaign_id = launch(store, spec)
    run_to_end(store, campaign_id, spec.name, executor_maker(store, workers))
    write_report(store, campaigns.get_campaign(store, campaign_id), output / "report.html")
    evidence = verify_exported(store, campaign_id, output)
    click.echo(f"Verification of {output / 'forest.npz'} against {output / 'claim.json'}:")
    matched = f"{evidence.matched_bits} of {evidence.total_bits} bits match"
    click.echo(f"{mark(evidence.significant)} {matched}, p = {evidence.p_value:.2g}")
    for title, frame in tables(store, campaign_id).items():
        click.echo(f"\n{title}")
        print_frame(frame)
    click.echo(f"Report: {output / 'report.html'}")
    click.get_current_context().exit(Exit.DONE if evidence.significant else Exit.NEGATIVE)


def verify_exported(store: Store, campaign_id: int, directory: Path) -> Evidence:
    """Write the first watermarked forest and its claim to files, read them back, and verify."""
    from orchestrator.results import first_result

    embedded = first_result(store, campaign_id, JobKind.EMBED)
    assert embedded is not None  # noqa: S101 - the caller ran the campaign to its end
    ledger = StoreLedger(store)
    write_whole(directory / "forest.npz", ledger.artifact(embedded["forest"]))
    write_whole(directory / "claim.json", ledger.artifact(embedded["claim"]), mode=SECRET)
    forest = Forest.load(directory / "forest.npz")
    claim = read_claim(directory / "claim.json")
    return verify(forest.votes(claim.trigger_set.X), claim.trigger_set.y, claim.bits)


def tables(store: Store, campaign_id: int) -> dict[str, Any]:
    """Return the frames to print, by title."""
    from orchestrator.results import frame

    accuracy = frame(store, campaign_id, "accuracy").groupby("trigger_share")
    suppression = frame(store, campaign_id, "suppression").groupby("method")
    forgery = frame(store, campaign_id, "forgery").groupby(["engine", "eps"])
    found = {
        "Accuracy (mean over repeats)": accuracy[
            ["accuracy_standard", "accuracy_capped", "accuracy_watermarked"]
        ].mean(),
        "Suppression: detection of trigger queries": suppression[["auc", "tpr_at_1pct_fpr"]].mean(),
        "Forgery: size of the forged trigger set over signatures": forgery.agg(
            signatures=("signature", "nunique"),
            trigger_size=("trigger_size", "max"),
            mean_forged=("forged", "mean"),
            max_forged=("forged", "max"),
            impossible=("impossible", "sum"),
            timeout=("timeout", "sum"),
            seconds=("seconds", "sum"),
        ),
    }
    return {title: table.reset_index() for title, table in found.items()}
