"""Results of the attacks of finished campaigns, as docs/attacks.md: numbers only from their stores.

wm campaign run campaigns/attacks-breast-cancer.toml --store sqlite:///attacks.db   (and the others)
python -m research.benchmarks.attacks sqlite:///attacks.db attacks-breast-cancer attacks-ijcnn1 -o docs/attacks.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator import results
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, job, outcome
from research.benchmarks import common
from workers.jobs import JobKind

INTRODUCTION = """\
# Attacks on the paper's scheme, measured

Written by `research/benchmarks/attacks.py` from the stores of `campaigns/attacks-*.toml` and
`campaigns/calibration.toml`; each campaign file says what was run. Figures are means over repeats with other
owners and attackers on one split, smallest and largest in brackets; `n` is their number.
"""

NULLS = """\
Each p-value is counted over the populations that are its null hypothesis, and over no other:

- `verify: votes`, `verify: aligned` and all of `detect:`: the claim's signature was drawn without regard to
  the forest. So it is here, for each claim afresh, and whether somebody else has marked the forest does not
  matter: both populations are nulls.
- `verify: probabilities`, `verify: labels`: the claim's rows were drawn at random among rows like the decoys.
  So they are here, on test rows: both populations are nulls.
- `presence:`: the forest is an honest one of equal settings. Other owners' forests are not: in these it is to
  find something.

`depth` and `leaves` without `exact` are the paper's fair coins, which only come near; the others are exact,
or larger than exact. An alarm, and exit code 1, is a count so high that fair p-values would show one anywhere
in the table in at most 1 of 20 calibrations; that a single interval lies above its level happens more often.
That a signature's null holds for any forest is shown over all signatures of a marked one, not counted, in
`tests/wm/test_calibration.py`; the counts here check that claims are drawn as the null says.
"""

TABLES: dict[JobKind, tuple[str, list[str], dict[str, tuple[str, int | None]]]] = {
    JobKind.LEAKAGE: ("Leakage: what the model file says", ["form"], {
        "share of the bits": ("bits", 2), "k found": ("trigger_size", 0),
        "trigger rows found": ("triggers_found", 1), "other rows": ("others_found", 1),
    }),
    JobKind.DETECTION: ("Detection: what the bare forest says", ["measure", "strategy"], {
        "bits": ("bits", 2), "by chance": ("null_bits", 2), "AUC": ("auc", 2), "correct": ("correct", 1),
        "wrong": ("wrong", 1), "exact p": ("p_value_exact", None),
    }),
    JobKind.SUPPRESSION: ("Suppression: spotting trigger queries", ["method"], {
        "AUC": ("auc", 3), "TPR at 1% FPR": ("tpr_at_1pct_fpr", 2),
        "triggers filtered": ("triggers_spotted", 2), "ordinary touched": ("ordinary_touched", 3),
        "log10 p before": ("log10_p_before", 1), "after": ("log10_p_after", 1), "bits read off": ("bits", 2),
    }),
    JobKind.FREE_FORGERY: ("Free forgery: the claimant chooses", ["method"], {
        "size / k": ("size_over_k", 2), "distinct cells": ("distinct_cells", 1),
        "mean distance": ("mean_distance", 2), "independent forest's accuracy": ("independent_accuracy", 2),
    }),
    JobKind.MODIFICATION: ("Modification: what is left of the watermark", ["modification", "strengths"], {
        "accuracy change": ("accuracy_change", 3), "fidelity": ("fidelity", 3), "bits": ("bits", 2),
        "exact match": ("exact_match", 2), "log10 p": ("log10_p", 1),
        "log10 p from shares": ("log10_p_shares", 1),
    }),
}  # fmt: skip
"""Of each attack: title, what a row of its table is, and by title a column of the frame and its digits."""


def spread(values: pd.Series[Any], digits: int | None = 2) -> str:
    """Return mean and range of a column; one number where they are all alike, nothing where there is none.

    `digits` after the point; None: two significant ones.
    """
    known = values.dropna().astype(float)
    if known.empty:
        return ""
    form = ".2g" if digits is None else f".{digits}f"
    mean, low, high = (
        text.removeprefix("-") if float(text) == 0 else text
        for text in (format(value, form) for value in (known.mean(), known.min(), known.max()))
    )
    return mean if mean == low == high else f"{mean} ({low} to {high})"


def grouped(frame: pd.DataFrame, keys: list[str], columns: Mapping[str, tuple[str, int | None]]) -> str:
    """Return a table with a row for each value of `keys`."""
    rows = [
        [*key, len(part), *(spread(part[name], digits) for name, digits in columns.values())]
        for key, part in frame.groupby(keys, sort=False)
    ]
    return common.markdown([*keys, "n", *columns], rows) + "\n"


def attack(store: Store, campaign_id: int, kind: JobKind) -> Iterator[str]:
    """Yield the section of one attack."""
    title, keys, columns = TABLES[kind]
    yield f"### {title}\n"
    frame = getattr(results, kind.value.replace("-", "_"))(store, campaign_id)
    if kind is JobKind.LEAKAGE:
        frame = frame.drop_duplicates(["repeat", "trigger_share", "ones_share", "form"])
    yield grouped(frame, keys, columns)
    if kind is JobKind.FREE_FORGERY:
        frame["stops"] = frame["stopped_but_for_commitment"].replace("", "nothing")
        frame.loc[frame["size"] == 0, "stops"] = "nothing was forged"
        counts = frame.groupby("method", sort=False)["stops"].value_counts(sort=False).unstack(fill_value=0)
        rows = [
            [method, "; ".join(f"{text} ({n} of {row.sum()})" for text, n in row.items() if n)]
            for method, row in counts.iterrows()
        ]
        yield common.markdown(["method", "stopped by, even with a commitment published in time"], rows) + "\n"


def calibration(store: Store, campaign_id: int) -> Iterator[str]:
    """Yield how often p-values of false claims were small."""
    yield f"### Calibration: false claims\n\n{NULLS}"
    rows = [
        [row.population, row.p_value, f"{row.level:g}", f"{row.hits} of {row.trials}", f"{row.rate:.3f}",
         f"{row.low:.4f} to {row.high:.3f}", "**too often**" if row.anti_conservative else "holds"]
        for row in results.calibration(store, campaign_id).itertuples()
    ]  # fmt: skip
    yield common.markdown(["population", "p-value", "level", "hits", "rate", "95% interval", ""], rows) + "\n"


def done(kind: str, given: Mapping[str, Any]) -> tuple[str, int]:
    """Return what distinguishes a job's cost from that of others of its kind, and how often it was done."""
    methods = ", ".join(given.get("methods", ()))
    match kind:
        case JobKind.MODIFICATION:
            return "+".join(given["steps"]), len(given["strengths"]) * given["tries"]
        case JobKind.DETECTION:
            return f"{methods} ({given['honest']} honest forests)", 1
        case JobKind.SUPPRESSION:
            return f"{methods} ({given['shadows']} shadow models)", 1
        case JobKind.CALIBRATION:
            return f"a false claim to a forest, {given['population']}", given["count"]
        case _:
            return methods, 1


