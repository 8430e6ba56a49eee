"""The whole document, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from orchestrator.files import write_whole
from orchestrator.report.wording import counted
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from research.reproduction.artifact import artifact_sections
from research.reproduction.compare import (
    LEAST_SAMPLE,
    NOTHING,
    Comparison,
    Verdict,
)
from research.reproduction.compare_attacks import (
    detection_comparisons,
    forgery_comparisons,
)
from research.reproduction.compare_models import accuracy_comparisons, setting_comparisons
from research.reproduction.details import DETAILS
from research.reproduction.markdown import picture, table
from research.reproduction.pictures import Drawn, accuracy_pictures, forgery_pictures, write_pictures
from research.reproduction.runs import Run, read_runs

IMAGES = "images"
"""Directory of pictures, beside the document."""

Compare = Callable[[Run], Iterator[Comparison]]


def write_reproduction(
    store: Store, records: Sequence[CampaignRecord], path: Path, *, experiments: bool = True
) -> None:
    """Write the published numbers beside those of some campaigns, and pictures into `IMAGES` beside it.

    Parameters
    ----------
    records
        Campaigns on the paper's data sets, finished or not; there may be several on one set.
    path
        Markdown file.
    experiments
        Whether to run the experiments on the artifact's errors, which takes minutes.

    Raises
    ------
    OutputError
        A campaign on another data set, or a file that cannot be written.
    """
    runs = read_runs(store, records)
    pictures = [drawn for run in runs for drawn in (*accuracy_pictures(run), *forgery_pictures(run, store))]
    write_pictures(pictures, path.parent / IMAGES)
    write_whole(path, reproduction(store, runs, pictures, experiments=experiments).encode())


def reproduction(store: Store, runs: Sequence[Run], pictures: Sequence[Drawn], *, experiments: bool) -> str:
    """Return the document."""
    groups: list[tuple[str, Compare]] = [
        ("Data and models", setting_comparisons),
        ("Accuracy", accuracy_comparisons),
        ("Detection", detection_comparisons),
        ("Forgery", forgery_comparisons),
    ]
    compared = {title: [one for run in runs for one in compare(run)] for title, compare in groups}
    compared["Data and models"] = _once(compared["Data and models"])
    everything = [one for some in compared.values() for one in some]
    parts = [
        _head(runs),
        _summary(everything),
        "## Campaigns",
        _campaigns(runs),
    ]
    for title, some in compared.items():
        parts += [f"## {title}", _comparisons(some)]
        parts += DETAILS[title](runs) if title in DETAILS else []
        parts += [
            picture(drawn.caption, f"{IMAGES}/{drawn.file_name}")
            for drawn in pictures
            if _is_of(drawn, title)
        ]
    if experiments:
        parts += ["## What the artifact gets wrong", _ARTIFACT, *artifact_sections(store, runs)]
    return "\n\n".join(parts) + "\n"


_ARTIFACT = (
    "Each error of the published notebooks, made on purpose with our own forests, and what it does to the "
    "numbers. These experiments run on forests, claims and rows in the store while this document is "
    "written."
)


def _is_of(drawn: Drawn, title: str) -> bool:
    return (
        ("-accuracy-" in drawn.name)
        if title == "Accuracy"
        else (title == "Forgery" and "-forged-" in drawn.name)
    )


def _once(compared: Sequence[Comparison]) -> list[Comparison]:
    """Return the first comparison of each number: campaigns on one data set share rows and honest forests."""
    first: dict[tuple[str, str], Comparison] = {}
    for one in compared:
        first.setdefault((one.dataset, one.what), one)
    return list(first.values())


def _head(runs: Sequence[Run]) -> str:
    names = " ".join(run.name for run in runs)
    return "\n\n".join(
        [
            "# Reproduction",
            "Every published number of S. Calzavara, L. Cazzaro, D. Gera, S. Orlando, *Watermarking "
            "Decision Tree Ensembles*, EDBT 2025 (arXiv 2410.04570), beside ours. Written by\n\n```\nwm "
            f"report --reproduction {names} -o docs/reproduction.md\n```\n\nfrom the store of the campaigns "
            "below (`campaigns/paper-*.toml`, see `docs/campaigns.md`); only the published numbers were "
            "typed.",
            f"**Verdicts.** *{Verdict.SAME}*: equal, or the statement holds for ours. *{Verdict.WITHIN}*: "
            "one more run of ours would give the published number or one farther from our mean more often "
            f"than 1 time in 20 (normal prediction interval; {LEAST_SAMPLE} runs or more). "
            f"*{Verdict.DIFFERS}*: it would not, or the statement does not hold. *{Verdict.OPEN}*: too few "
            "runs, or too much undecided, to say. With few runs the interval is wide: n and the standard "
            "deviation (±) say how wide.",
        ]
    )


def _summary(compared: Sequence[Comparison]) -> str:
    counts = Counter(one.verdict for one in compared)
    lines = [f"- {counts[verdict]} {verdict}" for verdict in Verdict]
    differing = [one for one in compared if one.verdict is Verdict.DIFFERS]
    if differing:
        lines.append("\nWhat differs:\n")
        lines += [
            f"- {one.campaign}: {one.what}: {one.published} published, {one.ours} ours" for one in differing
        ]
    return "\n".join([f"Of {counted(len(compared), 'comparison')}:\n", *lines])


def _campaigns(runs: Sequence[Run]) -> str:
    rows = [
        [
            run.name,
            run.findings.record.state.value,
            run.training,
            str(run.findings.record.seed),
            str(run.findings.repeats),
            f"{len(run.findings.frame('jobs')):,}",
            f"{run.seconds:,.0f} s",
            _elapsed(run),
            run.findings.record.provenance.get("scikit-learn", NOTHING),
            run.findings.record.provenance.get("processor", NOTHING),
        ]
        for run in runs
    ]
    return "\n\n".join(
        [
            table(
                [
                    "campaign",
                    "state",
                    "training",
                    "seed",
                    "repeats",
                    "jobs",
                    "time of all jobs",
                    "from start to end",
                    "scikit-learn",
                    "processor",
                ],
                rows,
            ),
            "The time from start to end is that of a machine shared with other work; pauses count.",
        ]
    )


def _elapsed(run: Run) -> str:
    record = run.findings.record
    return NOTHING if record.finished_at is None else f"{record.finished_at - record.created_at:,.0f} s"


def _comparisons(compared: Sequence[Comparison]) -> str:
    if not compared:
        return "None of these campaigns measures it."
    return table(
        ["data set", "number", "where", "published", "ours", "n", "verdict", "remark", "campaign"],
        [
            [
                one.dataset,
                one.what,
                one.place,
                one.published,
                one.ours,
                one.n,
                f"**{one.verdict}**" if one.verdict is Verdict.DIFFERS else str(one.verdict),
                one.reason,
                one.campaign,
            ]
            for one in compared
        ],
    )
