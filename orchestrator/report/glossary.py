"""How to read a report: its words, each with what to make of the number."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "watermarked, standard, capped forest",
        "The watermarked forest carries the signature. The standard one is an honest forest with the same "
        "hyper-parameters; the capped one is honest too, with the limits on depth and leaves that "
        "the watermark "
        "imposes. Accuracy is the share of test rows that the majority of trees gets right; by the "
        "mean rule it "
        "is scikit-learn's, which averages the leaves instead.",
    ),
    (
        "signature, trigger set",
        "The signature has one bit for each tree; on the secret trigger rows, trees with bit 1 must "
        "be wrong and "
        "those with bit 0 right. Matched bits count votes that are so, out of trigger rows times trees.",
    ),
    (
        "p-value of a claim",
        "Chance that a model independent of the signature errs at least as often in just those "
        "trees: exact, for "
        "signatures with as many ones. Near 1 for a model without the watermark.",
    ),
    (
        "points",
        "Differences between percentages: 94% is one point less than 95%. Negative: the watermark costs "
        "accuracy.",
    ),
    (
        "detection: strategies A and B",
        "A guesses bit 0 for trees more than one standard deviation below the mean depth or number "
        "of leaves, "
        "bit 1 for those above, and leaves the rest open. B guesses every tree, by the mean alone. p "
        "is the chance "
        "that fair coins do as well; exact p that the same guesses do against a random signature "
        "with as many "
        "ones. Of many guesses the best one looks good by chance: correct for their number.",
    ),
    (
        "suppression: AUC, FPR, TPR",
        "Queries are ranked by how suspicious their votes look. The area under the curve (AUC) is 1 "
        "if all trigger "
        "queries rank above all ordinary ones, 0.5 by chance. At a false positive rate (FPR) of 1% a filter "
        "would wrongly suspect one ordinary query in a hundred; the true positive rate (TPR) is the share of "
        "trigger queries that it spots.",
    ),
    (
        "forged set size",
        "Number of test rows for which an instance within eps was found whose votes spell an attacker's "
        "signature. Forgery pays when it nears the size of the true trigger set.",
    ),
    (
        "forged, impossible, timeout, memout, error, pending",
        "Outcomes of a query: an instance was found and replayed on the model; there is provably none; the "
        "time limit, the memory limit or a fault ended it without a decision; it has no outcome yet, or "
        "never will because its job failed or is blocked. Undecided queries are not impossible ones.",
    ),
    (
        "n, sd, median, least, most",
        "Size of the sample, its standard deviation (of n less one; none for a single value), middle and "
        "ends.",
    ),
)
"""Words and explanations."""
