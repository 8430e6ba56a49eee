"""Which pictures a campaign has, with captions that stand alone; writing them as files.

One module for each section of the page; a new picture is a function there and a line in `catalogue.SOURCES`.
"""

from orchestrator.report.pictures.catalogue import all_pictures, write_figures
from orchestrator.report.pictures.picture import Picture

__all__ = ["Picture", "all_pictures", "write_figures"]
