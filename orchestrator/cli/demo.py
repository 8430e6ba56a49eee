"""`wm demo`: the main job, end to end, on breast-cancer."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from orchestrator.cli import Exit
from orchestrator.cli.campaign import WORKERS, executor_maker, run_to_end
from orchestrator.cli.common import print_table
from orchestrator.files import writing
from orchestrator.launch import launch
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.database import Store


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    help="Directory for the store, the watermarked forest, its claim and the report.",
)
@WORKERS
def demo(output: Path, workers: int | None) -> None:
    """Embed, verify, attack and report on one small data set.

    It is breast-cancer and takes about a minute. Run it again: nothing is computed twice.
    """
    from orchestrator import demo as summary
    from orchestrator.report import write_report

    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    store = Store(f"sqlite:///{output / 'wm.db'}")
    text = (resources.files("orchestrator") / "demo.toml").read_text(encoding="utf-8")
    spec = parse_spec(text, what="demo.toml")
    campaign_id = launch(store, spec)
    run_to_end(store, campaign_id, spec.name, executor_maker(store, workers))
    record = campaigns.find_campaign(store, spec.name)
    write_report(store, record, output / "report.html")
    verdict = summary.verify_exported(store, campaign_id, output)
    click.echo(f"Verification of {output / 'forest.npz'} against {output / 'claim.json'}:")
    click.echo(f"  {verdict.matched_bits} of {verdict.total_bits} bits match, p = {verdict.p_value:.2g}")
    for title, columns, rows in summary.tables(store, campaign_id):
        click.echo(f"\n{title}")
        print_table(columns, rows)
    click.echo(f"Report: {output / 'report.html'}")
    click.get_current_context().exit(Exit.DONE if verdict.significant else Exit.NEGATIVE)
