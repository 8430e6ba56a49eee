"""What the model files give away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pandas as pd

from orchestrator.report.charts import Chart, counted_bars, figure
from orchestrator.report.data import CONFIGURATION, Findings, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import across, counted, interval, percent_of, times

SEVERITIES = ("critical", "high", "info", "none")
"""From the worst; a form of severity `info` or `none` gives no secret away."""

SECRET = SEVERITIES[:2]

FORMS = {"as trained": "As trained", "released": "As released", "standard": "From the honest control"}


def _worst(severities: Iterable[object]) -> str:
    known = [str(severity) for severity in severities if severity in SEVERITIES]
    return min(known, key=SEVERITIES.index, default="none")


def _files(frame: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each form of each forest's file.

    `worst` is the severity of its worst finding, `leaking` whether that is one of `SECRET`; `revealed`
    whether it gives a number of trigger rows, `right` whether that is `true_size`.
    """
    place = [*CONFIGURATION, "repeat", "form"]
    worst = frame.groupby(place, sort=False, dropna=False)["severity"].agg(_worst).rename("worst")
    # Bits, size and rows are the form's: its findings repeat them.
    each = frame.drop_duplicates(place).merge(worst.reset_index(), on=place)
    sizes = accuracy.drop_duplicates(CONFIGURATION)[[*CONFIGURATION, "trigger_size"]]
    each = each.merge(sizes.rename(columns={"trigger_size": "true_size"}), on=CONFIGURATION, how="left")
    given, true = (pd.to_numeric(each[name]).astype(float) for name in ("trigger_size", "true_size"))
    return each.assign(
        leaking=each["worst"].isin(SECRET), revealed=given.notna(), right=given == true, true_size=true
    )


def form_summary(frame: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return what each form of the model files gives away, a row for each way of embedding and form.

    `frame` and `accuracy` are of `orchestrator.results`; the second has the true numbers of trigger rows.
    `leaking` counts forests with a finding of severity `SECRET`, `revealed` those that give a number of
    trigger rows, `right` those that give the true one, `true_size`.
    """
    return summarise(
        _files(frame, accuracy),
        ["form"],
        ["bits", "triggers_found", "others_found"],
        sort=False,
        severity=("worst", _worst),
        true_size=("true_size", "first"),
        **{name: (name, "sum") for name in ("leaking", "revealed", "right")},
    )


def finding_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each finding, the worst first in each form; `found` of `examined` forests have it."""
    examined = frame.groupby([*CONFIGURATION, "form"], sort=False)["repeat"].nunique().rename("examined")
    found = summarise(
        frame,
        ["form", "finding"],
        sort=False,
        severity=("severity", _worst),
        found=("repeat", "nunique"),
        detail=("detail", "first"),
        remedy=("remedy", "first"),
    ).merge(examined.reset_index(), on=[*CONFIGURATION, "form"])
    forms = {form: place for place, form in enumerate(dict.fromkeys(found["form"]))}
    ranks = found.assign(form_rank=found["form"].map(forms), rank=found["severity"].map(SEVERITIES.index))
    return ranks.sort_values([*CONFIGURATION, "form_rank", "rank"], kind="stable").reset_index(drop=True)


def show(findings: Findings) -> Shown:
    """Show what each form of the files gives away, and how to prevent it."""
    frame, accuracy = findings.frame("leakage"), findings.frame("accuracy")
    files = _files(frame, accuracy)
    texts = [
        _of_form(name, part)
        for form, name in FORMS.items()
        if not (part := files[files["form"] == form]).empty
    ]
    text = " ".join(texts)
    drawn = figure(
        "leakage", "", partial(leakage_chart, files), findings.origin(frame), files=len(files), summary=text
    )
    tables = {"leakage-table": form_summary(frame, accuracy), "findings-table": finding_summary(frame)}
    marked = {"standard": "standard (honest control)"}
    return Shown(
        answers=tuple(leak_answers(files)),
        headline=(("Leakage", text),),
        figures=(drawn,),
        tables=tuple(
            make_table(name, rows.assign(form=rows["form"].replace(marked))) for name, rows in tables.items()
        ),
    )


def leakage_chart(files: pd.DataFrame) -> Chart:
    """Draw how many files of each form give a secret away; `files` has a row for each."""
    parts = ("gives a secret away", "gives none away")
    named = files["form"].replace(FORMS)
    return counted_bars(files["leaking"], named, parts, "#b35900", title="Model files", step=24)


def leak_answers(files: pd.DataFrame) -> Iterator[Answer]:
    """Yield how many released files give a secret away; `files` has a row for each form of each file."""
    released = files[files["form"] == "released"]
    if released.empty:
        return
    leaking = int(released["leaking"].sum())
    grade = Grade.GOOD if not leaking else Grade.BAD
    yield Answer(
        Question.LEAKS,
        grade,
        f"{leaking} of {len(released)}",
        "released model files give a secret away",
        interval(leaking, len(released)),
    )


def _of_form(name: str, files: pd.DataFrame) -> str:
    leaking = files[files["leaking"]]
    counts = f"{name}, a secret leaks from {times(len(leaking), len(files), 'file')}"
    if leaking.empty:
        return f"{counts}."
    bits = pd.to_numeric(leaking["bits"]).astype(float)
    signature = (
        "no bit of the signature" if bits.isna().all() else f"{across(bits, percent_of)} of the signature"
    )
    number = (
        f"the right number of trigger rows in {leaking['right'].sum()} of {counted(len(leaking), 'file')}"
        if leaking["revealed"].any()
        else "no number of trigger rows"
    )
    rows, others, total = (
        int(leaking[column].fillna(0).sum()) for column in ("triggers_found", "others_found", "true_size")
    )
    return (
        f"{counts}: they give {signature}, {number}, and mark {rows:,} of {counted(total, 'trigger row')} "
        f"and {others:,} others."
    )
