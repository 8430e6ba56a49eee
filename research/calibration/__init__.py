"""How often verdicts on claims of version 3 are wrong about honest suspects, whatever the claimant's pool is.

`pools`: what a dishonest claimant commits to; `simulation`: p-values over random draws; `boosted`: the same of
honest boosted models. ``python -m
research.calibration`` writes docs/calibration-of-verdicts.md.
"""
