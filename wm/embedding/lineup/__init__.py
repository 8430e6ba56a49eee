"""Scheme `lineup`: an honest forest, or boosted model, whose randomness is keyed.

`context`: what a seed depends on besides the key; `trees`: honest training, one tree for each seed;
`boosting`: the same of boosted models, a round for each; `claimed`: the owner's procedure; `rows`: all of it
in one call; `scheme`: the scheme in campaigns. The claim is `wm.claims.lineup`, the judge's part
`wm.verification.lineup`.
"""
