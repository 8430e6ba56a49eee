"""Results of the attacks of finished campaigns, as docs/attacks.md: numbers only from their stores.

wm campaign run campaigns/attacks-breast-cancer.toml --store sqlite:///attacks.db   (and the others)
python -m research.benchmarks.attacks sqlite:///attacks.db attacks-breast-cancer attacks-ijcnn1 -o docs/attacks.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
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
    """Return a table with a row for each value of `keys`; a column has a title, a name and digits."""
    rows = [
        [*key, len(part), *(spread(part[name], digits) for name, digits in columns.values())]
        for key, part in frame.groupby(keys, sort=False)
    ]
    return common.markdown([*keys, "n", *columns], rows)


def frame_of(store: Store, campaign_id: int, kind: str) -> pd.DataFrame:
    """Return the results of an attack, each measured thing once."""
    frame: pd.DataFrame = results.frame(store, campaign_id, kind)
    watermark = ["repeat", "trigger_share", "ones_share", "form"]
    return frame.drop_duplicates(watermark) if kind == "leakage" else frame


def stops(frame: pd.DataFrame) -> str:
    """Return which rules of verification stop freely forged sets."""
    frame["stops"] = frame["stopped_but_for_commitment"].replace("", "nothing")
    frame.loc[frame["size"] == 0, "stops"] = "nothing was forged"
    rows = []
    for method, part in frame.groupby("method", sort=False)["stops"]:
        counts = part.value_counts(sort=False).items()
        rows.append([method, "; ".join(f"{text} ({n} of {len(part)})" for text, n in counts)])
    return common.markdown(["method", "stopped by, even with a commitment published in time"], rows)


def calibration(store: Store, campaign_id: int) -> str:
    """Return how often p-values of false claims were small."""
    return common.table(
        "population | p-value | level | hits | rate | 95% interval | ",
        results.frame(store, campaign_id, "calibration").itertuples(),
        lambda row: (
            f"{row.population} | {row.p_value} | {row.level:g} | {row.hits} of {row.trials} "
            f"| {row.rate:.3f} | {row.low:.4f} to {row.high:.3f} "
            f"| {'**too often**' if row.anti_conservative else 'holds'}"
        ),
    )


def done(kind: str, given: Mapping[str, Any]) -> tuple[str, int]:
    """Return what distinguishes a job's cost from that of others of its kind, and how often it was done."""
    methods = ", ".join(given.get("methods", ()))
    match kind:
        case "modification":
            return "+".join(given["steps"]), len(given["strengths"]) * given["tries"]
        case "detection":
            return f"{methods} ({given['honest']} honest forests)", 1
        case "suppression":
            return f"{methods} ({given['shadows']} shadow models)", 1
        case "calibration":
            return f"a false claim to a forest, {given['population']}", given["count"]
        case _:
            return methods, 1


def costs(store: Store, campaign_id: int) -> tuple[pd.Series[Any], pd.DataFrame]:
    """Return the seconds of the standard forest's fits, and kind, what was done and its cost in fits of each job."""
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
    return fits, pd.DataFrame(rows, columns=["kind", "done", "ratio"])


def campaign(store: Store, name: str) -> dict[str, Any]:
    """Return what the template shows of one campaign."""
    campaign_id = campaigns.find_campaign(store, name).id
    seconds = results.frame(store, campaign_id, "jobs").groupby("kind", sort=False)["seconds"]
    fits, ratios = costs(store, campaign_id)
    kinds = {str(kind) for kind in seconds.groups}
    return {
        "name": name,
        "accuracy": results.frame(store, campaign_id, "accuracy"),
        "kinds": kinds,
        "frame": partial(frame_of, store, campaign_id),
        "calibration": calibration(store, campaign_id) if "calibration" in kinds else "",
        "fits": fits,
        "cost": grouped(ratios, ["kind", "done"], {"plain fits": ("ratio", None)}),
        "seconds": "; ".join(f"{kind} {len(part)} jobs, {part.sum():.0f} s" for kind, part in seconds),
    }


def main(words: Sequence[str] | None = None) -> None:
    """Write the document."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument(
        "campaign", nargs="+", help="URL of a store, then names of campaigns in it, repeatedly"
    )
    arguments = parser.parse_args(words)
    runs, store = [], None
    for word in arguments.campaign:
        if "://" in word:
            store = Store(word)
        elif store is None:
            parser.error("give the URL of a store before the first campaign")
        else:
            runs.append(campaign(store, word))
    text = common.from_template(
        Path(__file__).with_name("attacks.md.j2"), runs=runs, spread=spread, grouped=grouped, stops=stops
    )
    arguments.output.write_text(text) if arguments.output else print(text)


if __name__ == "__main__":
    main()
