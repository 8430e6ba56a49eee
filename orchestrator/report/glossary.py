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
        "95% interval",
        "Of a count, such as 3 of 5 forests: the exact (Clopper-Pearson) interval for the chance behind it. "
        "With few forests it is wide, and says so.",
    ),
    (
        "leakage: as trained, released, honest control; severity",
        "What the model file says beside its predictions, with all that scikit-learn keeps, and as it is "
        "handed out; the honest forest is the control. Critical: the signature, or the trigger rows; high: a "
        "part of either; info: no secret as far as can be seen.",
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
        "up to complement; unrelated guesses",
        "Who divides the trees in two does not know which part has bit 1: a guess that is wrong everywhere "
        "is as good as a right one. Unrelated guesses therefore get somewhat more than half of the bits; "
        "their mean is given beside each figure.",
    ),
    (
        "vote spectrum: sample and leaf-probe; shapes",
        "The leading direction of the centred matrix of votes (trees by instances) has an entry for each "
        "tree; trees trained on flipped labels tend to one side. The votes are taken on the attacker's "
        "sample, or on points put into the forest's own leaves. Shapes are numbers of a bare tree: mean "
        "depth of its leaves, share of positive ones, their volume.",
    ),
    (
        "presence",
        "Whether a forest is watermarked at all: its rank among honest forests of equal settings, by several "
        "statistics, corrected for their number (Holm), and by the largest deviation of all. With n honest "
        "forests no p-value is below 1 / (n + 1).",
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
        "filter; query budget",
        "A filter answers suspected queries with the majority's class in every tree, which takes the "
        "signature out of the answers. The query budget is the number of trigger queries after which a thief "
        "who watches has read so much of the signature.",
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
        "followed from another eps",
        "A query that was not asked: what is forged at one eps is forged at every larger one, and what is "
        "impossible is so at every smaller one. Such queries count by their outcome, not in solving times.",
    ),
    (
        "least distance; censored",
        "The exact smallest eps at which an instance can be forged: one search answers every eps. Where a "
        "limit ended the search the distance is censored: the size of the forged set then lies between what "
        "is known and what could be.",
    ),
    (
        "free forgery: size / k, distinct cells, independent accuracy, rules",
        "Sets forged with a signature that the claimant chose, or read off the model. k is the size of the "
        "true trigger set; rows in one cell reach the same leaves and count once; independent accuracy is "
        "that of a forest that has nothing to do with the model, low where forged rows are unnatural. Rules "
        "are those of verification; the commitment stops whoever chose afterwards, and no one who published "
        "in time.",
    ),
    (
        "robustness: fidelity, bits, exact match, p from vote shares",
        "Of a forest that a thief changed: the share of test rows whose class stays; the share of the "
        "trigger set's votes that are as the signature wants; whether all of them are, which is the paper's "
        "rule; and the evidence if only the shares of votes are seen, which needs no order of the trees. "
        "Where trees are missing, p is that of their best alignment, against random signatures, and has a "
        "floor.",
    ),
    (
        "calibration; anti-conservative",
        "A p-value promises that false claims get p at or below a level at most that often. Calibration "
        "counts, over honest forests and other owners' watermarked ones. Anti-conservative: more often than "
        "chance explains, all rates taken together; such a p-value says less than it seems.",
    ),
    (
        "n, sd, median, least, most",
        "Size of the sample, its standard deviation (of n less one; none for a single value), middle and "
        "ends.",
    ),
)
"""Words and explanations."""
