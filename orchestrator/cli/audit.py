"""`wm audit`: the secrets that a model file leaks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.common import INPUT, json_option, print_facts, print_json, print_table
from orchestrator.cli.marks import mark
from orchestrator.cli.model_files import trust_options

if TYPE_CHECKING:
    from wm.attacks.leakage import LeakageReport

_ROWS_SHOWN = 20
_AS_THEY_ARE = ("trigger_size", "trigger_labels", "weights", "heavy_leaves", "distinct_seeds", "n_trees")


@click.command()
@click.argument("model", metavar="MODEL", type=INPUT)
@click.option("--prefix", help="Prefix of a forest in an npz file with several, its underscore included.")
@trust_options
@click.option(
    "--rows",
    type=INPUT,
    help="Candidate trigger rows to test, scaled as the model takes them (csv of numbers, or npz with X).",
)
@json_option
def audit(
    model: Path,
    prefix: str | None,
    trusted: tuple[str, ...],
    trust_pickle: bool,
    rows: Path | None,
    json: bool,
) -> None:
    """List what a MODEL file reveals of its watermark.

    The file may be npz arrays, skops or joblib, XGBoost's json or ubj, LightGBM's text, CatBoost's json, or
    ONNX (docs/formats.md). Only the file is read, no data and no votes. The exit code is 1 if something
    secret leaks, else 0.
    """
    from wm.attacks.leakage.files import inspect_file
    from wm.verification.answer_files import read_rows

    candidates = None if rows is None else read_rows(rows)
    report = inspect_file(model, prefix=prefix, trusted=trusted, trust_pickle=trust_pickle)
    membership = None if candidates is None else report.membership(candidates).tolist()
    if json:
        print_json({"model": str(model), "prefix": prefix, **_facts(report), "membership": membership})
    else:
        _print(model, report, membership)
    click.get_current_context().exit(Exit.NEGATIVE if report.leaks else Exit.DONE)


def _facts(report: LeakageReport) -> dict[str, Any]:
    return {
        "leaks": report.leaks,
        "findings": [asdict(finding) for finding in report.findings],
        "signature": None if report.signature is None else report.signature.tolist(),
        **{name: getattr(report, name) for name in _AS_THEY_ARE},
    }


def _print(model: Path, report: LeakageReport, membership: list[float] | None) -> None:
    from wm.attacks.leakage.findings import Severity

    secret = [each.name for each in report.findings if each.severity is not Severity.INFO]
    reason = f"leaks: {', '.join(secret)}" if secret else "nothing secret found"
    click.echo(f"{mark(not secret)} {reason}\n")
    if report.findings:
        print_table(
            ["severity", "finding", "what the file reveals", "how to fix it"],
            [[each.severity, each.name, each.detail, each.remedy] for each in report.findings],
        )
        click.echo()
    known = {
        "signature (up to complement)": "".join(map(str, _facts(report)["signature"] or [])),
        "trigger rows": report.trigger_size,
        "of class 0, 1, ...": ", ".join(map(str, report.trigger_labels or [])),
        "their weights": ", ".join(f"{weight:g}" for weight in report.weights),
        "leaves that hold them": report.heavy_leaves or None,
        "distinct seeds": report.distinct_seeds,
    }
    print_facts(
        {
            "model": model,
            "trees": report.n_trees,
            **{name: value for name, value in known.items() if value not in (None, "")},
        }
    )
    if membership is not None:
        order = sorted(range(len(membership)), key=lambda row: -membership[row])
        shown = [row for row in order if membership[row] > 0][: max(_ROWS_SHOWN, report.trigger_size or 0)]
        certain = sum(share == 1.0 for share in membership)
        click.echo(f"\n{certain} of {len(membership)} rows fall into heavy leaves in every tree:")
        print_table(["row", "membership"], [[row, membership[row]] for row in shown])
