"""Pictures of detection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator.report import alternatives
from orchestrator.report.figures.detection import detection_figure
from orchestrator.report.figures.guesses import guesses_figure
from orchestrator.report.figures.spectrum import Spectrum, spectrum_figure
from orchestrator.report.figures.style import chunks
from orchestrator.report.findings import Findings
from orchestrator.report.grid import by_configuration, repeats_of
from orchestrator.report.pictures.picture import PANELS, Picture, no_spread, numbered, origin
from orchestrator.report.summaries import detection_summaries, guess_summaries


def detection_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield bars of detected bits, a few configurations in each picture."""
    parts = list(by_configuration(findings.detection))
    for number, some in enumerate(chunks(parts, PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in detection_summaries(findings.detection) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        average = "mean numbers and median p-values over repeats" if repeats > 1 else "one repeat"
        yield Picture(
            name=numbered("detection", number, len(parts)),
            section="detection",
            title="Bits read off the shape of the trees",
            caption=(
                "Bits of the signature that the two strategies (A leaves trees near the mean open, B decides "
                f"every tree) read right, wrong or left open, by depth and by number of leaves; {average}. "
                "Mark: where fair coins would end, half of the decided bits. p: one-sided binomial p-value; "
                "exact: for random signatures with as many ones. "
                f"{origin(findings, repeats)}"
            ),
            alternative=alternatives.detection(summaries),
            figure=detection_figure(summaries),
        )


_GUESS_PANELS = 4
"""Configurations of one picture of guesses: each has a row for every measure."""

_SPECTRA = 4
"""Spectra of one picture."""


def guess_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield what shapes and spectra tell of the signature, a few configurations in each picture."""
    parts = list(by_configuration(findings.guesses))
    for number, some in enumerate(chunks(parts, _GUESS_PANELS), start=1):
        shown = {configuration for configuration, _ in some}
        summaries = [row for row in guess_summaries(findings.guesses) if row.configuration in shown]
        repeats = max(repeats_of(part) for _, part in some)
        bars = "Dots: means over repeats; bars: least to most; p: medians."
        yield Picture(
            name=numbered("guesses", number, len(parts), _GUESS_PANELS),
            section="detection",
            title="The signature guessed from shapes and vote spectra",
            caption=(
                "An attacker ranks the trees by one number each, and divides them at its median. Left: "
                "percent of the signature that this guesses, up to complement; mark: the mean for random "
                "signatures with as many ones, which is above 50% because the better of both complements "
                "counts. Right: area under the ROC curve of the ranking, in either direction (0.5: no order, "
                f"1: the two kinds of trees apart). p: exact for such random signatures. "
                f"{no_spread(repeats, bars)} {origin(findings, repeats)}"
            ),
            alternative=alternatives.guesses(summaries),
            figure=guesses_figure(summaries),
        )


def spectra_of(findings: Findings) -> list[Spectrum]:
    """Return the spectra that are drawn: those of the first repeat of each configuration."""
    return [
        Spectrum(
            configuration=configuration,
            mode=str(row.mode),
            strengths=np.asarray(row.strengths, dtype=np.float64),
            scores=np.asarray(row.scores, dtype=np.float64),
            bits=np.asarray(row.bits, dtype=np.int64),
        )
        for configuration, part in by_configuration(findings.spectra)
        for row in part[part["repeat"] == part["repeat"].min()].itertuples()
    ]


def spectrum_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield the vote spectra of the first repeat of each configuration, a few in each picture."""
    spectra = spectra_of(findings)
    for number, some in enumerate(chunks(spectra, _SPECTRA), start=1):
        repeats = repeats_of(findings.spectra)
        one = f" Only the first of {repeats} repeats is drawn; tables have all." if repeats > 1 else ""
        yield Picture(
            name=numbered("spectrum", number, len(spectra), _SPECTRA),
            section="detection",
            title="Vote spectrum",
            caption=(
                "Left: each tree's entry in the leading direction of the centred matrix of votes (trees x "
                "instances), on the attacker's sample of test rows or on probes of the forest's leaves; true "
                "bits by marker. Where the two kinds lie on different sides of the median, the attacker "
                "reads the signature, up to complement (the sign is arbitrary). Right: percent of the "
                f"variance along each direction, at most 20.{one} {origin(findings, repeats)}"
            ),
            alternative=alternatives.spectra(some),
            figure=spectrum_figure(some),
        )
