"""Verification: evidence and a verdict from a claim and a suspect's answers.

Claims of version 3: `samples` (what a judge sees), `randomization` (the tests), `schemes` (which tests a
scheme has), `adaptation` (suspect models), `questions`, `answers`, `answer_files` and `endpoint` (suspects
known by their answers), `witnesses` (beacons), `multiplicity`, `judgement` and `transcript`. Claims of scheme
`lineup`: the package `lineup`. Claims of versions 1 and 2, and campaigns: `evidence` (votes), `weak_evidence`
(probabilities, labels), `alignment` (missing trees), `rules` and `verdict`.
`tails` counts for all. May import `claims`, `formats` and what these may; `lineup` also `embedding.lineup`,
which trains its decoys.
"""
