"""Campaigns as files: everything that a campaign found, to keep, to publish, and to import into any store.

An archive is a ZIP file. `manifest.json` names the format and the SHA-256 of every other part: the campaign,
its jobs with their outcomes in the order of the plan, answers, proofs, and artifacts under the names of their
hashes. Jobs are known by their content keys, so that an archive has no ids of a store; of workers it has no
names. The same campaign gives the same bytes from every store.
"""

from orchestrator.archive.reading import Imported, import_archive
from orchestrator.archive.writing import write_archive

__all__ = ["Imported", "import_archive", "write_archive"]
