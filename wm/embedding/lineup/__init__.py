"""Scheme `lineup`: an honest forest whose randomness is keyed.

`context`: what a seed depends on besides the key; `trees`: honest training, one tree for each seed;
`claimed`: the owner's procedure; `scheme`: the scheme in campaigns. The claim is `wm.claims.lineup`, the
judge's part `wm.verification.lineup`.
"""
