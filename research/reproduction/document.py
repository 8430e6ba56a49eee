"""The whole document, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from orchestrator.files import write_whole
from orchestrator.report.wording import MISSING, counted
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from research.benchmarks.common import from_template, markdown
from research.reproduction import published
from research.reproduction.artifact import SHORT_LIMIT_S, experiment_tables
from research.reproduction.compare import LEAST_SAMPLE, Comparison, Verdict
from research.reproduction.compare_attacks import detection_comparisons, forgery_comparisons
from research.reproduction.compare_models import accuracy_comparisons, setting_comparisons
from research.reproduction.details import DETAILS
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
    groups: dict[str, Compare] = {
        "Data and models": setting_comparisons,
        "Accuracy": accuracy_comparisons,
        "Detection": detection_comparisons,
        "Forgery": forgery_comparisons,
    }
    found = {title: [one for run in runs for one in compare(run)] for title, compare in groups.items()}
    found["Data and models"] = _once(found["Data and models"])
    compared = [one for some in found.values() for one in some]
    sections = {}
    drawn_for = {"Accuracy": "-accuracy-", "Forgery": "-forged-"}
    for title, some in found.items():
        sections[title] = [_comparisons(some), *(DETAILS[title](runs) if title in DETAILS else [])]
        for drawn in pictures:
            if title in drawn_for and drawn_for[title] in drawn.name:
                sections[title].append(picture(drawn.caption, f"{IMAGES}/{drawn.file_name}"))
    return from_template(
        Path(__file__).parent / "reproduction.md.j2",
        runs=runs,
        verdicts=Verdict,
        min_sample=LEAST_SAMPLE,
        number=counted(len(compared), "comparison"),
        counts=Counter(one.verdict for one in compared),
        differing=[one for one in compared if one.verdict is Verdict.DIFFERS],
        campaigns=_campaigns(runs),
        sections=sections,
        experiments=experiment_tables(store, runs) if experiments else None,
        paper=published,
        short_limit_s=SHORT_LIMIT_S,
    )


def picture(caption: str, path: str) -> str:
    """Return an image with its caption below."""
    alternative = caption.replace("[", "(").replace("]", ")")
    return f"![{alternative}]({path})\n\n*{caption}*"


def _once(compared: Sequence[Comparison]) -> list[Comparison]:
    """Return the first comparison of each number: campaigns on one data set share rows and honest forests."""
    first: dict[tuple[str, str], Comparison] = {}
    for one in compared:
        first.setdefault((one.dataset, one.what), one)
    return list(first.values())


def _campaigns(runs: Sequence[Run]) -> str:
    titles = (
        "campaign | state | training | seed | repeats | jobs | time of all jobs | from start to end "
        "| scikit-learn | processor"
    )
    rows = []
    for run in runs:
        record = run.findings.record
        numbers = str(record.seed), str(run.findings.repeats), f"{len(run.findings.frame('jobs')):,}"
        took = MISSING if record.finished_at is None else f"{record.finished_at - record.created_at:,.0f} s"
        made_with = [record.provenance.get(name, MISSING) for name in ("scikit-learn", "processor")]
        names = run.name, record.state.value, run.training
        rows.append([*names, *numbers, f"{run.seconds:,.0f} s", took, *made_with])
    return markdown(titles.split(" | "), rows)


def _comparisons(compared: Sequence[Comparison]) -> str:
    if not compared:
        return "None of these campaigns measures it."
    rows = []
    for one in compared:
        verdict = f"**{one.verdict}**" if one.verdict is Verdict.DIFFERS else str(one.verdict)
        numbers = one.published, one.ours, one.n
        rows.append([one.dataset, one.what, one.place, *numbers, verdict, one.reason, one.campaign])
    titles = "data set | number | where | published | ours | n | verdict | remark | campaign"
    return markdown(titles.split(" | "), rows)
