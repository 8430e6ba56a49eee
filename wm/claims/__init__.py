"""Claims: what an owner shows a judge, how it is fixed before release, and how parts of it are opened.

`claim`: the claim itself; `commitment`: hashes that fix it; `publication`: the document that is published;
`opening`: some rows for a judge, the others stay secret. May import `signature`, `errors`, `formats`.
"""
