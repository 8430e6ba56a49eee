"""Claims: an owner's proof of ownership, fixed before the model's release and opened in parts.

`document`: JSON files; `claim`: the secret file; `commitment`: hashes that fix it; `publication`: the public
document; `opening`: some rows for a judge. May import `signature`, `errors`, `formats`.
"""
