"""What the attacks of finished campaigns came to, as docs/attacks.md: numbers only from their stores.

    wm campaign run campaigns/attacks-breast-cancer.toml --store sqlite:///attacks.db   (and the others)
    python -m research.benchmarks.attacks sqlite:///attacks.db attacks-breast-cancer attacks-ijcnn1 -o docs/attacks.md

Each figure is the mean over the campaign's repeats, smallest and largest in brackets; `n` is their number.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator import results
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, job, outcome
from workers.jobs import JobKind

INTRODUCTION = """\
# Attacks on the paper's scheme, measured

Written by `research/benchmarks/attacks.py` from the stores of `campaigns/attacks-*.toml` and
`campaigns/calibration.toml`; each campaign file says what was run. Figures are means over repeats with other
owners and attackers on one split, smallest and largest in brackets.
"""


PLAIN_FIT = "plain fit"
"""Not a kind of job: the standard forest's training, timed within its baseline."""

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

Columns = Sequence[tuple[str, str, int | None]]
"""Title, column of the frame, and digits (see `spread`)."""


@dataclass(frozen=True)
class Run:
    """A finished campaign."""

    store: Store
    name: str
    campaign_id: int


def spread(values: pd.Series, digits: int | None = 2) -> str:
    """Return mean and range of a column; one number where they are all alike, nothing where there is none.

    `digits` after the point; None: two significant ones.
    """
    known = values.dropna().astype(float)
    if known.empty:
        return ""
    form = ".2g" if digits is None else f".{digits}f"
    texts = [format(value, form) for value in (known.mean(), known.min(), known.max())]
    texts = [text.removeprefix("-") if float(text) == 0 else text for text in texts]
    return texts[0] if len(set(texts)) == 1 else f"{texts[0]} ({texts[1]} to {texts[2]})"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def grouped(frame: pd.DataFrame, keys: Sequence[str], columns: Columns) -> str:
    """Return a table with a row for each value of `keys`; of each column its title, name and digits."""
    rows = [
        [*map(str, key), str(len(part)), *(spread(part[name], digits) for _, name, digits in columns)]
        for key, part in frame.groupby(list(keys), sort=False)
    ]
    return table([*keys, "n", *(title for title, _, _ in columns)], rows)


def leakage(run: Run) -> str:
    """Return what each form of the model gives away."""
    frame = results.frame(run.store, run.campaign_id, "leakage").drop_duplicates(
        ["repeat", "trigger_share", "ones_share", "form"]
    )
    columns: Columns = [
        ("share of the bits", "bits", 2),
        ("k found", "trigger_size", 0),
        ("trigger rows found", "triggers_found", 1),
        ("other rows", "others_found", 1),
    ]
    return grouped(frame, ["form"], columns)


def detection(run: Run) -> str:
    """Return what each measure gives away of the signature, without any metadata."""
    frame = results.frame(run.store, run.campaign_id, "detection")
    columns: Columns = [
        ("bits", "bits", 2),
        ("by chance", "null_bits", 2),
        ("AUC", "auc", 2),
        ("correct", "correct", 1),
        ("wrong", "wrong", 1),
        ("exact p", "p_value_exact", None),
    ]
    return grouped(frame, ["measure", "strategy"], columns)


def suppression(run: Run) -> str:
    """Return how well triggers are spotted, and what that does to the claim."""
    frame = results.frame(run.store, run.campaign_id, "suppression")
    columns: Columns = [
        ("AUC", "auc", 3),
        ("TPR at 1% FPR", "tpr_at_1pct_fpr", 2),
        ("triggers filtered", "triggers_spotted", 2),
        ("ordinary touched", "ordinary_touched", 3),
        ("log10 p before", "log10_p_before", 1),
        ("after", "log10_p_after", 1),
        ("bits read off", "bits", 2),
    ]
    return grouped(frame, ["method"], columns)


def free_forgery(run: Run) -> str:
    """Return what freely forged sets are worth."""
    frame = results.frame(run.store, run.campaign_id, "free-forgery")
    frame["stopped_but_for_commitment"] = frame["stopped_but_for_commitment"].replace("", "nothing")
    stops = frame.groupby("method", sort=False)["stopped_but_for_commitment"].agg(
        lambda values: "; ".join(
            f"{text} ({count} of {len(values)})" for text, count in values.value_counts().items()
        )
    )
    columns: Columns = [
        ("size / k", "size_over_k", 2),
        ("distinct cells", "distinct_cells", 1),
        ("mean distance", "mean_distance", 2),
        ("independent forest's accuracy", "independent_accuracy", 2),
    ]
    first = grouped(frame, ["method"], columns)
    second = table(
        ["method", "stopped by, even with a commitment published in time"],
        [[str(method), str(text)] for method, text in stops.items()],
    )
    return f"{first}\n{second}"


def modification(run: Run) -> str:
    """Return what each modification costs and leaves."""
    frame = results.frame(run.store, run.campaign_id, "modification")
    frame["exact"] = frame["exact_match"].astype(float)
    columns: Columns = [
        ("accuracy change", "accuracy_change", 3),
        ("fidelity", "fidelity", 3),
        ("bits", "bits", 2),
        ("exact match", "exact", 2),
        ("log10 p", "log10_p", 1),
        ("log10 p from shares", "log10_p_shares", 1),
    ]
    return grouped(frame, ["modification", "strengths"], columns)


