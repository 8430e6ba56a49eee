"""The attacks that are one job for each watermark: what they take and the rows that they give."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workers.jobs.base import AttackParameters, ClosedShare, FrozenModel, Parameters, Result

DetectionMethod = Literal["strategies", "shapes", "spectrum", "presence"]
SuppressionMethod = Literal["disagreement", "repeats", "shadow"]
Population = Literal["honest", "other owners", "presence"]
FreeForgeryMethod = Literal["all zeros", "best pattern", "clones", "local search", "recovered signature"]


class LeakageParameters(Parameters):
    """Audit what each form of the forest gives away."""


class LeakageRow(FrozenModel):
    """One finding; a form without any has one row, named ``none``.

    Attributes
    ----------
    form
        ``as trained``: with all that scikit-learn keeps; ``released``: as handed out; ``standard``: the
        honest forest, as a control.
    finding, severity, detail, remedy
        As in `wm.attacks.leakage.Finding`; severity ``none`` where there is none.
    bits
        Share of the true signature that the form gives, up to complement; None where it gives none.
    trigger_size
        k as the form gives it, None where it does not.
    triggers_found, others_found
        Training rows that land in a heavy leaf of every tree: trigger rows, and others.
    """

    form: Literal["as trained", "released", "standard"]
    finding: str
    severity: str
    detail: str
    remedy: str
    bits: float | None
    trigger_size: int | None
    triggers_found: int
    others_found: int


class LeakageResult(Result):
    """At least one row for each form."""

    rows: tuple[LeakageRow, ...]


class DetectionParameters(AttackParameters):
    """Read the signature off the bare forest.

    Attributes
    ----------
    honest
        Honest forests that `presence` compares with; 0 without it.
    """

    methods: tuple[DetectionMethod, ...]
    honest: int = Field(ge=0)


class DetectionRow(FrozenModel):
    """One strategy on one measure; None where a figure does not apply, bits without a guess uncertain.

    Attributes
    ----------
    measure, strategy, mean, std, correct, wrong, uncertain, p_value, p_value_exact
        As in `wm.attacks.detection.DetectionResult`. For the other methods `p_value` is exact already, and
        `p_value_exact` equal to it, or adjusted for their number where there are several.
    bits, null_bits
        Share of the signature guessed, up to complement, and its mean under the null hypothesis.
    auc
        Of the ranking of the trees.
    points
        Instances that votes were taken on; for presence the honest forests.
    """

    measure: str
    strategy: str
    mean: float | None = None
    std: float | None = None
    correct: int
    wrong: int
    uncertain: int
    p_value: float
    p_value_exact: float
    bits: float | None = None
    null_bits: float | None = None
    auc: float | None = None
    points: int | None = None


class SpectrumRow(FrozenModel):
    """A vote spectrum, for its picture.

    Attributes
    ----------
    mode
        Where the points came from.
    strengths
        Shares of the variance along the leading directions, at most 20.
    scores, bits
        Of each tree: its entry of the leading direction, and its true bit.
    """

    mode: str
    strengths: tuple[float, ...]
    scores: tuple[float, ...]
    bits: tuple[int, ...]


class DetectionResult(Result):
    """One row for each measure and strategy."""

    rows: tuple[DetectionRow, ...]
    spectra: tuple[SpectrumRow, ...] = ()


class SuppressionParameters(AttackParameters):
    """Spot the trigger rows among the test rows.

    Attributes
    ----------
    shadows
        Models that the attacker watermarks itself, for method ``shadow``.
    orders
        Random orders of the stream that the query-budget curve is averaged over.
    """

    methods: tuple[SuppressionMethod, ...]
    shadows: int = Field(ge=2)
    orders: int = Field(ge=1)


class BudgetRow(FrozenModel):
    """Fields as in `wm.attacks.suppression.BudgetPoint`."""

    trigger_queries: int
    bits: float
    low: float
    high: float
    null_bits: float
    spotted: float


class SuppressionRow(FrozenModel):
    """How well one method spots, and what it is good for.

    Attributes
    ----------
    method, auc, tpr_at_1pct_fpr, triggers, ordinary, false_positive_rate, true_positive_rate
        As in `wm.attacks.suppression.SuppressionResult`.
    triggers_spotted, ordinary_touched, ordinary_votes_changed, log10_p_before, log10_p_after
        Of the filter, as in `wm.attacks.suppression.FilterResult`, at a threshold that the attacker set on
        rows of its own.
    bits, null_bits
        Share of the signature read off the spotted queries, up to complement; None where none was spotted.
    budget
        Bits known after 1, 2, 3, ... trigger queries.
    """

    method: str
    auc: float
    tpr_at_1pct_fpr: float
    triggers: int
    ordinary: int
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]
    triggers_spotted: float
    ordinary_touched: float
    ordinary_votes_changed: float
    log10_p_before: float
    log10_p_after: float
    bits: float | None
    null_bits: float | None
    budget: tuple[BudgetRow, ...]


class SuppressionResult(Result):
    """One row for each method."""

    rows: tuple[SuppressionRow, ...]


class FreeForgeryParameters(AttackParameters):
    """Forge where the claimant may choose the signature, or knows the true one.

    Attributes
    ----------
    eps
        Largest distance from a test row, for the methods that change rows.
    instances
        Test rows that these start from; None: as many as the true trigger set has.
    least_ones, most_ones
        Quota of ones of the best pattern.
    """

    methods: tuple[FreeForgeryMethod, ...]
    eps: float = Field(ge=0)
    instances: int | None = Field(ge=1)
    least_ones: ClosedShare
    most_ones: ClosedShare
    timeout_s: float = Field(gt=0)


class ForgedSetRow(FrozenModel):
    """What a forged trigger set is worth; as in `wm.attacks.forged_sets.ForgedSetScore`.

    Attributes
    ----------
    method
        How it was made.
    forged_ones_share
        Share of ones of the claimed signature.
    stopped_by, stopped_but_for_commitment
        Rules of the verification protocol that refuse it, joined by ", "; and those that still would, had its
        commitment been published in time.
    """

    method: str
    size: int
    size_over_k: float
    distinct_cells: int
    mean_distance: float
    max_distance: float
    independent_accuracy: float | None
    forged_ones_share: float
    log10_p: float | None
    stopped_by: str
    stopped_but_for_commitment: str


class FreeForgeryResult(Result):
    """One row for each method."""

    rows: tuple[ForgedSetRow, ...]


class ModificationParameters(AttackParameters):
    """Change the forest as a thief would, at one strength after another.

    Attributes
    ----------
    steps
        Names of modifications, done in this order.
    strengths
        One strength for each step, for each point of the curve.
    tries
        Times that each point is done with other random numbers.
    """

    steps: tuple[str, ...] = Field(min_length=1)
    strengths: tuple[tuple[float, ...], ...] = Field(min_length=1)
    tries: int = Field(ge=1)


class ModificationRow(FrozenModel):
    """One point of a curve; fields as in `wm.attacks.modification.ModificationResult`.

    Attributes
    ----------
    strength
        Of the first step; those of all steps are in `strengths`, joined by ``+``.
    attempt
        From 0 to `tries` - 1.
    """

    modification: str
    strength: float
    strengths: str
    attempt: int
    n_trees: int
    accuracy_before: float
    accuracy_after: float
    accuracy_change: float
    fidelity: float
    bits: float
    exact_match: bool
    log10_p: float
    p_null: str
    log10_p_shares: float


class ModificationResult(Result):
    """One row for each point and try."""

    rows: tuple[ModificationRow, ...]


class CalibrationParameters(AttackParameters):
    """Gather p-values of false claims over part of a population of forests.

    Attributes
    ----------
    population
        ``honest`` forests, ``other owners``' watermarked ones, or ``presence``: honest forests held against
        others.
    first, count
        Which forests of the population.
    trigger_share, ones_share
        Of the false claims.
    reference
        Honest forests that presence compares with; only for that.
    """

    population: Population
    first: int = Field(ge=0)
    count: int = Field(ge=1)
    trigger_share: float = Field(gt=0, lt=1)
    ones_share: ClosedShare
    reference: int = Field(default=0, ge=0)


class NamedPValues(FrozenModel):
    """The p-values of one name, one for each forest."""

    name: str
    values: tuple[float, ...]


class CalibrationResult(Result):
    """P-values by name; `rows` in the order in which they were taken."""

    population: Population
    rows: tuple[NamedPValues, ...]
