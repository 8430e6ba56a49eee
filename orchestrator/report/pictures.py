"""Which pictures a campaign has, with captions that stand alone; writing them as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from orchestrator.errors import OutputError
from orchestrator.files import write_whole
from orchestrator.report import alternatives
from orchestrator.report.figures.accuracy import Axis, accuracy_figure
from orchestrator.report.figures.detection import detection_figure
from orchestrator.report.figures.forgery import forgery_figure
from orchestrator.report.figures.style import chunks
from orchestrator.report.figures.suppression import suppression_figure
from orchestrator.report.findings import Findings, gather
from orchestrator.report.grid import by_configuration, repeats_of
from orchestrator.report.render import FORMATS, render
from orchestrator.report.summaries import (
    accuracy_summaries,
    detection_summaries,
    forgery_summaries,
    suppression_summaries,
)
from orchestrator.report.wording import counted, ranged
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_PANELS = 6
"""Panels of one picture: more would not fit a page."""

_CAPTIONS = "captions.txt"


@dataclass(frozen=True)
class Picture:
    """A figure with what belongs to it.

    Attributes
    ----------
    name
        File name without ending.
    section
        Section of the report that it goes into.
    title
        A few words.
    caption
        What is drawn, with units, sample sizes and seeds: stands alone.
    alternative
        The picture's content in words, for those who do not see it.
    figure
        The figure itself.
    """

    name: str
    section: str
    title: str
    caption: str
    alternative: str
    figure: Figure


def accuracy_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield accuracy over each coordinate that takes several values, or one picture if none does."""
    frame = findings.accuracy
    if frame.empty:
        return
    varying = [axis for axis in Axis if frame[axis.value].nunique() > 1]
    spread = (
        "Lines: means over repeats; small points: repeats; band and bars: one sample standard deviation."
        if repeats_of(frame) > 1
        else "One repeat only: the points have no spread."
    )
    for axis in varying or [Axis.TRIGGER_SHARE]:
        over = "trigger rows" if axis is Axis.TRIGGER_SHARE else "ones in the signature"
        yield Picture(
            name=f"accuracy-over-{axis.value.replace('_', '-')}",
            section="accuracy",
            title=f"Accuracy over the share of {over}",
            caption=(
                f"Accuracy by majority of votes on {_test_rows(findings)}over the share of {over} (percent). "
                "Both other forests are honest: the standard one trained as tuned, the capped one with the "
                f"watermarked forest's limits on depth and leaves. {spread} The axis does not start at 0. "
                f"{_origin(findings, repeats_of(frame))}"
            ),
            alternative=alternatives.accuracy(accuracy_summaries(frame)),
            figure=accuracy_figure(frame, axis),
        )


