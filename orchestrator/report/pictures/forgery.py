"""Pictures of forgery."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.report import alternatives
from orchestrator.report.figures.distances import distances_figure
from orchestrator.report.figures.forgery import forgery_figure
from orchestrator.report.figures.instances import instances_figure, spread_out
from orchestrator.report.figures.style import chunks
from orchestrator.report.findings import Findings
from orchestrator.report.grid import by_configuration
from orchestrator.report.pictures.picture import PANELS, Picture, numbered, origin
from orchestrator.report.summaries import forgery_summaries, size_curves
from orchestrator.report.wording import counted, ranged


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
                f"any; the dotted line counts them as forged. {origin(findings, repeats)}"
            ),
            alternative=alternatives.forgery(summaries),
            figure=forgery_figure(part),
        )


def distance_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield step curves of forged set size over eps, a few configurations in each picture."""
    curves = size_curves(findings.distances, findings.least_forgery, findings.cap)
    for number, some in enumerate(chunks(curves, PANELS), start=1):
        repeats = max(curve.repeats for curve in some)
        signatures = max(curve.signatures for curve in some)
        limits = ranged(findings.least_time_limits) if findings.least_time_limits else "no"
        undecided = sum(curve.undecided for curve in some)
        instances = sum(curve.instances for curve in some)
        yield Picture(
            name=numbered("distances", number, len(curves)),
            section="forgery",
            title="Forged trigger sets at every eps",
            caption=(
                "Number of instances that can be forged for an attacker's signature within eps (largest "
                f"change of any feature, within [0, 1]), from the exact least distance of each, up to eps "
                f"{findings.cap:g}; right axis: percent of the true trigger set's size k (dashed). "
                f"{counted(signatures, 'signature')} in {counted(repeats, 'repeat')}; time limit {limits} s "
                f"for each instance. {_censored(undecided, instances)} {origin(findings, repeats)}"
            ),
            alternative=alternatives.distances(some),
            figure=distances_figure(some),
        )


def image_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield forged images beside their originals."""
    images = findings.images
    if images is None:
        return
    attempt = images.attempt
    shown = spread_out(attempt.forgeries)
    yield Picture(
        name="forged-images",
        section="forgery",
        title="Forged images",
        caption=(
            "Original, forged instance, and the change (grey: none; black: more ink; white: less). "
            f"{counted(len(shown), 'instance')} of the {len(attempt.forgeries):,} that signature "
            f"{attempt.number} forges, of {attempt.instances:,} tried: it forges most; from the nearest to "
            "the farthest, each the nearest possible. Above each: its row, class, and distance, the largest "
            f"change of a pixel. Watermark: trigger share {attempt.place.trigger_share:g}, ones share "
            f"{attempt.place.ones_share:g}, repeat {attempt.place.repeat}. {origin(findings, 1)}"
        ),
        alternative=(
            f"{len(shown)} forged images beside their originals, at distances "
            + ", ".join(f"{one.distance:.3f}" for one in shown)
            + "."
        ),
        figure=instances_figure(shown, images.split),
    )


def _censored(undecided: int, instances: int) -> str:
    """Return what is to say about instances whose least distance is not known."""
    if not undecided:
        return f"All {instances:,} instances are decided: nothing is censored."
    return (
        f"{undecided:,} of {instances:,} instances have no decision (a limit struck, or no answer yet): all "
        "curves count them from where a witness is known, if any, and are lower limits; hatched: up to the "
        "mean that there would be if all of them could be forged at once."
    )
