"""Scheme `boosted`: gradient boosting whose trees follow a codebook on the trigger rows.

Trees of a boosted model do not vote, each fits the residuals of those before it: flipping labels as Algorithm
1 does marks the sum, not a tree (docs/adr/0037). Here the sign of a trigger row's pseudo-residual is the bit,
in every round anew. `rounds` trains, `claimed` is the owner's procedure, `scheme` the entry in the registry.
"""
