"""The tables of the document's second half: the artifact's errors, each as an experiment on our own models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator.report.data import by_configuration
from orchestrator.report.sections.leakage import form_summary
from orchestrator.report.wording import MISSING
from orchestrator.store.database import Store
from research.benchmarks.common import markdown
from research.reproduction import experiments, published
from research.reproduction.compare import COUNT, TWO, Form
from research.reproduction.experiments import FreeChoice, Scene
from research.reproduction.runs import Run, at_published_point

SHORT_LIMIT_S = 0.5
"""Limit on each of Z3's queries in the experiment on unknown answers."""

UNKNOWN_INSTANCES = 20

_P = Form(1, 100.0, "%")
_AUC = Form(4)


def experiment_tables(store: Store, runs: Sequence[Run]) -> dict[str, str]:
    """Run the experiments and return their tables; empty ones where no campaign fits."""
    scenes = [experiments.scene(run) for run in runs if not run.findings.frame("distances").empty]
    small = [at for at in scenes if at.run.setting.dataset == published.DATASETS[0].dataset][:1]
    found = ((at.run, experiments.free_choice(store, at, published.INDEPENDENT.eps)) for at in scenes)
    chosen = [(run, one) for run, one in found if one is not None]
    return {
        "shared_seed": _shared_seeds(scenes),
        "unknown": _unknowns(scenes),
        "margins": _margins(small),
        "choices": _free_choices(chosen),
        "published_choice": "".join(_published_choice(*one) for one in chosen),
        "leaks": _leaks(runs),
        "suppression": _suppression(runs),
    }


def _table(titles: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing without rows; there is " | " between the titles."""
    lines = list(rows)
    return markdown(titles.split(" | "), lines) if lines else ""


def _shared_seeds(scenes: Sequence[Scene]) -> str:
    rows = []
    for at in scenes:
        one = experiments.shared_seed(at)
        data = [at.run.setting.title, f"{one.instances} (k = {one.trigger_size})"]
        undecided = f"; {one.undecided} undecided" if one.undecided else ""
        rows.append([*data, f"the owner's own{undecided}", *map(str, one.owner)])
        sizes = [f"mean {COUNT.write(size.mean)}, most {size.most:g}" for size in one.independent]
        common = f"the first has {_P.write(one.agreement)} of its bits in common with the owner's"
        rows.append([*data, f"{one.independent[0].n} independent; {common}", *sizes])
    distances = " | ".join(f"eps {eps:g}" for eps in published.DISTANCES)
    return _table(f"data set | rows tried | signature | {distances}", rows)


def _unknowns(scenes: Sequence[Scene]) -> str:
    rows, eps = [], published.TOO_SLOW.eps
    for at in scenes:
        one = experiments.unknown_as_sat(at, eps, SHORT_LIMIT_S, UNKNOWN_INSTANCES)
        counts = map(str, (one.instances, one.forged, one.impossible, one.unknown))
        truly = f"{one.truly_forged} ({one.truly_impossible} proved impossible)"
        rows.append([at.run.setting.title, f"{eps:g}", *counts, f"{one.as_published} forged", truly])
    return _table(
        "data set | eps | queries | forged | impossible | unknown | as the artifact counts | truly forged",
        rows,
    )


def _margins(scenes: Sequence[Scene]) -> str:
    rows = []
    for one in (one for at in scenes for one in experiments.margins(at)):
        eps = "each row's least" if one.eps is None else f"{one.eps:g}"
        rows.append([eps, *map(str, (one.forged, one.lost, one.undecided))])
    return _table("eps | forged, exactly | impossible with the margin | undecided", rows)


def _free_choices(found: Sequence[tuple[Run, FreeChoice]]) -> str:
    rows = []
    for run, one in found:
        accuracies = map(TWO.of, (one.nearest, one.random, one.farthest))
        eps = f"{published.INDEPENDENT.eps:g}"
        rows.append([run.setting.title, eps, str(one.sets), str(one.instances), *accuracies])
    return _table("data set | eps | sets | rows | nearest | uniform | corner", rows)


def _published_choice(run: Run, one: FreeChoice) -> str:
    """Return whether the published accuracy is among those that choices of a point give."""
    there = published.INDEPENDENT
    if run.setting.dataset != there.dataset:
        return ""
    means = [spread.mean for spread in (one.nearest, one.random, one.farthest)]
    among = min(means) <= there.on_forged <= max(means)
    return f" The paper's {TWO.write(there.on_forged)} ({run.setting.title}) lies " + (
        "between them: it tells of Z3's choice." if among else "outside of them."
    )


def _leaks(runs: Sequence[Run]) -> str:
    rows = []
    for run in runs:
        forms: Any = form_summary(run.findings.frame("leakage"), run.findings.frame("accuracy"))
        for one in forms.itertuples():
            spread = "" if one.bits_count < 2 else f" ± {TWO.write(one.bits_std)}"
            bits = f"{TWO.write(one.bits_mean)}{spread}" if one.bits_count else MISSING
            rows.append([run.name, one.form, one.severity, f"{one.leaking} of {one.n}", bits])
    return _table("campaign | form | worst finding | forests that leak | bits", rows)


def _suppression(runs: Sequence[Run]) -> str:
    rows = [
        [run.name, str(method), _AUC.write(auc.mean()), _AUC.write(auc.min()), str(len(auc))]
        for run in runs
        for _, part in by_configuration(at_published_point(run.findings.frame("suppression")))
        for method, auc in part.groupby("method", sort=True)["auc"]
    ]
    return _table("campaign | method | mean AUC | least | watermarks", rows)
