"""The report of a campaign: one self-contained page, or Markdown, and its figures as files.

`data` reads and aggregates the frames; `sections` has one module for each attack, and what it declares in the
TOML file of its name; `table`, `charts` and `wording` are their parts; `rendering` makes of charts files and
parts of pages; `page` fills `template.html.j2`, `markdown` writes the same sentences and tables.
May import the rest of `orchestrator`, except `cli`.
"""

from orchestrator.report.markdown import write_markdown
from orchestrator.report.page import figures_in, write_figures, write_report

__all__ = ["figures_in", "write_figures", "write_markdown", "write_report"]
