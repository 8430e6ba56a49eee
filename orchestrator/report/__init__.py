"""The report of a campaign: one self-contained page, and its figures as files.

`data` reads and aggregates the frames; `sections` has one module for each attack; `table`, `charts` and
`wording` are their parts; `page` puts them into `template.html.j2`, with the prose of `texts.toml`.
May import the rest of `orchestrator`, except `cli`.
"""

from orchestrator.report.page import write_figures, write_report

__all__ = ["write_figures", "write_report"]
