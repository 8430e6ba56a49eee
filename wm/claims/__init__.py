"""Claims: an owner's proof of ownership, fixed before the model's release and opened in parts.

`pooled`: the secret file of version 3; `draw`: what a beacon's value makes of it; `beacons`; `opened`: some
rows for a judge; `lineup`, `lineup_keys`, `lineup_opened`: the same of scheme `lineup`; `keys` of owners and
notaries. `claim`: versions 1 and 2; `commitment`: hashes and Merkle trees; `document`: JSON files; `reading`:
files of every version. May import `signature`, `errors`, `formats`.
"""
