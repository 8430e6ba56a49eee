"""Figures of a reproduction, written beside the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import OutputError
from orchestrator.files import write_whole
from orchestrator.report.rendering import Chart, render
from orchestrator.report.sections.distances import distances_chart
from orchestrator.report.sections.embedding import accuracy_chart
from orchestrator.report.sections.images import image_side, images_chart, spread_out
from orchestrator.report.wording import counted
from orchestrator.results.forged_sets import largest_attempt
from orchestrator.store.database import Store
from research.reproduction.compare_attacks import curve_of
from research.reproduction.published import ONES_SHARE, TRIGGER_SHARE
from research.reproduction.runs import Run


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure and what is said of it."""

    name: str  # file name without ending
    caption: str  # stands alone: what is drawn, sample sizes, seed
    file_format: str  # one of `orchestrator.report.rendering.FORMATS`
    figure: Chart

    @property
    def file_name(self) -> str:
        """File name with ending."""
        return f"{self.name}.{self.file_format}"


def accuracy_pictures(run: Run) -> Iterator[Drawn]:
    """Yield accuracy over the trigger set's size and over shares of ones, where a campaign varies them."""
    frame = run.findings.frame("accuracy")
    if frame.empty:
        return
    repeats = run.findings.repeats
    for axis, over, part in (
        ("trigger_share", "the trigger set's size", frame[frame["ones_share"] == ONES_SHARE]),
        ("ones_share", "the share of ones", frame[frame["trigger_share"] == TRIGGER_SHARE]),
    ):
        if part[axis].nunique() > 1:
            yield Drawn(
                f"{run.name}-accuracy-{axis.replace('_', '-')}",
                f"{run.setting.title}: accuracy on the test rows over {over}; {counted(repeats, 'repeat')}, "
                f"bands and bars one sample standard deviation; {_origin(run)}.",
                "svg",
                accuracy_chart(part, axis),
            )


def forgery_pictures(run: Run, store: Store) -> Iterator[Drawn]:
    """Yield the curve of forged set sizes, and forged images of the signature that forged most."""
    curve = curve_of(run)
    if curve is None:
        return
    yield Drawn(
        f"{run.name}-forged-sizes",
        f"{run.setting.title}: size of the forged trigger set over eps, from the exact least distance of "
        f"{counted(curve.instances, 'instance')}, {curve.undecided:,} of them undecided; "
        f"{counted(curve.signatures, 'signature')} on {counted(curve.repeats, 'watermark')}; {_origin(run)}.",
        "svg",
        distances_chart([curve]),
    )
    yield from _images(run, store)


def _images(run: Run, store: Store) -> Iterator[Drawn]:
    split = run.models.split
    if image_side(split.feature_names) is None:
        return
    best = largest_attempt(store, run.findings.record.id, run.models)
    if best is None:
        return
    yield Drawn(
        f"{run.name}-forged-instances",
        f"{run.setting.title}: test rows, the nearest instances forged of them for the attacker's signature "
        f"{best.number}, and the change (white: less ink, black: more), from the nearest to the farthest of "
        f"{len(best.forgeries)}; the numbers are distances, the largest change of a pixel; {_origin(run)}.",
        "png",
        images_chart(spread_out(best.forgeries), split),
    )


def _origin(run: Run) -> str:
    return f"campaign {run.name}, seed {run.findings.record.seed}"


def write_pictures(pictures: Sequence[Drawn], directory: Path) -> None:
    """Write figures into a directory, which is made if it is missing.

    Raises
    ------
    OutputError
        It cannot be made, or a file cannot be written.
    """
    if not pictures:
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise OutputError(f"{directory}: cannot be made ({reason.strerror or reason})") from reason
    for picture in pictures:
        content = render(picture.figure, picture.file_format, description=picture.caption)
        write_whole(directory / picture.file_name, content)
