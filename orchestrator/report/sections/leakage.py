"""What the model files give away."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from orchestrator.report import table
from orchestrator.report.data import CONFIGURATION, Findings, forests, summarise
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import PLACE, column, make_table, named, over, prose
from orchestrator.report.wording import across, counted, percent_of, times

SEVERITIES = ("critical", "high", "info", "none")
"""From the worst; a form of severity `info` or `none` gives no secret away."""

SECRET = SEVERITIES[:2]

FORMS = {"as trained": "As trained", "released": "As released", "standard": "From the honest control"}

_GLOSSARY = (
    (
        "leakage: as trained, released, honest control; severity",
        "What the model file says beside its predictions, with all that scikit-learn keeps, and as it is "
        "handed out; the honest forest is the control. Critical: the signature, or the trigger rows; high: "
        "a part of either; info: no secret as far as can be seen.",
    ),
    (
        "k; k correct",
        "k is the number of trigger rows. A file reveals k if it gives a number of trigger rows; k correct "
        "counts the files whose number is the true one.",
    ),
    (
        "95% interval",
        "Of a count, such as 3 of 5 forests: the exact (Clopper-Pearson) interval for the chance behind it. "
        "With few forests it is wide.",
    ),
)


def _worst(severities: Iterable[object]) -> str:
    known = [str(severity) for severity in severities if severity in SEVERITIES]
    return min(known, key=SEVERITIES.index, default="none")


def form_summary(frame: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return what each form of the model files gives away, a row for each way of embedding and form.

    Parameters
    ----------
    frame, accuracy
        Of `orchestrator.results`; the second has the true numbers of trigger rows.

    Returns
    -------
    DataFrame
        Of `summarise` over forests; `leaking` counts those with a finding of severity `SECRET`, `told` those
        that give a number of trigger rows, `right` those that give the true one, `true_size`.
    """
    place = [*CONFIGURATION, "repeat", "form"]
    worst = frame.groupby(place, sort=False, dropna=False)["severity"].agg(_worst).rename("worst")
    # Bits, size and rows are the form's: its findings repeat them.
    each = frame.drop_duplicates(place).merge(worst.reset_index(), on=place)
    sizes = accuracy.drop_duplicates(CONFIGURATION)[[*CONFIGURATION, "trigger_size"]]
    each = each.merge(sizes.rename(columns={"trigger_size": "true_size"}), on=CONFIGURATION, how="left")
    given, true = (pd.to_numeric(each[name]).astype(float) for name in ("trigger_size", "true_size"))
    each = each.assign(
        leaks=each["worst"].isin(SECRET), told=given.notna(), right=given == true, true_size=true
    )
    return summarise(
        each,
        ["form"],
        ["bits", "triggers_found", "others_found"],
        sort=False,
        severity=("worst", _worst),
        leaking=("leaks", "sum"),
        told=("told", "sum"),
        right=("right", "sum"),
        true_size=("true_size", "first"),
    )


def finding_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each finding, the worst first in each form; `found` of `looked` forests have it."""
    looked = frame.groupby([*CONFIGURATION, "form"], sort=False)["repeat"].nunique().rename("looked")
    found = summarise(
        frame,
        ["form", "finding"],
        sort=False,
        severity=("severity", _worst),
        found=("repeat", "nunique"),
        detail=("detail", "first"),
        remedy=("remedy", "first"),
    ).merge(looked.reset_index(), on=[*CONFIGURATION, "form"])
    forms = {form: place for place, form in enumerate(dict.fromkeys(found["form"]))}
    ranks = found.assign(form_rank=found["form"].map(forms), rank=found["severity"].map(SEVERITIES.index))
    return ranks.sort_values([*CONFIGURATION, "form_rank", "rank"], kind="stable").reset_index(drop=True)


def show(findings: Findings) -> Shown:
    """Show what each form of the files gives away, and how to prevent it."""
    frame, accuracy = findings.frame("leakage"), findings.frame("accuracy")
    sizes = {place: part["trigger_size"].iloc[0] for place, part in forests(accuracy)}
    known = {place: int(size) for place, size in sizes.items() if not pd.isna(size)}
    texts = [
        _of_form(name, frame[frame["form"] == form], known)
        for form, name in FORMS.items()
        if (frame["form"] == form).any()
    ]
    summary = form_summary(frame, accuracy)
    form = named("Form", "form", lambda name: f"{name} (honest control)" if name == "standard" else str(name))
    by_form = make_table(
        "leakage-table",
        "What the model file gives away in each form: share of the signature up to complement, number of "
        "trigger rows k, and the training rows that it marks as trigger rows",
        [
            *PLACE,
            form,
            column("Forests", "n", table.count),
            column("Leaking a secret", "leaking", table.count),
            column("Worst", "severity", str),
            column("Giving bits", "bits_count", table.count),
            over("Bits given", "bits", table.rate, summary),
            column("k true", "true_size", table.count),
            column("k revealed", "told", table.count),
            column("k correct", "right", table.count),
            over("Trigger rows found", "triggers_found", table.mean, summary),
            over("Others marked", "others_found", table.mean, summary),
        ],
        summary,
    )
    by_finding = make_table(
        "findings-table",
        "Every finding, the worst first in each form",
        [
            *PLACE,
            form,
            named("Finding", "finding"),
            column("Severity", "severity", str),
            column("Forests with it", "found", table.count),
            column("Forests in all", "looked", table.count),
            prose("What it says (first such forest)", "detail"),
            prose("How to prevent it", "remedy"),
        ],
        finding_summary(frame),
    )
    return Shown(
        "What does the model file say beside its predictions? As trained, scikit-learn keeps weights, "
        "counts and seeds of the training; as released, it should not; the honest forest is the control.",
        (("Leakage", " ".join(texts)),),
        tables=(by_form, by_finding),
        glossary=_GLOSSARY,
    )


def _of_form(name: str, frame: pd.DataFrame, sizes: dict[tuple[object, ...], int]) -> str:
    every = list(forests(frame))
    leaking = [(place, part) for place, part in every if part["severity"].isin(SECRET).any()]
    counts = f"{name}, a secret leaks from {times(len(leaking), len(every), 'file')}"
    if not leaking:
        return f"{counts}."
    firsts = pd.concat([part.iloc[:1] for _, part in leaking])
    given = [(place, part["trigger_size"].iloc[0]) for place, part in leaking]
    told = [(place, int(size)) for place, size in given if not pd.isna(size)]
    right = sum(sizes.get(place) == size for place, size in told)
    bits = pd.to_numeric(firsts["bits"]).astype(float)
    signature = (
        "no bit of the signature" if bits.isna().all() else f"{across(bits, percent_of)} of the signature"
    )
    number = (
        f"the right number of trigger rows in {right} of {counted(len(leaking), 'file')}"
        if told
        else "no number of trigger rows"
    )
    rows, others = (int(firsts[column].fillna(0).sum()) for column in ("triggers_found", "others_found"))
    total = sum(sizes.get(place, 0) for place, _ in leaking)
    return (
        f"{counts}: they give {signature}, {number}, and mark {rows:,} of {counted(total, 'trigger row')} "
        f"and {others:,} others."
    )
