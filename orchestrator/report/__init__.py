"""From a campaign's frames to what people read: one self-contained page, and its figures as files.

`data` reads the frames, each once; `sections` has one module for each attack, with all that is shown of it;
`table`, `charts` and `wording` are what sections are made of; `page` puts them into `template.html.j2`.
May import the rest of `orchestrator`, except `cli`.
"""

from orchestrator.report.page import write_figures, write_report

__all__ = ["write_figures", "write_report"]