def cost(store: Store, campaign_id: int) -> str:
    """Return what each attack costs in plain fits of the campaign's standard forest, and all jobs' time."""
    query = (
        sa.select(job.c.kind, job.c.parameters, outcome.c.timings)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == campaign_id)
        .order_by(campaign_job.c.position)
    )
    with store.read() as connection:
        jobs = connection.execute(query).all()
    fits = pd.Series([timings["standard"] for kind, _, timings in jobs if kind == JobKind.BASELINE])
    rows = []
    for kind, parameters, timings in jobs:
        if kind not in (JobKind.SPLIT, JobKind.BASELINE):
            what, times = done(kind, parameters)
            rows.append((kind, what, timings["job"] / times / fits.mean()))
    ratios = pd.DataFrame(rows, columns=["kind", "done", "ratio"])
    seconds = results.jobs(store, campaign_id).groupby("kind", sort=False)["seconds"].agg(["size", "sum"])
    parts = [f"{row.Index} {row.size} jobs, {row.sum:.0f} s" for row in seconds.itertuples()]
    return (
        "### Cost: in plain fits of the same forest\n\n"
        f"One plain fit took {spread(fits, None)} s here (n = {len(fits)}, one core); n counts jobs. A "
        "modification is counted for one strength, with its verification; a calibration for one forest, its "
        f"training included.\n\n{grouped(ratios, ['kind', 'done'], {'plain fits': ('ratio', None)})}\n"
        f"Time, on one core: {'; '.join(parts)}.\n"
    )


def campaign(store: Store, name: str) -> Iterator[str]:
    """Yield the sections of one campaign."""
    campaign_id = campaigns.find_campaign(store, name).id
    accuracy = results.accuracy(store, campaign_id)
    yield (
        f"## {name}\n\n{accuracy['n_estimators'].iloc[0]} trees; k = {spread(accuracy['trigger_size'], 0)}; "
        f"accuracy of the standard forest {spread(accuracy['accuracy_standard'], 4)}, of the equally capped "
        f"{spread(accuracy['accuracy_capped'], 4)}, watermarked {spread(accuracy['accuracy_watermarked'], 4)}.\n"
    )
    kinds = set(results.jobs(store, campaign_id)["kind"])
    for kind in TABLES:
        if kind in kinds:
            yield from attack(store, campaign_id, kind)
    if JobKind.CALIBRATION in kinds:
        yield from calibration(store, campaign_id)
    yield cost(store, campaign_id)


def main(words: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "campaign", nargs="+", help="URL of a store, then names of campaigns in it, repeatedly"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("/dev/stdout"))
    arguments = parser.parse_args(words)
    parts, store = [INTRODUCTION], None
    for word in arguments.campaign:
        if "://" in word:
            store = Store(word)
        elif store is None:
            parser.error("give the URL of a store before the first campaign")
        else:
            parts += campaign(store, word)
    arguments.output.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