def detection_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield bars of detected bits, a few configurations in each picture."""
    parts = list(by_configuration(findings.detection))
    for number, some in enumerate(chunks(parts, _PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in detection_summaries(findings.detection) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        average = "mean numbers and median p-values over repeats" if repeats > 1 else "one repeat"
        yield Picture(
            name=_numbered("detection", number, len(parts)),
            section="detection",
            title="Bits read off the shape of the trees",
            caption=(
                "Bits of the signature that the two strategies (A leaves trees near the mean open, B decides "
                f"every tree) read right, wrong or left open, by depth and by number of leaves; {average}. "
                "Mark: where fair coins would end, half of the decided bits. p: one-sided binomial p-value; "
                "exact: for random signatures with as many ones. "
                f"{_origin(findings, repeats)}"
            ),
            alternative=alternatives.detection(summaries),
            figure=detection_figure(summaries),
        )


def suppression_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield ROC curves, a few configurations in each picture."""
    parts = list(by_configuration(findings.roc_curves))
    for number, some in enumerate(chunks(parts, _PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in suppression_summaries(findings.suppression) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        average = "Bold: mean over repeats; faint: each repeat." if repeats > 1 else "One repeat."
        triggers = ranged([row.triggers for row in summaries])
        ordinary = ranged([row.ordinary for row in summaries])
        yield Picture(
            name=_numbered("suppression", number, len(parts)),
            section="suppression",
            title="Spotting trigger queries",
            caption=(
                f"ROC curves of telling {triggers} trigger queries from {ordinary} ordinary test rows by "
                f"their votes. {average} Grey: at most 1% of ordinary queries suspected; the horizontal axis "
                f"is linear up to there and logarithmic beyond. {_origin(findings, repeats)}"
            ),
            alternative=alternatives.suppression(summaries),
            figure=suppression_figure(list(some)),
        )


def forgery_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield forged set sizes over eps, one picture for each configuration."""
    for configuration, part in by_configuration(findings.forgery):
        summaries = forgery_summaries(part)
        if all(row.forged is None for row in summaries):
            continue
        signatures = max(row.signatures for row in summaries)
        repeats = max(row.repeats for row in summaries)
        per_signature = ranged(part["instances"].tolist())
        limits = ranged(findings.time_limits) if findings.time_limits else "no"
        yield Picture(
            name=f"forgery-{configuration.slug}",
            section="forgery",
            title=f"Forged trigger sets ({configuration})",
            caption=(
                "Above: number of instances forged for an attacker's signature within eps (largest change of "
                f"any feature, within [0, 1]), out of {per_signature} tried for each signature; "
                f"{counted(signatures, 'signature')} in {counted(repeats, 'repeat')}. Below: all queries by "
                f"outcome; time limit {limits} s each. Queries without a decision (timeout, memout, error, "
                "pending) count as not forged in mean and maximum, which are lower limits wherever there are "
                f"any; the dotted line counts them as forged. {_origin(findings, repeats)}"
            ),
            alternative=alternatives.forgery(summaries),
            figure=forgery_figure(part),
        )


SOURCES: tuple[Callable[[Findings], Iterator[Picture]], ...] = (
    accuracy_pictures,
    detection_pictures,
    suppression_pictures,
    forgery_pictures,
)


def all_pictures(findings: Findings) -> list[Picture]:
    """Return every picture that a campaign's results allow."""
    return [picture for source in SOURCES for picture in source(findings)]


def write_figures(
    store: Store, record: CampaignRecord, directory: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write all pictures of a campaign, and their captions, and return the paths.

    Parameters
    ----------
    store, record
        The campaign.
    directory
        Made if it is missing; files of the same names are replaced.
    formats
        Some of ``png``, ``svg``, ``pdf``.

    Raises
    ------
    OutputError
        A format that is not known, or a file that cannot be written.
    """
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise OutputError(f"unknown picture format {unknown[0]!r}; known are: {', '.join(FORMATS)}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise OutputError(f"{directory}: cannot be made ({reason.strerror or reason})") from reason
    pictures = all_pictures(gather(store, record))
    paths = []
    for picture in pictures:
        for name in formats:
            path = directory / f"{picture.name}.{name}"
            write_whole(path, render(picture.figure, name, title=picture.title, caption=picture.caption))
            paths.append(path)
    if pictures:
        captions = "\n\n".join(f"{picture.name}: {picture.title}\n{picture.caption}" for picture in pictures)
        write_whole(directory / _CAPTIONS, f"{captions}\n".encode())
        paths.append(directory / _CAPTIONS)
    return paths


def _numbered(name: str, number: int, panels: int) -> str:
    return name if panels <= _PANELS else f"{name}-{number}"


def _test_rows(findings: Findings) -> str:
    return "" if findings.split is None else f"{counted(findings.split.rows_test, 'test row')} "


def _origin(findings: Findings, repeats: int) -> str:
    """Return data set, sample size and seeds, as each caption ends."""
    sample = f"; n = {repeats} repeats (0 to {repeats - 1}), each with random streams of its own"
    return (
        f"Data set {findings.dataset}; campaign {findings.record.name}, seed {findings.record.seed}"
        f"{sample if repeats > 1 else ', n = 1 repeat'}."
    )