def calibration(run: Run) -> str:
    """Return how often p-values of false claims were small."""
    frame = results.frame(run.store, run.campaign_id, "calibration")
    rows = [
        [
            row.population,
            row.p_value,
            f"{row.level:g}",
            f"{row.hits} of {row.trials}",
            f"{row.rate:.3f}",
            f"{row.low:.4f} to {row.high:.3f}",
            "**too often**" if row.anti_conservative else "holds",
        ]
        for row in frame.itertuples()
    ]
    return NULLS + table(["population", "p-value", "level", "hits", "rate", "95% interval", ""], rows)


SECTIONS: dict[str, Callable[[Run], str]] = {
    "Leakage: what the model file says": leakage,
    "Detection: what the bare forest says": detection,
    "Suppression: spotting trigger queries": suppression,
    "Free forgery: the claimant chooses": free_forgery,
    "Modification: what is left of the watermark": modification,
    "Calibration: false claims": calibration,
}
KINDS: dict[str, str] = dict(
    zip(
        SECTIONS,
        ("leakage", "detection", "suppression", "free-forgery", "modification", "calibration"),
        strict=True,
    )
)


def timed_jobs(run: Run) -> pd.DataFrame:
    """Return kind, what was done and seconds of each finished job, and of the plain fit in each baseline."""
    query = (
        sa.select(job.c.kind, job.c.parameters, outcome.c.timings)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == run.campaign_id)
        .order_by(campaign_job.c.position)
    )
    rows = []
    with run.store.read() as connection:
        for kind, parameters, timings in connection.execute(query):
            if kind == JobKind.BASELINE:
                rows.append((PLAIN_FIT, "", timings["standard"]))
            what, points = what_was_done(kind, parameters)
            rows.append((kind, what, timings["job"] / points))
    return pd.DataFrame(rows, columns=["kind", "what", "seconds"])


def what_was_done(kind: str, parameters: Mapping[str, Any]) -> tuple[str, int]:
    """Return what tells a job's cost from that of others of its kind, and how many times it was done."""
    match kind:
        case "modification":
            return "+".join(parameters["steps"]), len(parameters["strengths"]) * parameters["tries"]
        case "detection":
            return f"{', '.join(parameters['methods'])} ({parameters['honest']} honest forests)", 1
        case "suppression":
            return f"{', '.join(parameters['methods'])} ({parameters['shadows']} shadow models)", 1
        case "free-forgery":
            return ", ".join(parameters["methods"]), 1
        case "calibration":
            return f"a false claim to a forest, {parameters['population']}", parameters["count"]
        case _:
            return "", 1


def cost(run: Run) -> str:
    """Return what each attack costs, in plain fits of the same forest, and the time of each kind of job.

    The plain fit is that of the standard forest of the same campaign, so that the ratio says the same on
    another machine.
    """
    timed = timed_jobs(run)
    is_fit = timed["kind"] == PLAIN_FIT
    fits = timed.loc[is_fit, "seconds"]
    rest = timed[~is_fit & ~timed["kind"].isin([JobKind.SPLIT, JobKind.BASELINE])]
    ratios = rest.assign(ratio=rest["seconds"] / fits.mean()).rename(columns={"what": "done"})
    jobs = results.frame(run.store, run.campaign_id, "jobs")
    parts = [
        f"{kind} {len(part)} jobs, {part['seconds'].sum():.0f} s"
        for kind, part in jobs.groupby("kind", sort=False)
    ]
    return (
        "### Cost: in plain fits of the same forest\n\n"
        f"One plain fit took {spread(fits, None)} s here (n = {len(fits)}, one core); n counts jobs. A "
        "modification is counted for one strength, with its verification; a calibration for one forest, its "
        "training included.\n\n"
        f"{grouped(ratios, ['kind', 'done'], [('plain fits', 'ratio', None)])}\n"
        f"Time, on one core: {'; '.join(parts)}.\n"
    )


def document(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the parts of the document."""
    yield INTRODUCTION
    for run in runs:
        yield f"## {run.name}\n"
        accuracy = results.frame(run.store, run.campaign_id, "accuracy")
        yield (
            f"{accuracy['n_estimators'].iloc[0]} trees; k = {spread(accuracy['trigger_size'], 0)}; accuracy "
            f"of the standard forest {spread(accuracy['accuracy_standard'], 4)}, of the equally capped "
            f"{spread(accuracy['accuracy_capped'], 4)}, watermarked "
            f"{spread(accuracy['accuracy_watermarked'], 4)}.\n"
        )
        kinds = set(results.frame(run.store, run.campaign_id, "jobs")["kind"])
        for title, section in SECTIONS.items():
            if KINDS[title] in kinds:
                yield f"### {title}\n"
                yield section(run)
        yield cost(run)


def main() -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "campaign", nargs="+", help="URL of a store, then names of campaigns in it, repeatedly"
    )
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    runs: list[Run] = []
    store: Store | None = None
    for word in arguments.campaign:
        if "://" in word:
            store = Store(word)
        elif store is None:
            parser.error("give the URL of a store before the first campaign")
        else:
            runs.append(Run(store, word, campaigns.find_campaign(store, word).id))
    text = "\n".join(document(runs))
    if arguments.output is None:
        print(text)
    else:
        arguments.output.write_text(text)


if __name__ == "__main__":
    main()
