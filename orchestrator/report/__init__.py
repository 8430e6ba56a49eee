"""From a campaign's frames to what people read: one self-contained page, and pictures as files.

`html` writes the page (`template.html.j2`) of the parts that `sections` lists; `pictures` lists and writes
the figures that `figures` draws. All start from `findings`, everything that a report says about one campaign,
read from the store once. `summaries` boils frames down over repeats and signatures; `tables`, `headline` and
`alternatives` put the results into cells and sentences with the wording of `wording`.

A new picture is a module in `figures`, a function in `pictures` and a line in `pictures.catalogue.SOURCES`.
May import the rest of `orchestrator`, except `cli`.
"""

from orchestrator.report.html import write_report
from orchestrator.report.pictures import write_figures

__all__ = ["write_figures", "write_report"]
