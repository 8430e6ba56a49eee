"""The judge's part of scheme `lineup`: whether a suspect resembles the owner's trees more than decoys.

`judge`: the judge's random choices; `queries`: what is asked; `candidates`: the line-up; `scores`:
resemblance; `rounds`, `round_scores`: both for boosted models; `bound`: p-values; `evidence`: all tests;
`judgement`: the verdict.
"""
