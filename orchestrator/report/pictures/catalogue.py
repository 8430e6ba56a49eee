"""Which pictures a campaign has; writing them as files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from orchestrator.errors import OutputError
from orchestrator.files import write_whole
from orchestrator.report.findings import Findings, gather
from orchestrator.report.pictures.accuracy import accuracy_pictures
from orchestrator.report.pictures.calibration import calibration_pictures
from orchestrator.report.pictures.detection import detection_pictures, guess_pictures, spectrum_pictures
from orchestrator.report.pictures.forgery import distance_pictures, forgery_pictures, image_pictures
from orchestrator.report.pictures.modification import modification_pictures, tradeoff_pictures
from orchestrator.report.pictures.picture import Picture
from orchestrator.report.pictures.suppression import budget_pictures, suppression_pictures
from orchestrator.report.render import FORMATS, render
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store

_CAPTIONS = "captions.txt"

SOURCES: tuple[Callable[[Findings], Iterator[Picture]], ...] = (
    accuracy_pictures,
    detection_pictures,
    guess_pictures,
    spectrum_pictures,
    suppression_pictures,
    budget_pictures,
    forgery_pictures,
    distance_pictures,
    image_pictures,
    tradeoff_pictures,
    modification_pictures,
    calibration_pictures,
)
"""All pictures, in the order of the page within each section."""


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
