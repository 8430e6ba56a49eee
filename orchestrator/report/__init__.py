"""From a campaign's frames to what people read: one self-contained page, and pictures as files.

`html` writes the page (`template.html.j2`), `pictures` lists and writes the figures that `figures` draws.
Both start from `findings`, everything that a report says about one campaign, read from the store once.
`summaries` boils frames down over repeats and signatures, `tables` and `headline` put the results into
cells and sentences with the wording of `wording`.

A new picture is one module in `figures` and one line in `pictures.all_pictures`.
May import the rest of `orchestrator`, except `cli`.
"""

from orchestrator.report.html import write_report
from orchestrator.report.pictures import write_figures

__all__ = ["write_figures", "write_report"]
